"""Kernels on inputs, their bandwidths, and Gram matrices by columns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.kernels.base import (
    BoundKernel,
    CallableKernel,
    Gram,
    Kernel,
    NumericKernel,
    Precomputed,
    SettledKernel,
)
from exactregion.kernels.vectors import (
    Gaussian,
    Laplacian,
    Matern,
    Poisson,
    Polynomial,
    VectorKernel,
    scales_of,
)

__all__ = [
    "KERNELS",
    "BoundKernel",
    "CallableKernel",
    "Gaussian",
    "Gram",
    "Kernel",
    "Laplacian",
    "Matern",
    "NumericKernel",
    "Poisson",
    "Polynomial",
    "Precomputed",
    "SettledKernel",
    "VectorKernel",
    "as_kernel",
    "scales_of",
]

KERNELS: dict[str, Callable[..., Kernel]] = {
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "laplacian_euclidean": partial(Laplacian, norm=2),
    "matern": Matern,
    "poisson": Poisson,
    "polynomial": Polynomial,
}
"""The kernels that have a name; each can be made without arguments."""


def as_kernel(kernel: object, bandwidth: float | None = None) -> Kernel:
    """Turn a name of `KERNELS`, a callable or a kernel into a kernel.

    Examples
    --------
    >>> as_kernel("gaussian", 0.5)
    Gaussian(bandwidth=0.5)
    """
    if isinstance(kernel, str):
        if kernel not in KERNELS:
            raise InvalidValueError(
                f"must be one of {list(KERNELS)}, a kernel such as Precomputed(K), or a callable "
                f"(a, b) -> float. Got {kernel!r} instead.",
                parameter="kernel",
            )
        made = KERNELS[kernel]()
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
            f"must be left out for {type(made).__name__}, which has none. "
            f"Got {bandwidth!r} instead.",
            parameter="bandwidth",
        )
    return replace(made, bandwidth=bandwidth)
