"""Shared uniforms, the seat of the original, and alternative outcomes.

The uniforms U (one row per alternative, one column per data row) and the seat are drawn once and
shared by all θ. A row with t trials has t thresholds P_θ(K ≥ 1) ≥ … ≥ P_θ(K ≥ t), and its
alternative number of successes is the number of thresholds above the row's uniform: the
binomial quantile. A label is the case t = 1: positive where U < P_θ(+1 | x). An outcome of several
classes is a row for each threshold P_θ(Y ≥ k | x), and these rows share one uniform.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy.special import betainc

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import BLOCK_ROWS, Sample, blocks
from exactregion.errors import InvalidTypeError, InvalidValueError

__all__ = [
    "BLOCK_ROWS",
    "MAX_RESAMPLES",
    "Columns",
    "Draws",
    "RNGLike",
    "Resampling",
    "blocks",
    "check_n_resamples",
    "fresh_entropy",
    "integer_seed",
    "place_successes",
    "seeded",
]

MAX_RESAMPLES = 2**20 - 1
"""Most alternatives: the exact sums keep 20 bits free for their number."""

TABLE_TRIALS = 4096
"""Up to this many trials in a row all thresholds are computed; above it they are searched."""

TABLE_SIZE = 2**20
"""Most thresholds at a time, so that candidates with many trials stay within memory."""

FEW_COMPARISONS, COMPARED_ROWS = 2**15, 256
"""Comparisons of a row's uniforms with all its thresholds that take less time than to sort them,
0.1 ms; and rows that are compared at once, whose uniforms of 1,000 data sets stay in the cache."""

RNGLike: TypeAlias = (
    int
    | np.random.Generator
    | np.random.BitGenerator
    | np.random.SeedSequence
    | Literal["data"]
    | None
)
"""What draws may come from; "data" is a seed made from the data."""


def check_n_resamples(n_resamples: object) -> int:
    """Check the number of alternatives, m - 1."""
    if isinstance(n_resamples, bool) or not isinstance(n_resamples, (int, np.integer)):
        raise InvalidTypeError(
            f"must be an integer. Got {type(n_resamples).__name__} instead.",
            parameter="n_resamples",
        )
    if not 1 <= n_resamples <= MAX_RESAMPLES:
        raise InvalidValueError(
            f"must be between 1 and {MAX_RESAMPLES}. Got {n_resamples} instead.",
            parameter="n_resamples",
        )
    return int(n_resamples)


def seeded(rng: RNGLike, seed_of_data: Callable[[], int]) -> RNGLike:
    """Replace "data" by the seed of the data; anything else is returned as it is."""
    return seed_of_data() if isinstance(rng, str) and rng == "data" else rng


def fresh_entropy(rng: RNGLike) -> int:
    """Turn whatever the user gave as `rng` into 128 bits of seed.

    An integer gives the same bits each time; a generator is advanced.
    """
    message = (
        "The 'rng' parameter must be None, a non-negative integer, 'data', a SeedSequence or a "
        f"numpy.random.Generator. Got {rng!r} instead."
    )
    try:
        generator = np.random.default_rng(rng)  # type: ignore[arg-type]
    except TypeError as error:
        raise InvalidTypeError(message) from error
    except ValueError as error:
        raise InvalidValueError(message) from error
    return int.from_bytes(generator.bytes(16), "little")


def integer_seed(rng: RNGLike) -> int | None:
    """Give the integer that makes the same draws again, if the user gave one."""
    return int(rng) if isinstance(rng, (int, np.integer)) else None


@dataclass(frozen=True)
class Draws:
    """The random draws of one analysis: the seat, and a generator for each block of rows.

    Parameters
    ----------
    n_resamples : int
        Number of alternatives, m - 1.
    entropy : int
        The seed; equal seeds give equal draws, whatever the chunking.
    """

    n_resamples: int
    entropy: int

    @property
    def m(self) -> int:
        """Number of data sets: the alternatives and the original."""
        return self.n_resamples + 1

    @cached_property
    def seat(self) -> int:
        """The row of the original among the m data sets, uniform on 0..m-1."""
        return int(self._generator(0).integers(self.m))

    def of_block(self, block: int) -> np.random.Generator:
        """Give the generator of a block, which draws uniforms alternative by alternative."""
        return self._generator(1, block)

    def of_group(self, group: object) -> Draws:
        """Return draws for one group of rows, independent of those of a group of another name."""
        name = int.from_bytes(blake2b(str(group).encode(), digest_size=4).digest(), "little")
        return replace(self, entropy=int.from_bytes(self._generator(3, name).bytes(16), "little"))

    def _generator(self, *key: int) -> np.random.Generator:
        seed = np.random.SeedSequence(self.entropy, spawn_key=key)
        return np.random.Generator(np.random.SFC64(seed))


@dataclass(frozen=True, eq=False)
class Resampling:
    """The random draws of one analysis, and the data sets that they make.

    Parameters
    ----------
    sample : Sample
        Inputs and outcomes.
    n_resamples : int
        Number of alternatives, m - 1.
    entropy : int
        The seed; equal seeds give equal draws, whatever the chunking.
    cache_bytes : int
        Uniforms are kept in memory up to this size, and drawn again for each use above it.
    """

    sample: Sample
    n_resamples: int
    entropy: int
    cache_bytes: int = 2**27
    _cache: dict[int, FloatArray] = field(default_factory=dict, repr=False)

    @property
    def m(self) -> int:
        """Number of data sets: the alternatives and the original."""
        return self.n_resamples + 1

    @cached_property
    def draws(self) -> Draws:
        """The draws alone, without the data."""
        return Draws(self.n_resamples, self.entropy)

    @property
    def seat(self) -> int:
        """The row of the original among the m data sets, uniform on 0..m-1."""
        return self.draws.seat

    def uniforms(self, rows: slice) -> FloatArray:
        """Uniforms of one of the `blocks`: shape (m - 1, number of rows)."""
        block = rows.start // BLOCK_ROWS
        if block in self._cache:
            return self._cache[block]
        if self.sample.inputs.levels > 1:
            U = self._of_outcomes[:, np.arange(rows.start, rows.stop) // self.sample.inputs.levels]
        else:
            U = self.draws.of_block(block).random((self.n_resamples, rows.stop - rows.start))
        if self._keeps_uniforms:
            self._cache[block] = U
        return U

    @cached_property
    def _of_outcomes(self) -> FloatArray:
        """Uniforms of outcomes that have several rows each, drawn as those of labels are."""
        parts = [
            self.draws.of_block(rows.start // BLOCK_ROWS).random(
                (self.n_resamples, rows.stop - rows.start)
            )
            for rows in blocks(len(self.sample.inputs.original))
        ]
        return np.concatenate(parts, axis=1)

    @cached_property
    def has_zero(self) -> bool:
        """Whether a uniform of outcomes with several rows is 0, below every probability."""
        return bool((self._of_outcomes == 0).any())

    @property
    def _keeps_uniforms(self) -> bool:
        # rows that share uniforms cannot draw them one after the other
        return (
            self.sample.inputs.levels > 1
            or 8 * self.n_resamples * len(self.sample) <= self.cache_bytes
        )

    def successes(self, probabilities: FloatArray, rows: slice) -> FloatArray:
        """Successes of the m data sets in one of the `blocks` of rows, for each candidate.

        Parameters
        ----------
        probabilities : ndarray of shape (T, b)
            P(Y=+1|x) in these rows for each of T candidates.
        rows : slice
            One of the `blocks`.

        Returns
        -------
        ndarray of shape (T, m, b)
            The original's successes in row `seat`, the alternatives' in the others.
        """
        return next(self.parts(probabilities, rows, self.m))

    def parts(self, probabilities: FloatArray, rows: slice, size: int) -> Iterator[FloatArray]:
        """Yield the `successes` of `size` data sets at a time, without drawing those to come."""
        inputs, b = self.sample.inputs, rows.stop - rows.start
        # single precision where features are made for it: products take half the time
        precision = np.float32 if inputs.extent.in_single else np.float64
        kept = self.uniforms(rows) if self._keeps_uniforms or size >= self.m else None
        generator = self.draws.of_block(rows.start // BLOCK_ROWS)
        drawn = 0
        for first in range(0, self.m, size):
            q = min(size, self.m - first)
            seat = self.seat - first if first <= self.seat < first + q else None
            number = q - (seat is not None)
            U = generator.random((number, b)) if kept is None else kept[drawn : drawn + number]
            drawn += number
            K = np.empty((len(probabilities), q, b), dtype=precision)
            place_successes(
                K,
                U,
                probabilities,
                trials=inputs.trials[rows],
                observed=self.sample.successes[rows],
                seat=seat,
            )
            yield K


@dataclass(frozen=True, eq=False)
class Columns:
    """The thresholds of rows with so many trials (n,): P(at least c successes), c = 1..t of each.

    They stand side by side, row after row.
    """

    trials: IntArray

    @cached_property
    def are_labels(self) -> bool:
        """Whether each row has one trial, and one threshold: its probability."""
        return bool((self.trials == 1).all())

    @cached_property
    def rows(self) -> IntArray:
        """The row of each column."""
        return np.repeat(np.arange(len(self.trials)), self.trials)

    @cached_property
    def ends(self) -> IntArray:
        """Where the columns of each row begin, and their number: shape (n + 1,)."""
        return np.concatenate([[0], np.cumsum(self.trials)])

    @cached_property
    def successes(self) -> IntArray:
        """The successes that each column stands for."""
        return np.arange(len(self.rows)) - self.ends[self.rows] + 1

    def thresholds(self, probabilities: FloatArray, which: Any = slice(None)) -> FloatArray:
        """Compute thresholds, or some of them, for probabilities (T, n): shape (T, columns)."""
        if self.are_labels:
            return np.ascontiguousarray(probabilities[:, which])
        rows = self.rows[which]
        P, trials = probabilities[:, rows], self.trials[rows]
        counted = trials > 1
        c, t = self.successes[which][counted], trials[counted]
        P[:, counted] = betainc(c, t - c + 1, P[:, counted])
        return np.ascontiguousarray(P)


def place_successes(
    K: FloatArray,
    U: FloatArray,
    probabilities: FloatArray,
    *,
    trials: IntArray,
    observed: IntArray,
    seat: int | None,
) -> None:
    """Turn uniforms into successes, and put the original into its seat.

    Parameters
    ----------
    K : ndarray of shape (T, q, b)
        Where the successes of q data sets go.
    U : ndarray of shape (q or q - 1, b)
        Uniforms of those of them that are alternatives.
    probabilities : ndarray of shape (T, b)
        P(Y=+1|x) of each of T candidates.
    trials, observed : ndarrays of shape (b,)
        Trials of each row, and successes of the original.
    seat : int or None
        The original's row in K, if it is one of them.
    """
    end = len(U) if seat is None else seat
    before, after = slice(0, end), slice(end + 1, None)
    p = probabilities[:, None, :]
    np.less(U[:end], p, out=K[:, before])
    if seat is not None:
        K[:, seat] = observed
        np.less(U[end:], p, out=K[:, after])

    def place(rows: IntArray | int, alternatives: IntArray) -> None:
        K[:, before, rows] = alternatives[:, :end]
        if seat is not None:
            K[:, after, rows] = alternatives[:, end:]

    is_few = trials * (len(U) * len(probabilities)) <= FEW_COMPARISONS
    few = np.flatnonzero((trials != 1) & is_few & (trials < 256))
    for start in range(0, len(few), COMPARED_ROWS):
        rows = few[start : start + COMPARED_ROWS]
        place(rows, _by_comparison(U[:, rows], probabilities[:, rows], trials[rows]))
    for row in np.setdiff1d(np.flatnonzero(trials != 1), few):
        place(row, _binomial_quantiles(U[:, row], probabilities[:, row], int(trials[row])))


def _by_comparison(U: FloatArray, P: FloatArray, trials: IntArray) -> IntArray:
    """Count the thresholds above each uniform (q, b), all rows at once: shape (T, q, b)."""
    counts = np.zeros((len(P), *U.shape), dtype=np.uint8)
    for c in range(1, int(trials.max()) + 1):
        has = trials >= c
        thresholds = np.zeros(P.shape)  # no uniform is below zero
        thresholds[:, has] = betainc(c, trials[has] - c + 1, P[:, has])
        counts += thresholds[:, None] > U
    return counts


def _binomial_quantiles(u: FloatArray, p: FloatArray, trials: int) -> IntArray:
    """Count the thresholds P(K ≥ c) above each uniform: shape (T, len(u))."""
    if trials > TABLE_TRIALS or len(u) * trials.bit_length() < trials:
        return _quantiles_by_bisection(u, p, trials)
    step = max(1, TABLE_SIZE // max(1, trials))
    parts = [_quantiles_by_table(u, p[i : i + step], trials) for i in range(0, len(p), step)]
    return np.concatenate(parts)


def _quantiles_by_bisection(u: FloatArray, p: FloatArray, trials: int) -> IntArray:
    """Find the last threshold above each uniform; they fall with c."""
    low = np.zeros((len(p), len(u)), dtype=np.int64)
    high = np.full_like(low, trials)
    while (low < high).any():
        c = (low + high + 1) // 2
        above = u < betainc(c, trials - c + 1, p[:, None])
        low, high = np.where(above, c, low), np.where(above, high, c - 1)
    return low


def _quantiles_by_table(u: FloatArray, p: FloatArray, trials: int) -> IntArray:
    """Place all thresholds among the sorted uniforms.

    Sorting the uniforms lets one search place all thresholds of all candidates, instead of one
    search per candidate.
    """
    order = np.argsort(u)
    c = np.arange(1, trials + 1)
    thresholds = betainc(c, trials - c + 1, p[:, None])
    uniforms_below = np.searchsorted(u[order], thresholds, side="left")
    candidates = np.repeat(np.arange(len(p)), trials)
    width = len(u) + 1
    placed = np.bincount(candidates * width + uniforms_below.ravel(), minlength=len(p) * width)
    not_above = np.cumsum(placed.reshape(len(p), width), axis=1)[:, : len(u)]
    quantiles = np.empty((len(p), len(u)), dtype=np.int64)
    quantiles[:, order] = trials - not_above
    return quantiles
