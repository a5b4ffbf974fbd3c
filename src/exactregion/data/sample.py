"""Validated data: inputs, outcomes, and the order of their rows.

Everything that may be used before ranking is in `Inputs`; the outcomes are beside it in `Sample`.
Kernels, bandwidths, domains and features are given the `Inputs` only, so that they cannot use y by
accident.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.data.outcomes import check_same_rows, no_trials_error, read_outcomes
from exactregion.data.reading import Values, numeric, read_inputs, read_only
from exactregion.data.workers import map_in_order

Shared: TypeAlias = tuple[tuple[int, ...], ...]
"""Groups of columns that have one scale together: the indicators of a text column."""

CHUNK_ROWS = 65_536
"""Rows are put into a canonical order within consecutive chunks of this many, 16 blocks: what
sources read at a time. A column of a chunk takes 512 KiB, so that many columns, and a chunk per
thread, fit into memory. The order depends on it: another value gives other ranks for the same
seed."""

BLOCK_ROWS = 4096
"""Data rows whose uniforms come from one generator, and whose inexact sums are added first: 2¹², so
that the labels of 64 data sets take 1 MiB in single precision, which stay in the cache, and their
sums take 12 bits. The uniforms depend on it: another value gives other ranks for the same seed."""

SAMPLED_ROWS = 4096
"""With more rows, features come from a sample of them, and sums are in single precision where that
is exact: with 65,000 rows a test takes a fifth of the time."""


def blocks(n: int, size: int = BLOCK_ROWS) -> Iterator[slice]:
    """Cut n rows into blocks of as many rows as a generator draws for, or of another size."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def number_of_block(chunk: int, rows: slice) -> int:
    """Count the blocks of all rows before a block, given as rows of its chunk."""
    return chunk * (CHUNK_ROWS // BLOCK_ROWS) + int(rows.start) // BLOCK_ROWS


@dataclass(frozen=True)
class Extent:
    """How many data there are: all that the grids of exact sums depend on."""

    rows: int
    total: int  # trials in all rows
    block_trials: int  # most trials in one of the `blocks`
    row_trials: int  # most trials in one row

    @classmethod
    def of(cls, trials: IntArray) -> Extent:
        """Measure the trials of all rows, or of a chunk of them."""
        most = max(int(trials[rows].sum()) for rows in blocks(len(trials)))
        return cls(len(trials), int(trials.sum()), most, int(trials.max()))

    @classmethod
    def together(cls, parts: Iterable[Extent]) -> Extent:
        """Combine chunks that begin where blocks begin."""
        rows, totals, in_blocks, in_rows = zip(*map(astuple, parts), strict=True)
        return cls(sum(rows), sum(totals), max(in_blocks), max(in_rows))

    @property
    def is_large(self) -> bool:
        """Whether there is more than one chunk of rows."""
        return self.rows > CHUNK_ROWS

    @property
    def is_sampled(self) -> bool:
        """Whether features come from a sample of the rows."""
        return self.rows > SAMPLED_ROWS

    @property
    def in_single(self) -> bool:
        """Whether points are summed in single precision: many rows of one trial each."""
        return self.is_sampled and self.row_trials <= 1


@dataclass(frozen=True, eq=False)
class Distinct:
    """The distinct inputs of a data set; equal inputs must get equal features."""

    points: Values  # (u, d), or u objects: the inputs at which trials were made
    weights: FloatArray  # (u,): number of trials at each
    place: IntArray  # (n,): the point of each row; any point for rows without trials
    row: IntArray  # (u,): one row, in canonical order, for each point
    shared: Shared = ()
    # median distances that were computed already, so that kernels share them
    medians: dict[object, float] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, eq=False)
class Inputs:
    """What may be used before ranking: inputs and numbers of trials, never outcomes.

    Rows are in canonical order (see `Sample.from_data`).
    """

    X: Values  # (n,) or (n, d) as the user gave them, or n objects
    trials: IntArray  # (n,); 1 everywhere for labels
    names: tuple[str, ...]  # a name for each column; empty for objects
    order: IntArray  # (n,): the user's row at each canonical place
    shared: Shared = ()
    levels: int = 1  # consecutive rows that share a uniform: C - 1 where outcomes have C classes
    _original: Inputs | None = None

    def __post_init__(self) -> None:
        """Protect the arrays, which statistics and models of users are given."""
        for name in ("X", "trials", "order"):
            object.__setattr__(self, name, read_only(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.trials)

    @property
    def original(self) -> Inputs:
        """The rows as the user gave them: others where each became several, one per level."""
        return self if self._original is None else self._original

    def per_level(self, levels: int) -> Inputs:
        """Return rows (x, k) for k = 1..levels in place of each row x; the same for one level."""
        if levels == 1:
            return self
        k = np.arange(1, levels + 1)
        X = np.column_stack([np.repeat(self.matrix, levels, axis=0), np.tile(k, len(self))])
        order = (self.order[:, None] * levels + (k - 1)).ravel()
        trials = np.repeat(self.trials, levels)
        return Inputs(X, trials, self.names, order, self.shared, levels, self)

    @cached_property
    def extent(self) -> Extent:
        """Numbers of rows and trials."""
        return Extent.of(self.trials)

    @property
    def total(self) -> int:
        """Total number of trials."""
        return self.extent.total

    @property
    def matrix(self) -> FloatArray:
        """The inputs as an (n, d) matrix; an error if they are objects."""
        return numeric(self.X).reshape(len(self), -1)

    @cached_property
    def is_in_user_order(self) -> bool:
        """Whether the canonical order is that of the user's rows."""
        return bool(np.array_equal(self.order, np.arange(len(self))))

    @cached_property
    def user_rows(self) -> Values:
        """The inputs in the order of the user's rows, for functions that the user wrote."""
        if self.is_in_user_order:
            return self.X
        return read_only(_rows(self.X, np.argsort(self.order)))  # type: ignore[no-any-return]

    @cached_property
    def distinct(self) -> Distinct:
        """The distinct inputs; objects all count as distinct."""
        if isinstance(self.X, tuple):
            return self.rows_apart
        return distinct_of(self.matrix, self.trials, self.shared)

    @cached_property
    def rows_apart(self) -> Distinct:
        """All rows with trials, equal or not."""
        used = np.flatnonzero(self.trials > 0)
        place = np.maximum(np.cumsum(self.trials > 0) - 1, 0)
        counts = np.asarray(self.trials[used], dtype=np.float64)
        return Distinct(_rows(self.X, used), counts, place, used, self.shared)

    def to_user_order(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Put the last axis of `values` back into the order of the user's rows."""
        restored = np.empty_like(values)
        restored[..., self.order] = values
        return restored


@dataclass(frozen=True, eq=False)
class Sample:
    """Inputs and outcomes that passed every check."""

    inputs: Inputs
    successes: IntArray  # (n,), in canonical order; 0 or 1 for labels
    is_counts: bool  # whether the outcomes were given as (successes, failures)
    classes: tuple[Any, ...] | None  # negative, positive as the user wrote them, if known

    def __len__(self) -> int:
        return len(self.successes)

    @classmethod
    def from_data(
        cls,
        X: object,
        y: object,
        *,
        pos_label: object = None,
        names: tuple[str, str] = ("X", "y"),
        shared: Shared = (),
        n_jobs: int | None = None,
    ) -> Sample:
        """Check the data and put the rows into canonical order; `names` are for messages.

        The order is lexicographic in the inputs, then the trials, within chunks of `CHUNK_ROWS`
        rows. It never depends on the outcomes, and makes every rank independent of the order of
        the user's rows. Objects stay in the order given.
        """
        return cls.of_inputs(read_inputs(X, names[0]), y, pos_label, names, shared, n_jobs=n_jobs)

    @classmethod
    def of_inputs(
        cls,
        inputs: tuple[Values, tuple[str, ...]],
        y: object,
        pos_label: object,
        names: tuple[str, str],
        shared: Shared = (),
        *,
        n_jobs: int | None = None,
    ) -> Sample:
        """Do the same with inputs that are checked, and the names of their columns."""
        outcomes = read_outcomes(y, pos_label, names[1])
        found = cls.ordered(
            inputs, outcomes.trials, outcomes.successes, names, shared, n_jobs=n_jobs
        )
        if found.inputs.total == 0:
            raise no_trials_error(names[1])
        return replace(found, is_counts=outcomes.is_counts, classes=outcomes.classes)

    @classmethod
    def of_classes(
        cls, X: object, codes: IntArray, classes: tuple[object, ...], *, shared: Shared = ()
    ) -> Sample:
        """Check the inputs of outcomes 0..C-1, and make a row of each Y ≥ k, k = 1..C-1.

        Rows are in canonical order as those of `from_data`, those of one outcome together.
        """
        values, columns = read_inputs(X)
        trials, levels = np.ones(len(codes), dtype=np.int64), len(classes) - 1
        found = cls.ordered((numeric(values), columns), trials, codes, ("X", "y"), shared)
        successes = (found.successes[:, None] > np.arange(levels)).ravel().astype(np.int64)
        return cls(found.inputs.per_level(levels), successes, False, classes)

    @classmethod
    def ordered(
        cls,
        inputs: tuple[Values, tuple[str, ...]],
        trials: IntArray,
        successes: IntArray,
        names: tuple[str, str],
        shared: Shared = (),
        *,
        n_jobs: int | None = None,
    ) -> Sample:
        """Put checked inputs, with the names of columns, and outcomes into canonical order."""
        values, columns = inputs
        check_same_rows(names[0], len(values), names[1], len(trials))
        order = canonical_order(values, trials, n_jobs=n_jobs)
        if trials.min() < trials.max():  # else they are the same in any order
            trials = trials[order]
        rows = Inputs(_rows(values, order, n_jobs), trials, columns, order, shared)
        return cls(rows, _rows(successes, order, n_jobs), False, None)

    @property
    def codes(self) -> IntArray:
        """The class 0..C-1 of each of the user's rows."""
        inputs = self.inputs
        number = self.successes.reshape(-1, inputs.levels).sum(axis=1)
        return np.asarray(inputs.original.to_user_order(number))

    @property
    def user_outcomes(self) -> tuple[IntArray, IntArray]:
        """Successes and trials in the order of the user's rows."""
        inputs = self.inputs
        trials = inputs.trials
        if inputs.total < len(self) * inputs.extent.row_trials:  # else all are the same
            trials = inputs.to_user_order(trials)
        return inputs.to_user_order(self.successes), trials

    def part(self, rows: IntArray) -> Sample:
        """Return the sample of some of the user's rows, as if there were no others."""
        inputs = self.inputs
        places = np.argsort(inputs.order)[rows]
        order = canonical_order(_rows(inputs.X, places), inputs.trials[places])
        return self.at(places[order], order)

    def with_ties_ordered_by(self, values: FloatArray) -> Sample:
        """Put rows with equal inputs into the order of `values` (n,) or (n, C), given per row.

        Predicted probabilities need not be a function of the inputs; ordered by them too, the rank
        does not depend on the order of the user's rows.
        """
        inputs = self.inputs
        moved = canonical_order(inputs.X, inputs.trials, *tie_breakers(values[inputs.order]))
        if np.array_equal(moved, np.arange(len(self))):
            return self
        return self.at(moved, inputs.order[moved])

    def at(self, places: IntArray, order: IntArray) -> Sample:
        """Take the rows at some canonical places, in an order that is canonical for them."""
        X, trials = _rows(self.inputs.X, places), self.inputs.trials[places]
        inputs = replace(self.inputs, X=X, trials=trials, order=order)
        return replace(self, inputs=inputs, successes=self.successes[places])


def distinct_of(X: FloatArray, trials: IntArray, shared: Shared) -> Distinct:
    """Find the distinct rows of X (n, d); rows without trials do not count."""
    used = trials > 0
    points, first, place_of_used = np.unique(
        X[used], axis=0, return_index=True, return_inverse=True
    )
    place = np.zeros(len(X), dtype=np.int64)
    place[used] = place_of_used.ravel()
    counts = np.bincount(place[used], weights=trials[used]).astype(np.float64)
    return Distinct(read_only(points), counts, place, used.nonzero()[0][first], shared)


def _rows(values: Values | IntArray, order: IntArray, n_jobs: int | None = None) -> Any:
    if isinstance(values, tuple):
        return tuple(values[row] for row in order)
    found = np.empty((len(order), *values.shape[1:]), dtype=values.dtype)

    def take(rows: slice) -> None:
        np.take(values, order[rows], axis=0, out=found[rows], mode="clip")  # "raise" would buffer

    deque(map_in_order(take, blocks(len(order), CHUNK_ROWS), n_jobs), maxlen=0)
    return found


def tie_breakers(values: FloatArray) -> tuple[FloatArray, ...]:
    """Return numbers (n,) or (n, C) as what orders rows with equal inputs, the first one last."""
    return tuple(np.atleast_2d(values.T)[::-1])


def canonical_order(
    values: Values,
    trials: IntArray,
    *ties: FloatArray,
    large: bool | None = None,
    n_jobs: int | None = None,
) -> IntArray:
    """Order rows by inputs, then trials, then further numbers, within chunks."""
    n = len(trials)
    if isinstance(values, tuple):
        return np.arange(n)
    columns = values.reshape(n, -1).T
    equal = bool((trials == trials[0]).all())
    keys = [*ties, *(() if equal else (trials,)), *columns[::-1]]
    # which of equal rows comes first changes no sum of many rows, so that these need no stable sort
    large = n > CHUNK_ROWS if large is None else large
    quick = large and len(keys) == 1

    found = np.empty(n, dtype=np.int64)

    def sort(rows: slice) -> None:
        order = np.argsort(keys[0][rows]) if quick else np.lexsort([key[rows] for key in keys])
        np.add(order, rows.start, out=found[rows])

    deque(map_in_order(sort, blocks(n, CHUNK_ROWS), n_jobs), maxlen=0)
    return found
