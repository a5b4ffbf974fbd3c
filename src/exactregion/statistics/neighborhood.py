"""Algorithm I: local estimates of f, by nearest neighbours or by a kernel smoother.

Each data set gives an estimate f̂_i(x) = Σ_j w_j(x) y_ij, linear in its labels (eqs. 25 and 37 of
the paper), and Z_i = Σ_j ‖f̂_i - f̂_j‖² in L²(μ) (eq. 27). With nodes x_l that carry mass μ_l the
features are Φ_jl = w_j(x_l) √μ_l; for nearest neighbours in one dimension the estimate is piecewise
constant, and one node per piece makes the integral exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import roots_legendre

from exactregion._typing import FloatArray, IntArray
from exactregion.data.reading import numeric
from exactregion.data.sample import Distinct, Inputs
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.features.landmarks import InputSummary
from exactregion.kernels import BoundKernel, Precomputed, as_kernel, scales_of
from exactregion.statistics.base import Statistic, Term
from exactregion.statistics.measures import FromMean

MEASURES = ("empirical", "uniform", "monte_carlo")

MAX_NODES = 2**14
"""Each node is a column of as many numbers as there are rows; 512 are plenty in any dimension."""


@dataclass(frozen=True)
class Neighborhood(Statistic, name="neighborhood"):
    """Algorithm I of the paper: how far a data set's local estimate of f is from all the others'.

    Z_i = Σ_j ∫ (f̂_i - f̂_j)² dμ (eq. 27), where f̂_i(x) is the mean label of the k nearest inputs in
    data set i (eq. 25), or a kernel smoother of its labels (eq. 37).

    Parameters
    ----------
    k : int, optional
        Number of nearest neighbours, counted in trials; √N by default, N the number of trials.
        (Theorem 2 of the paper requires k → ∞ and k/n → 0.) Trials at the same distance share what
        is left of k.
    kernel : str, Kernel or callable, optional
        Use a kernel smoother, w_j(x) = k(x, x_j) / Σ_l k(x, x_l), instead of nearest neighbours.
        Its values should not be negative.
    bandwidth : float, optional
        Of the kernel; half the median distance by default.
    standardize : bool
        Scale inputs by their own spread; False keeps the user's units, as the paper does.
    measure : {"empirical", "uniform", "monte_carlo"}
        μ: the inputs themselves; uniform on the domain (eq. 26), by exact pieces or a quadrature;
        or independent points that are uniform on the domain (eq. 36).
    domain : sequence of (low, high), optional
        For the measures on a domain, in the user's units; the range of the inputs by default.
    nodes : int
        Most nodes of a quadrature, and the number of Monte Carlo points.
    seed : int
        Of the Monte Carlo points. They are the same for all data sets and all candidates.

    Examples
    --------
    >>> import exactregion as er
    >>> flights = er.datasets.oring()
    >>> literal = er.statistics.Neighborhood(k=5, measure="monte_carlo", nodes=200)
    >>> X, y = flights["temp"], flights["y"]
    >>> result = er.model_test([0.3] * 23, X, y, statistic=literal, rng=0)
    >>> 0 < result.pvalue <= 1
    True
    """

    k: int | None = None
    kernel: Any = None
    bandwidth: float | None = None
    standardize: bool = True
    measure: str = "empirical"
    domain: Sequence[tuple[float, float]] | None = None
    nodes: int = 512
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the settings that do not depend on data."""
        if self.kernel is not None:
            as_kernel(self.kernel, self.bandwidth)
        if self.kernel is not None and self.k is not None:
            raise InvalidValueError(
                "Neighborhood takes either k or a kernel. "
                f"Got k={self.k!r} and kernel={self.kernel!r} instead."
            )
        if self.kernel is None and self.bandwidth is not None:
            raise InvalidValueError(
                "of Neighborhood must come with a kernel. "
                f"Got bandwidth={self.bandwidth!r} and no kernel instead.",
                parameter="bandwidth",
            )
        if self.measure not in MEASURES:
            raise InvalidValueError(
                f"of Neighborhood must be one of {list(MEASURES)}. Got {self.measure!r} instead.",
                parameter="measure",
            )
        if self.domain is not None and self.measure == "empirical":
            raise InvalidValueError(
                "of Neighborhood must come with measure='uniform' or 'monte_carlo'. "
                "Got measure='empirical' instead.",
                parameter="domain",
            )
        if not (isinstance(self.nodes, (int, np.integer)) and 1 <= self.nodes <= MAX_NODES):
            raise InvalidValueError(
                f"of Neighborhood must be an integer between 1 and {MAX_NODES:,}. "
                f"Got {self.nodes!r} instead.",
                parameter="nodes",
            )
        if not (isinstance(self.seed, (int, np.integer)) and self.seed >= 0):
            raise InvalidValueError(
                f"of Neighborhood must be an integer that is not negative. Got {self.seed!r} "
                "instead.",
                parameter="seed",
            )

    needs_all_rows = True

    @property
    def merges_equal_rows(self) -> bool:
        """Whether equal rows are equal to the kernel as well."""
        return not isinstance(self.kernel, Precomputed)

    def terms(self, inputs: InputSummary) -> Sequence[Term]:
        """Sum the weights of all trials at all nodes."""
        rows = _all_rows(inputs)
        if self.kernel is None:
            Phi: Any = self._neighbours(rows)
            points = rows.distinct
        else:
            kernel = as_kernel(self.kernel, self.bandwidth).on(rows, standardize=self.standardize)
            Phi, points = self._smoother(kernel), kernel.points
        # labels are 2k - 1, and successes k stand for them: twice the distance
        return [Term(Phi[points.place], FromMean(4.0))]

    def _smoother(self, kernel: BoundKernel) -> FloatArray:
        distinct = kernel.points
        if self.measure == "empirical":
            index, mass = _spread_over(distinct.weights, self.nodes)
            values = kernel.gram.columns(index)
        else:
            points, mass = self._nodes_on_domain(distinct)
            values = self._cross(kernel, points)
        total = distinct.weights @ values
        return values / np.where(total > 0, total, 1.0) * np.sqrt(mass)

    def _neighbours(self, inputs: Inputs) -> sparse.csr_array:
        distinct = inputs.distinct
        raw = numeric(distinct.points)
        k = self._checked_k(inputs.total)
        if self.measure == "uniform" and raw.shape[1] == 1:
            low, high = self._box(raw)[0]
            weights, lengths = _segments(raw[:, 0], distinct.weights, k, low, high)
            return sparse.csr_array(weights * np.sqrt(lengths / (high - low)))
        centre, scale = scales_of(distinct, standardize=self.standardize)
        if self.measure == "empirical":
            index, mass = _spread_over(distinct.weights, self.nodes)
            nodes = raw[index]
        else:
            nodes, mass = self._nodes_on_domain(distinct)
        points, nodes = (raw - centre) / scale, (nodes - centre) / scale
        weights = _nearest(points, distinct.weights, nodes, k)
        return sparse.csr_array(weights * np.sqrt(mass))

    def _checked_k(self, total: int) -> int:
        if self.k is None:
            return max(1, math.isqrt(total))
        if not (isinstance(self.k, (int, np.integer)) and 1 <= self.k <= total):
            raise InvalidValueError(
                "of Neighborhood must be an integer between 1 and the number of "
                f"trials, {total}. Got {self.k!r} instead.",
                parameter="k",
            )
        return int(self.k)

    def _box(self, points: FloatArray) -> FloatArray:
        """Return the domain as (d, 2)."""
        d = points.shape[1]
        if self.domain is None:
            box = np.column_stack([points.min(axis=0), points.max(axis=0)])
            flat = box[:, 0] == box[:, 1]
            half = np.maximum(0.5, np.spacing(np.abs(box[:, 0])))  # 0.5 is nothing beside 1e17
            return box + np.outer(flat * half, [-1, 1])
        try:
            box = np.asarray(self.domain, dtype=np.float64)
        except (TypeError, ValueError):
            box = np.empty(0)
        if box.shape != (d, 2) or not np.isfinite(box).all() or (box[:, 0] >= box[:, 1]).any():
            raise InvalidValueError(
                "of Neighborhood must have a finite (low, high) with "
                f"low < high for each of the {d} columns of X. Got {self.domain!r} instead.",
                parameter="domain",
            )
        return box

    def _nodes_on_domain(self, distinct: Distinct) -> tuple[FloatArray, FloatArray]:
        """Nodes on the domain: Monte Carlo, Gauss-Legendre in one dimension, Sobol in more."""
        box = self._box(numeric(distinct.points))
        mass = np.ones(self.nodes)
        if self.measure == "monte_carlo":
            unit = np.random.default_rng(self.seed).random((self.nodes, len(box)))
        elif len(box) == 1:
            roots, mass = roots_legendre(self.nodes)
            unit = (roots[:, None] + 1) / 2
        else:
            from scipy.stats import qmc  # slow to import, seldom needed

            power = math.ceil(math.log2(self.nodes))
            unit = qmc.Sobol(len(box), seed=0).random_base2(power)[: self.nodes]
        return box[:, 0] + unit * (box[:, 1] - box[:, 0]), mass / mass.sum()

    def _cross(self, kernel: BoundKernel, nodes: FloatArray) -> FloatArray:
        if kernel.cross is None:
            raise InvalidValueError(
                "of Neighborhood must be 'empirical' for a precomputed kernel, "
                f"which knows no other points. Got {self.measure!r} instead.",
                parameter="measure",
            )
        return kernel.cross(nodes)


def _all_rows(inputs: InputSummary) -> Inputs:
    if inputs.rows is None:
        raise InvalidTypeError("Neighborhood must have all rows in memory.")
    return inputs.rows


def _spread_over(weights: FloatArray, nodes: int) -> tuple[IntArray, FloatArray]:
    """Points as nodes, each with its share of trials; where there are many, some spread evenly."""
    if len(weights) <= nodes:
        return np.arange(len(weights)), weights / weights.sum()
    edges = np.cumsum(weights) / weights.sum()
    picked = np.searchsorted(edges, (np.arange(nodes) + 0.5) / nodes)
    index, repeats = np.unique(picked, return_counts=True)
    return index, repeats / nodes


def _segments(
    x: FloatArray, counts: FloatArray, k: int, low: float, high: float
) -> tuple[sparse.csr_array, FloatArray]:
    """Pieces on which the k nearest trials are the same: weights (u, pieces), and lengths."""
    # Sorted trials i..i+k-1 are the k nearest between the breaks (x_(i-1) + x_(i-1+k))/2 and (x_(i)
    # + x_(i+k))/2. Trials at one point share the weight of those of them that are in.
    ends = np.cumsum(counts).astype(np.int64)
    total = int(ends[-1])
    first = np.arange(total - k + 1)
    value = np.repeat(x, counts.astype(np.int64))
    breaks = np.concatenate([[low], (value[: total - k] + value[k:]) / 2, [high]]).clip(low, high)
    lengths = np.diff(breaks)
    kept = lengths > 0
    first, lengths = first[kept], lengths[kept]
    left = np.searchsorted(ends, first, side="right")
    right = np.searchsorted(ends, first + k - 1, side="right")
    sizes = right - left + 1
    piece = np.repeat(np.arange(len(first)), sizes)
    point = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes) + left[piece]
    starts = ends - counts.astype(np.int64)
    inside = np.minimum(ends[point], first[piece] + k) - np.maximum(starts[point], first[piece])
    weights = inside / (counts[point] * k)
    return sparse.csr_array((weights, (point, piece)), shape=(len(x), len(first))), lengths


def _nearest(points: FloatArray, counts: FloatArray, nodes: FloatArray, k: int) -> sparse.csr_array:
    """Weights of the k nearest trials at each node: shape (u, nodes)."""
    rows, columns, weights = [], [], []
    # in units in which no square overflows; a power of two changes no ratio of distances
    power = -int(np.frexp(max(float(np.abs(points).max()), float(np.abs(nodes).max())))[1])
    points, nodes = np.ldexp(points, power), np.ldexp(nodes, power)
    for column, node in enumerate(nodes):
        distance = _rounded(cdist(points, node[None])[:, 0])
        last = min(k, len(distance)) - 1
        farthest = np.partition(distance, last)[last]
        near = np.flatnonzero(distance <= farthest)
        share = _share_of_k(distance[near], counts[near], k)
        rows.append(near[share > 0])
        columns.append(np.full(np.count_nonzero(share), column))
        weights.append(share[share > 0])
    entries = (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns)))
    return sparse.csr_array(entries, shape=(len(points), len(nodes)))


def _rounded(distance: FloatArray) -> FloatArray:
    """Bring distances that differ by rounding error only to the same value."""
    return np.rint(distance / max(float(distance.max()), 1e-300) * 2**30)


def _share_of_k(distance: FloatArray, counts: FloatArray, k: int) -> FloatArray:
    """Weight of one trial at each point; those at the last distance share what is left of k."""
    values, level = np.unique(distance, return_inverse=True)
    at_level = np.bincount(level, weights=counts, minlength=len(values))
    before = np.cumsum(at_level) - at_level
    taken = np.clip(k - before, 0, at_level)
    return np.asarray((taken / at_level)[level] / k)
