"""Sums over segments of rows for all m data sets, chunk after chunk, and the statistic of segments.

The successes of a data set in a segment are whole numbers, and everything else that is summed over
rows is on a grid, so that sums do not depend on the order of rows, chunks and threads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.special import logit

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import BLOCK_ROWS, Extent, blocks, number_of_block
from exactregion.data.segments import Segments
from exactregion.engine.blocks import IMPOSSIBLE
from exactregion.engine.chunks import Chunk
from exactregion.engine.classes import DrawnClasses
from exactregion.features.grid import on_grid
from exactregion.resampling import Draws, place_successes

GROUP = 64
"""Data sets whose outcomes are made at once: their sums over 1,000 segments are 128 kB, which stay
in the cache while rows are added to them."""

STEEPEST = 16.0
"""Logits of predictions are limited to this size, 1e-7 of a probability, so that they have a grid.
"""

BOUNDS = np.array([1.0, 1.0, 0.25, 0.25, 1.0, STEEPEST, 0.25 * STEEPEST, 0.25 * STEEPEST**2])
"""Largest sizes per trial of the moments, see `SegmentSums`."""

AT_ONCE = 2**20
"""Statistics that are computed at once: intermediate results are 8 MiB each, some ten of them."""


@dataclass(frozen=True, eq=False)
class SegmentPlan:
    """All that the sums over a chunk depend on, besides its rows.

    With `with_slope` sums of logit(p) over the successes are made too.
    """

    segments: Segments
    number: int  # of segments
    draws: Draws
    extent: Extent
    with_slope: bool

    def unit(self, largest: Any) -> Any:
        """Return the spacing of a grid on which sums over all trials are exact."""
        _, exponent = np.frexp(largest)
        return np.ldexp(1.0, exponent + self.extent.total.bit_length() - 53)


@dataclass(frozen=True, eq=False)
class SegmentSums:
    """Sums over some chunks; those of different chunks add up, in any order.

    Attributes
    ----------
    successes : ndarray of shape (groups, S, `GROUP`)
        Successes in each segment of the data sets, which come in groups. With C classes S is C
        times the number of segments: all segments of the first class, then those of the next.
    logits : ndarray of the same shape, or None
        Sums of logit(p) over these successes.
    moments : ndarray of shape (S, 8)
        For each segment Σt, Σtp, Σtp(1-p), Σtp(1-p)(1-2p), outcomes that contradict a prediction of
        0 or 1, and Σtxp, Σtxp(1-p), Σtx²p(1-p) with x = logit(p).
    """

    successes: IntArray
    logits: FloatArray | None
    moments: FloatArray

    def __add__(self, other: SegmentSums) -> SegmentSums:
        """Add the sums over other chunks."""
        logits = None
        if self.logits is not None and other.logits is not None:
            logits = self.logits + other.logits
        return SegmentSums(self.successes + other.successes, logits, self.moments + other.moments)


def sums_of_segments(chunk: Chunk, plan: SegmentPlan) -> SegmentSums:
    """Sum over one chunk, block after block; its X are the `keys` of segments.

    Rows are ordered by segments, then predictions and trials: the sums do not depend on the order
    of rows in the chunk, and rows of the same segments are added up before they are distributed.
    Predictions (b, C) are those of classes, of which the successes are the numbers.
    """
    from exactregion.engine import compiled  # Numba is slow to import

    P = chunk.p if chunk.p.ndim == 2 else np.where(chunk.p < IMPOSSIBLE, 0.0, chunk.p)[:, None]
    order = np.lexsort([chunk.trials, *P.T[::-1], *chunk.X.T[::-1]])
    keys, P = chunk.X[order], P[order]
    trials, observed = chunk.trials[order], chunk.successes[order]
    counted = observed[:, None]
    if chunk.p.ndim == 2:
        counted = (counted == np.arange(P.shape[1])).astype(np.int64)
    draw = _drawing(chunk.index, P, trials, observed, plan.draws)
    shape = (-(-plan.draws.m // GROUP), P.shape[1], plan.number, GROUP)
    successes = np.zeros(shape, dtype=np.int32 if plan.extent.total < 2**31 else np.int64)
    logits = np.zeros(shape) if plan.with_slope else None
    moments = np.zeros((P.shape[1], plan.number, len(BOUNDS)))
    weights = on_grid(np.clip(logit(P), -STEEPEST, STEEPEST), plan.unit(STEEPEST))
    # labels of a block add up to 4,096 at most: short numbers are added several at a time
    short = np.int16 if plan.extent.row_trials <= 1 else np.int64
    ones, within = np.ones(BLOCK_ROWS, dtype=short), np.zeros(shape[2:], dtype=short)
    for rows in blocks(len(P)):
        block = keys[rows]
        changes = np.flatnonzero((block[1:] != block[:-1]).any(axis=1)) + 1
        starts = np.concatenate([[0], changes, [len(block)]])
        pointers, segments = plan.segments.members(block[starts[:-1]])
        inside: Any = sparse.csr_array(
            (np.ones(len(segments)), segments, pointers), shape=(len(changes) + 1, plan.number)
        )
        columns = [np.ascontiguousarray(values[rows].T) for values in (P, counted, weights)]
        for level, (p, happened, x) in enumerate(zip(*columns, strict=True)):
            each = _moments(p, trials[rows], happened, x, plan)
            moments[level] += inside.T @ np.add.reduceat(each, starts[:-1])
        for group, levels in enumerate(draw(rows)):
            for level, (outcomes, x) in enumerate(zip(levels, columns[2], strict=True)):
                within[:] = 0
                compiled.add_runs(outcomes, ones, starts, pointers, segments, within)
                successes[group, level] += within
                if logits is not None:
                    total = logits[group, level]
                    compiled.add_runs(outcomes, x, starts, pointers, segments, total)
    flat = (shape[0], -1, GROUP)
    return SegmentSums(
        successes.reshape(flat),
        None if logits is None else logits.reshape(flat),
        moments.reshape(-1, len(BOUNDS)),
    )


def _moments(
    p: FloatArray, trials: IntArray, observed: IntArray, x: FloatArray, plan: SegmentPlan
) -> FloatArray:
    variance = trials * p * (1 - p)
    # an alternative never contradicts a prediction of 0 or 1, from which it is drawn
    contradicted = np.where(p == 0, observed, np.where(p == 1, trials - observed, 0))
    columns = [trials, trials * p, variance, variance * (1 - 2 * p), contradicted]
    columns += [trials * p * x, variance * x, variance * x * x]
    return on_grid(np.stack(columns, axis=1), plan.unit(BOUNDS))  # type: ignore[no-any-return]


def _drawing(
    index: int, P: FloatArray, trials: IntArray, observed: IntArray, draws: Draws
) -> Callable[[slice], Iterator[list[Any]]]:
    """Return what draws a block of a chunk: outcomes (b, `GROUP`) of each level, group by group."""
    if P.shape[1] > 1:
        return partial(_drawn_classes, DrawnClasses(Chunk(index, None, trials, observed, P), draws))

    def labels(rows: slice) -> Iterator[list[Any]]:
        generator = draws.of_block(number_of_block(index, rows))
        return _drawn_labels(generator, P[rows, 0], trials[rows], observed[rows], draws)

    return labels


def _drawn_classes(drawn: DrawnClasses, rows: slice) -> Iterator[list[Any]]:
    codes = drawn.of(rows)
    for first in range(0, len(codes), GROUP):
        some = np.full((codes.shape[1], GROUP), -1)  # no class, where the last group ends
        part = codes[first : first + GROUP].T
        some[:, : part.shape[1]] = part
        yield [(some == level).astype(np.uint8) for level in range(drawn.chunk.p.shape[1])]


def _drawn_labels(
    generator: np.random.Generator,
    p: FloatArray,
    trials: IntArray,
    observed: IntArray,
    draws: Draws,
) -> Iterator[list[Any]]:
    from exactregion.engine import drawing  # Numba is slow to import

    b = len(p)
    if trials.max() > 1:
        K = np.empty((1, draws.m, b))
        U = generator.random((draws.n_resamples, b))
        place_successes(K, U, p[None], trials=trials, observed=observed, seat=draws.seat)
        for first in range(0, draws.m, GROUP):
            counts = np.zeros((b, GROUP), dtype=np.int64)
            part = K[0, first : first + GROUP].T
            counts[:, : part.shape[1]] = part
            yield [counts]
        return
    thresholds = drawing.thresholds_of(p * trials)
    labels = observed.astype(np.uint8)
    state = drawing.state_of(generator)
    drawn = np.empty((b, GROUP), dtype=np.uint8)
    for first in range(0, draws.m, GROUP):  # those of the last group past m are not used
        seat = draws.seat - first if first <= draws.seat < first + GROUP else -1
        drawing.draw_labels(state, thresholds, labels, seat, drawn.T)
        yield [drawn]


def segment_statistics(sums: SegmentSums, draws: Draws) -> tuple[IntArray, FloatArray]:
    """Return the original's successes (S,), and the statistics of all data sets (S, m)."""
    number = len(sums.moments)
    group, place = divmod(draws.seat, GROUP)
    Z = np.empty((number, draws.m))
    step = max(1, AT_ONCE // draws.m)
    for start in range(0, number, step):
        some = slice(start, start + step)
        K = _side_by_side(sums.successes[:, some], draws.m)
        X = None if sums.logits is None else _side_by_side(sums.logits[:, some], draws.m)
        Z[some] = _statistics(K, X, sums.moments[some])
    # alternatives are drawn from the predictions, and have none of these
    Z[sums.moments[:, 4] > 0, draws.seat] = np.inf
    return sums.successes[group, :, place].astype(np.int64), Z


def _side_by_side(totals: Any, m: int) -> Any:
    return totals.transpose(1, 0, 2).reshape(totals.shape[1], -1)[:, :m]


def _statistics(K: IntArray, X: FloatArray | None, moments: FloatArray) -> FloatArray:
    _, expected, variance, third, _, x_p, x_v, xx_v = moments.T[:, :, None]
    Z = saddlepoint(K - expected, variance, third)
    if X is None:
        return Z
    safe = np.where(variance > 0, variance, 1.0)
    middle = x_v / safe
    spread = xx_v - middle * x_v
    has_slope = spread > 1e-9 * xx_v
    tilt = (X - x_p) - middle * (K - expected)
    # one more outcome in the variance: few outcomes must not look like a wrong slope
    damped = np.where(has_slope, spread * (1 + 1 / safe), 1.0)
    return np.asarray(np.sqrt(Z * Z + np.where(has_slope, tilt * tilt / damped, 0.0)))


def saddlepoint(S: FloatArray, variance: FloatArray, third: FloatArray) -> FloatArray:
    """Turn deviations of a number of successes into standard normal ones, whatever their sign.

    The tail probability of the number, P(S ≥ s) for s > 0, is approximated by that of a scaled
    Poisson variable with the same variance V and third moment κ, with the jumps of size 1 that
    the number has: with c = κ/V, s taken ½ nearer to 0 as for all whole numbers, u = c s / V,

        r² = 2 V/c² ((1 + u) log(1 + u) - u),  t = log(1 + u)/c,  w = 2 sinh(|t|/2) √(V (1 + u)),

    Z = r + log(w/r)/r. Where V is large that is |S|/√V. It is linear in s up to ½.
    """
    safe = np.where(variance > 0, variance, 1.0)
    c = third / safe
    distance = np.maximum(np.abs(S) - 0.5, 0.0)
    s = np.copysign(np.maximum(distance, 0.5), S)
    u = np.maximum(c * s / safe, 1e-9 - 1)
    flat = np.abs(u) < 1e-5  # where rounding would take over
    per = np.where(c == 0, 1.0, c)
    log = np.log1p(u)
    squared = np.where(flat, s * s / safe * (1 - u / 3), 2 * safe / per**2 * ((1 + u) * log - u))
    t = np.where(flat, s / safe * (1 - u / 2), log / per)
    # where V is all but 0, the sine would be infinite
    w = 2 * np.sinh(np.minimum(np.abs(t) / 2, 300.0)) * np.sqrt(safe * (1 + u))
    r = np.sqrt(squared)
    Z = np.maximum(r + np.log(w / r) / r, 0.0) * np.minimum(2 * distance, 1.0)
    return np.asarray(np.where(variance > 0, Z, 0.0))
