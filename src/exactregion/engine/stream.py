"""Z of one candidate on rows that come in stretches: memory does not grow with their number.

Two passes over stretches of `CHUNK_ROWS` rows in canonical order. The first, `glimpse_of`, sees
inputs and trials and is put together to a `Survey`. The second, `sums_of`, adds up the points of
all m data sets. Both are pure functions of one stretch. What they sum is exact, or kept apart by
stretch, so that the results do not depend on who worked on which stretch, or when.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import BLOCK_ROWS, CHUNK_ROWS, Extent, Sample, Shared, blocks
from exactregion.errors import InvalidValueError
from exactregion.features.grid import (
    add_products,
    precision_of,
    probability_bits,
    probability_mass,
)
from exactregion.features.landmarks import sample_rows, sampled
from exactregion.features.threads import single_thread
from exactregion.resampling import Draws, place_successes
from exactregion.statistics.streamed import Columns, StreamRule, Survey

__all__ = [
    "BINS",
    "Chunk",
    "Glimpse",
    "Plan",
    "Sums",
    "chunks_of",
    "glimpse_of",
    "statistics_of_sums",
    "sums_of",
    "survey_of",
]

GROUP = 64
"""Data sets whose labels are made at once: their uniforms should stay in the cache."""

BINS = 1000
"""Bins of probabilities in which outcomes are counted, to show them."""


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows in canonical order.

    Attributes
    ----------
    index : int
        Which stretch: it begins at row index · `CHUNK_ROWS` of all.
    X : ndarray of shape (b, d)
        Inputs.
    trials, successes : ndarrays of shape (b,)
        Outcomes.
    p : ndarray of shape (b,)
        P(Y=+1|x) of the candidate.
    """

    index: int
    X: FloatArray
    trials: IntArray
    successes: IntArray
    p: FloatArray


def chunks_of(sample: Sample, probabilities: FloatArray) -> Iterable[Chunk]:
    """Cut data in memory, with probabilities in canonical order, into stretches."""
    inputs = sample.inputs
    for index, start in enumerate(range(0, len(sample), CHUNK_ROWS)):
        rows = slice(start, start + CHUNK_ROWS)
        yield Chunk(
            index,
            inputs.matrix[rows],
            inputs.trials[rows],
            sample.successes[rows],
            probabilities[rows],
        )


# --- the first pass: inputs -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Glimpse:
    """What a first look at one stretch tells.

    Attributes
    ----------
    extent : Extent
        Numbers of rows and trials.
    X, trials : ndarrays of shape (s, d) and (s,)
        Rows of the sample.
    reach : ndarray of shape (2,)
        Largest sizes of (1, logit x) of the first input, where it is strictly between 0 and 1.
    """

    extent: Extent
    X: FloatArray
    trials: IntArray
    reach: FloatArray


def glimpse_of(index: int, X: FloatArray, trials: IntArray, n: int) -> Glimpse:
    """Look at one stretch of n rows in all, in canonical order."""
    sample = sample_rows(n)
    rows = sample[sample // CHUNK_ROWS == index] - index * CHUNK_ROWS
    first = X[:, 0]
    uncertain = first[(first > 0) & (first < 1)]
    reach = np.zeros(2)
    if len(uncertain):
        reach[:] = 1.0, np.abs(logit(np.array([uncertain.min(), uncertain.max()]))).max()
    return Glimpse(Extent.of(trials), X[rows], trials[rows], reach)


def survey_of(glimpses: Iterable[Glimpse], *, calibration: bool, shared: Shared = ()) -> Survey:
    """Put the glimpses of all stretches together, in their order."""
    parts = list(glimpses)
    X = np.concatenate([part.X for part in parts])
    trials = np.concatenate([part.trials for part in parts])
    reach = np.max([part.reach for part in parts], axis=0) if calibration else None
    extent = Extent.together(part.extent for part in parts)
    return Survey(extent, sampled(X, trials, shared), reach)


# --- the second pass: outcomes --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Plan:
    """All that the sums over a stretch depend on, besides its rows.

    Attributes
    ----------
    columns : tuple of Columns
        What is summed, for each term of the statistic.
    extent : Extent
        Of all data.
    draws : Draws
        The seat and the uniforms.
    """

    columns: tuple[Columns, ...]
    extent: Extent
    draws: Draws

    @property
    def widths(self) -> list[int]:
        """Number of columns of each term."""
        return [len(columns.unit) for columns in self.columns]


@dataclass(frozen=True, eq=False)
class Sums:
    """Sums over some stretches; those of different stretches add up, in any order.

    Attributes
    ----------
    points : ndarray of shape (m, r + 1)
        Points of the m data sets, all terms side by side; last the outcomes against certainties.
    centre : ndarray of shape (r,)
        Their centre.
    certain : int
        Trials at which the candidate is certain of a success.
    information : dict
        By stretch, the Fisher information of each term that wants it.
    bins : ndarray of shape (3, `BINS`)
        Expected successes, successes and trials by the candidate's probability.
    """

    points: FloatArray
    centre: FloatArray
    certain: int
    information: dict[int, tuple[FloatArray | None, ...]]
    bins: FloatArray

    @property
    def by_probability(self) -> FloatArray:
        """Mean probability, successes and trials of the bins that are not empty: (3, k)."""
        expected, successes, trials = self.bins[:, self.bins[2] > 0]
        return np.stack([expected / trials, successes, trials])

    def __add__(self, other: Sums) -> Sums:
        """Add the sums over other stretches."""
        return Sums(
            self.points + other.points,
            self.centre + other.centre,
            self.certain + other.certain,
            self.information | other.information,
            self.bins + other.bins,
        )


def sums_of(stretch: Chunk, plan: Plan) -> Sums:
    """Sum over one stretch, block after block."""
    from exactregion.engine import steps  # Numba is slow to import

    width = sum(plan.widths)
    points = np.zeros((plan.draws.m, width + 1))
    centre = np.zeros(width)
    information = [np.zeros((own, own)) for own in plan.widths]
    wanted = [False] * len(plan.columns)
    buffers = _Buffers.for_plan(plan)
    unit = np.concatenate([*(columns.unit for columns in plan.columns), [1.0]])
    precision = 2.0 ** probability_bits(plan.extent)
    with single_thread():
        for rows in blocks(len(stretch.p)):
            X, p, trials = stretch.X[rows], stretch.p[rows], stretch.trials[rows]
            parts = [columns.features(X, p) for columns in plan.columns]
            for term, (columns, Phi) in enumerate(zip(plan.columns, parts, strict=True)):
                own = columns.information(Phi, p, trials)
                if own is not None:
                    information[term] += own
                    wanted[term] = True
            Phi = buffers.Phi[: len(p)]
            np.concatenate(parts, axis=1, out=Phi[:, :width])
            np.subtract(p == 0, p == 1, out=Phi[:, width], dtype=Phi.dtype)
            # the last column, of certainties, comes along so that the features stay contiguous
            centre += steps.centres(p[None], trials, precision, Phi, unit, BLOCK_ROWS)[0, :width]
            number = stretch.index * (CHUNK_ROWS // BLOCK_ROWS) + rows.start // BLOCK_ROWS
            block = _Block(number, p, trials, stretch.successes[rows])
            _add_points(points, Phi, block, plan.draws, buffers)
    kept = tuple(own if has else None for own, has in zip(information, wanted, strict=True))
    certain = int(stretch.trials[stretch.p == 1].sum())
    return Sums(points, centre, certain, {stretch.index: kept}, _bins_of(stretch, plan.extent))


@dataclass(frozen=True, eq=False)
class _Buffers:
    """Room for the features of a block, the uniforms and the successes of a group of data sets.

    Made once a stretch: where memory is given back to the system at once, as Dask's workers do,
    new room for every product would cost more than the product.
    """

    Phi: FloatArray
    U: FloatArray | None
    K: FloatArray

    @classmethod
    def for_plan(cls, plan: Plan) -> _Buffers:
        """Make room for all data sets where rows are counts: these are made a row at a time."""
        m = plan.draws.m
        precision = precision_of(plan.extent)
        Phi = np.empty((BLOCK_ROWS, sum(plan.widths) + 1), dtype=precision)
        if plan.extent.row_trials <= 1:
            return cls(Phi, None, np.empty(min(m, GROUP) * BLOCK_ROWS, dtype=precision))
        return cls(Phi, np.empty(m * BLOCK_ROWS), np.empty(m * BLOCK_ROWS, dtype=precision))

    @property
    def group(self) -> int:
        return len(self.K) // BLOCK_ROWS


@dataclass(frozen=True, eq=False)
class _Block:
    """One of the `blocks` of all rows, and which."""

    number: int
    p: FloatArray
    trials: IntArray
    successes: IntArray


def _add_points(
    points: FloatArray, Phi: FloatArray, block: _Block, draws: Draws, buffers: _Buffers
) -> None:
    """Draw the successes of all data sets in a block, a group after the other, and add Φᵀk."""
    draw = _counts_drawn if buffers.U is not None else _labels_drawn
    for first, K in draw(block, draws, buffers):
        add_products(points[first : first + len(K)], K, Phi)


def _counts_drawn(
    block: _Block, draws: Draws, buffers: _Buffers
) -> Iterator[tuple[int, FloatArray]]:
    """Give the successes of all data sets, and the number of the first."""
    b = len(block.p)
    U = np.asarray(buffers.U)[: draws.n_resamples * b].reshape(draws.n_resamples, b)
    K = buffers.K[: draws.m * b].reshape(1, draws.m, b)
    draws.of_block(block.number).random(out=U)
    place_successes(
        K, U, block.p[None], trials=block.trials, observed=block.successes, seat=draws.seat
    )
    yield 0, K[0]


def _labels_drawn(
    block: _Block, draws: Draws, buffers: _Buffers
) -> Iterator[tuple[int, FloatArray]]:
    """Give the labels of a group of data sets after the other, and the number of its first."""
    from exactregion.engine.labels import draw_labels, thresholds_of  # Numba is slow to import

    thresholds = thresholds_of(block.p * block.trials)
    observed = block.successes.astype(buffers.K.dtype)
    state = draws.of_block(block.number).bit_generator.state["state"]["state"].copy()
    for first in range(0, draws.m, buffers.group):
        number = min(buffers.group, draws.m - first)
        K = buffers.K[: number * len(block.p)].reshape(number, len(block.p))
        seat = draws.seat - first if first <= draws.seat < first + number else -1
        draw_labels(state, thresholds, observed, seat, K)
        yield first, K


def _bins_of(stretch: Chunk, extent: Extent) -> FloatArray:
    bins = np.minimum((stretch.p * BINS).astype(np.int64), BINS - 1)
    mass = probability_mass(stretch.p, stretch.trials, extent)
    counted = (mass, stretch.successes, stretch.trials)
    return np.stack([np.bincount(bins, weights=values, minlength=BINS) for values in counted])


def statistics_of_sums(sums: Sums, rule: StreamRule, plan: Plan) -> FloatArray:
    """Turn the sums over all rows into Z: shape (m,)."""
    ends = np.cumsum(plan.widths).tolist()
    measured = []
    for which, (term, end) in enumerate(zip(rule.terms, ends, strict=True)):
        columns = slice(end - plan.widths[which], end)
        own = [sums.information[index][which] for index in sorted(sums.information)]
        known = [part for part in own if part is not None]
        information = sum(known, np.zeros_like(known[0])) if known else None
        measure = term.measure(sums.centre[columns, None], information)
        cloud = np.ascontiguousarray(sums.points[:, columns].T)[:, None, :]
        with np.errstate(over="ignore"):
            measured.append(measure(cloud))
    Z = rule.merge(measured)[0]
    if np.isnan(Z).any():
        raise InvalidValueError("The statistic must give numbers. Got NaN instead.")
    return np.where(sums.certain + sums.points[:, -1] > 0, np.inf, Z)
