"""Kernels on numeric inputs; scales and bandwidths are functions of the inputs alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import Literal

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.special import gammaln, kve

from exactregion._typing import FloatArray
from exactregion.data.reading import numeric
from exactregion.data.sample import Distinct, Inputs
from exactregion.errors import InvalidValueError
from exactregion.kernels.base import BoundKernel, Gram, Kernel, NumericKernel, SettledKernel

LABEL_DISTANCE = 2.0
"""Distance of the labels -1 and +1, for kernels on X × {-1, +1}."""

MEDIAN_POINTS = 1000
"""The median distance is taken over at most this many distinct inputs: half a million pairs."""

NARROWEST, WIDEST = 1e-150, 1e150
"""Bandwidths whose squares are doubles."""

USUAL_SHARE = 0.5
"""The default bandwidth as a share of the median distance; `validation/parts/defaults.py` compares
the power of others."""


@dataclass(frozen=True, repr=False)
class VectorKernel(NumericKernel):
    """A kernel on numeric inputs with a bandwidth; a subclass supplies `between`.

    Parameters
    ----------
    bandwidth : float, optional
        In standardised units unless the statistic has ``standardize=False``. By default half the
        median distance between distinct inputs.
    multiple : float
        A factor for the default bandwidth: 2 for twice as wide.
    """

    bandwidth: float | None = None
    multiple: float = field(default=1.0, kw_only=True)

    def __post_init__(self) -> None:
        if self.bandwidth is not None and not (
            isinstance(self.bandwidth, Real) and NARROWEST <= float(self.bandwidth) <= WIDEST
        ):
            raise InvalidValueError(
                f"must be a positive number between {NARROWEST:g} and {WIDEST:g}, or None for half "
                f"the median distance. Got {self.bandwidth!r} instead.",
                parameter="bandwidth",
            )
        if not (isinstance(self.multiple, Real) and 0 < float(self.multiple) < np.inf):
            raise InvalidValueError(
                f"must be a positive number. Got {self.multiple!r} instead.", parameter="multiple"
            )

    def __repr__(self) -> str:
        shown = [
            f"{setting.name}={getattr(self, setting.name)!r}"
            for setting in fields(self)
            if setting.name != "multiple" or self.multiple != 1
        ]
        return f"{type(self).__name__}({', '.join(shown)})"

    @abstractmethod
    def between(self, A: FloatArray, B: FloatArray, label_distance: float = 0.0) -> FloatArray:
        """Compute k for all pairs, where the labels of A and B are at a distance."""

    def contrast(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Compute B = (K_same - K_diff) / 2, the label being one more coordinate."""
        return (self.between(A, B) - self.between(A, B, LABEL_DISTANCE)) / 2

    def median_distance(self, distinct: Distinct, points: FloatArray) -> float:
        """Median distance of two trials at different inputs."""
        kept = np.unique(np.linspace(0, len(points) - 1, MEDIAN_POINTS).round().astype(np.int64))
        distances, weights = pdist(points[kept], self.metric), distinct.weights[kept]
        apart = distances > 0
        if not apart.any():
            return 1.0
        if (weights == weights[0]).all():
            middle = (np.count_nonzero(apart) - 1) // 2
            return float(np.partition(distances[apart], middle)[middle])
        one, other = np.triu_indices(len(kept), 1)
        pairs = (weights[one] * weights[other])[apart]
        order = np.argsort(distances[apart], kind="stable")
        mass = np.cumsum(pairs[order])
        return float(distances[apart][order][np.searchsorted(mass, mass[-1] / 2)])

    @property
    def metric(self) -> Literal["euclidean", "cityblock"]:
        """The distance that the bandwidth is measured in."""
        return "euclidean"

    def settle(self, distinct: Distinct, *, standardize: bool) -> SettledKernel:
        """Choose scales, and the bandwidth where the user did not."""
        centre, scale = scales_of(distinct, standardize=standardize)
        points = (numeric(distinct.points) - centre) / scale
        width = self.bandwidth
        if width is None:
            # computed once for all kernels with this metric
            key = type(self).median_distance, self.metric, standardize
            if key not in distinct.medians:
                distinct.medians[key] = self.median_distance(distinct, points)
            width = USUAL_SHARE * self.multiple * distinct.medians[key]
        return SettledKernel(replace(self, bandwidth=width), centre, scale)


def scales_of(distinct: Distinct, *, standardize: bool) -> tuple[FloatArray, FloatArray]:
    """Centre and scale of each column: mean and standard deviation over trials, or 0 and 1.

    A constant column has scale 1. Columns that share a scale, the indicators of the levels of a
    text column, get the root of their summed variances: all levels are then at the same distance,
    and the text column as a whole has the spread of a column of numbers.
    """
    points = numeric(distinct.points)
    if not standardize:
        return np.zeros(points.shape[1]), np.ones(points.shape[1])
    share = distinct.weights / distinct.weights.sum()
    centre = (share[:, None] * points).sum(axis=0)
    largest = np.abs(points - centre).max(axis=0)
    negligible = largest <= 1e-12 * np.abs(points).max(axis=0)  # a constant, up to rounding
    largest = np.where(negligible, 1.0, largest)
    # squares of the relative deviations neither overflow nor vanish
    spread = largest * np.sqrt((share[:, None] * ((points - centre) / largest) ** 2).sum(axis=0))
    scale = np.where(negligible, 1.0, spread)
    for columns in map(list, distinct.shared):
        scale[columns] = np.sqrt((scale[columns] ** 2).sum())
    return centre, scale


class Gaussian(VectorKernel):
    """k(x, x') = exp(-‖x - x'‖² / (2 bandwidth²))."""

    def between(self, A: FloatArray, B: FloatArray, label_distance: float = 0.0) -> FloatArray:
        """Compute k for all pairs."""
        squares = cdist(A, B, "sqeuclidean") + label_distance**2
        return np.asarray(np.exp(-squares / (2 * _settled(self.bandwidth) ** 2)))

    def contrast(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Compute B without cancellation for large bandwidths."""
        share = -np.expm1(-(LABEL_DISTANCE**2) / (2 * _settled(self.bandwidth) ** 2))
        return np.asarray(self.between(A, B) * (share / 2))


@dataclass(frozen=True, repr=False)
class Laplacian(VectorKernel):
    """k(x, x') = exp(-‖x - x'‖ / bandwidth), with the 1-norm (a product kernel) or the 2-norm.

    Parameters
    ----------
    bandwidth, multiple : float, optional
        As of `VectorKernel`.
    norm : {1, 2}
        1 is the product over columns, 2 the Euclidean form.
    """

    norm: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm not in (1, 2):
            raise InvalidValueError(
                f"of Laplacian must be 1 or 2. Got {self.norm!r} instead.", parameter="norm"
            )

    @property
    def metric(self) -> Literal["euclidean", "cityblock"]:
        """The 1-norm or the 2-norm."""
        return "cityblock" if self.norm == 1 else "euclidean"

    def between(self, A: FloatArray, B: FloatArray, label_distance: float = 0.0) -> FloatArray:
        """Compute k for all pairs."""
        distances = cdist(A, B, self.metric)
        if self.norm == 1:
            distances += label_distance
        else:
            distances = np.hypot(distances, label_distance)
        return np.asarray(np.exp(-distances / _settled(self.bandwidth)))


@dataclass(frozen=True, repr=False)
class Matern(VectorKernel):
    """Matérn kernel of smoothness ν, with the length scale as bandwidth.

    k(r) = 2^(1-ν) / Γ(ν) · (√(2ν) r / bandwidth)^ν · K_ν(√(2ν) r / bandwidth)

    Parameters
    ----------
    bandwidth, multiple : float, optional
        As of `VectorKernel`.
    nu : float
        Smoothness: 1/2 is the Euclidean Laplacian; ∞ would be the Gaussian.
    """

    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (isinstance(self.nu, Real) and 0 < float(self.nu) <= 100):
            raise InvalidValueError(
                f"of Matern must be a number above 0, and at most 100. Got {self.nu!r} instead.",
                parameter="nu",
            )

    def between(self, A: FloatArray, B: FloatArray, label_distance: float = 0.0) -> FloatArray:
        """Compute k for all pairs."""
        distances = np.hypot(cdist(A, B), label_distance)
        r = np.sqrt(2 * self.nu) * distances / _settled(self.bandwidth)
        if self.nu == 0.5:
            return np.asarray(np.exp(-r))
        if self.nu == 1.5:
            return np.asarray((1 + r) * np.exp(-r))
        if self.nu == 2.5:
            return np.asarray((1 + r + r**2 / 3) * np.exp(-r))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            logs = (1 - self.nu) * np.log(2) - gammaln(self.nu) + self.nu * np.log(r)
            values = np.exp(logs + np.log(kve(self.nu, r)) - r)
        return np.where(np.isfinite(values), values, 1.0)  # k(0) = 1, where kve is infinite


@dataclass(frozen=True)
class Poisson(NumericKernel):
    """Poisson kernel on the circle, for angles in radians; a product over columns.

    k(x, x') = (1 - ρ²) / (1 - 2ρ cos(x - x') + ρ²)

    It is characteristic on the circle; on the line, angles that differ by 2π are the same to it.
    Angles are never standardised. Labelled data are compared where labels agree (K_diff = 0).

    Parameters
    ----------
    rho : float in (0, 1)
        Concentration: near 1 the kernel is narrow.
    """

    rho: float = 0.5

    def __post_init__(self) -> None:
        if not (isinstance(self.rho, Real) and 0 < float(self.rho) < 1):
            raise InvalidValueError(
                f"of Poisson must be between 0 and 1, both excluded. Got {self.rho!r} instead.",
                parameter="rho",
            )

    def between(self, A: FloatArray, B: FloatArray) -> FloatArray:
        """Compute k for all pairs, one column after the other."""
        total = np.ones((len(A), len(B)))
        for a, b in zip(A.T, B.T, strict=True):
            gap = np.cos(a[:, None] - b)
            total *= (1 - self.rho**2) / (1 - 2 * self.rho * gap + self.rho**2)
        return total


@dataclass(frozen=True)
class Polynomial(Kernel):
    """Polynomial kernel, k(x, x') = (xᵀx' + c)^degree.

    It detects differences in the moments of the residuals up to the degree (for c = 0, of that
    degree alone) and no others, however large n is. Labelled data are compared with the label as
    one more coordinate.

    Parameters
    ----------
    degree : int
        From 1 to 20.
    c : float
        Not negative.

    Examples
    --------
    >>> import exactregion as er
    >>> x = [-2.0, -1.0, 0.0, 1.0, 2.0]
    >>> line = er.statistics.Discrepancy(er.kernels.Polynomial(degree=1))
    >>> er.model_test(
    ...     [0.1, 0.3, 0.5, 0.7, 0.9], x, [0, 0, 1, 1, 1], statistic=line, rng=0
    ... ).pvalue > 0.1
    True
    """

    degree: int = 2
    c: float = 1.0

    def __post_init__(self) -> None:
        whole = isinstance(self.degree, (int, np.integer)) and not isinstance(self.degree, bool)
        if not (whole and 1 <= self.degree <= 20):
            raise InvalidValueError(
                f"of Polynomial must be an integer from 1 to 20. Got {self.degree!r} instead.",
                parameter="degree",
            )
        if not (isinstance(self.c, Real) and 0 <= float(self.c) < np.inf):
            raise InvalidValueError(
                f"of Polynomial must be a number that is not negative. Got {self.c!r} instead.",
                parameter="c",
            )

    def on(self, inputs: Inputs, *, standardize: bool) -> BoundKernel:
        """Scale the inputs."""
        distinct = inputs.distinct
        centre, scale = scales_of(distinct, standardize=standardize)
        points = (numeric(distinct.points) - centre) / scale

        def products(others: FloatArray) -> FloatArray:
            # not BLAS, whose last bit depends on shapes and threads
            return np.asarray(np.einsum("id,jd->ij", points, others)) + self.c

        def gram_of(function: Callable[[FloatArray], FloatArray]) -> Gram:
            with np.errstate(over="ignore", invalid="ignore"):
                diagonal = function((points**2).sum(axis=1) + self.c)
            if not np.isfinite(diagonal).all():
                raise InvalidValueError(
                    "must be small enough for its polynomial kernel of degree "
                    f"{self.degree}. Got values whose powers overflow instead.",
                    parameter="X",
                )
            return Gram(lambda index: function(products(points[index])), diagonal)

        return BoundKernel(
            distinct,
            gram_of(lambda s: s**self.degree),
            gram_of(lambda s: ((s + 1) ** self.degree - (s - 1) ** self.degree) / 2),
            lambda nodes: products((nodes - centre) / scale) ** self.degree,
        )


def _settled(bandwidth: float | None) -> float:
    if bandwidth is None:
        raise InvalidValueError("The bandwidth of a kernel is chosen by Kernel.on: call it first.")
    return float(bandwidth)
