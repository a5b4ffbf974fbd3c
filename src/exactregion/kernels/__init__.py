"""Kernels on inputs, their bandwidths, and Gram matrices a column at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.kernels.base import BoundKernel, Gram, Kernel, SettledKernel
from exactregion.kernels.outside import CallableKernel, Precomputed
from exactregion.kernels.vectors import (
    Gaussian,
    Laplacian,
    Matern,
    Poisson,
    VectorKernel,
    scales_of,
)

__all__ = [
    "BoundKernel",
    "CallableKernel",
    "Gaussian",
    "Gram",
    "Kernel",
    "Laplacian",
    "Matern",
    "Poisson",
    "Precomputed",
    "SettledKernel",
    "VectorKernel",
    "as_kernel",
    "scales_of",
]

_BY_NAME: dict[str, Callable[..., Kernel]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "laplacian_euclidean": partial(Laplacian, norm=2),
    "matern": Matern,
    "poisson": Poisson,
}


def as_kernel(kernel: object, bandwidth: float | None = None) -> Kernel:
    """Turn a name, a callable or a kernel into a kernel.

    Examples
    --------
    >>> as_kernel("gaussian", 0.5)
    Gaussian(bandwidth=0.5)
    """
    if isinstance(kernel, str):
        if kernel not in _BY_NAME:
            raise InvalidValueError(
                f"must be one of {sorted(_BY_NAME)}, a kernel such as "
                "Precomputed(K), or a callable (a, b) -> float. "
                f"Got {kernel!r} instead.",
                parameter="kernel",
            )
        made = _BY_NAME[kernel]()
    elif isinstance(kernel, Kernel):
        made = kernel
    elif callable(kernel) and not isinstance(kernel, type):
        made = CallableKernel(kernel)
    else:
        raise InvalidTypeError(
            f"must be a name, a kernel or a callable. Got {kernel!r} instead.", parameter="kernel"
        )
    if bandwidth is None:
        return made
    if not isinstance(made, VectorKernel):
        raise InvalidValueError(
            f"must be left out for {type(made).__name__}, which has "
            f"none. Got {bandwidth!r} instead.",
            parameter="bandwidth",
        )
    return replace(made, bandwidth=bandwidth)
