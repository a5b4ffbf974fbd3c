"""Rows in chunks: reading and checking them, looking at them, and summing over them.

A pass is a small object that is called with the number of a chunk and its rows, wherever these are:
in this process, in a thread, or on a worker of a cluster. Rows that are in memory already are cut
into the same chunks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.data.classes import (
    MatchedClasses,
    column_labels,
    labels_of,
    read_class_probabilities,
)
from exactregion.data.counts import COUNTED, MOST_ROWS, Tally, tally_of
from exactregion.data.outcomes import (
    check_no_label,
    counted,
    distinct_labels,
    find_classes,
    labelled,
    outcome_values,
    trials_of,
)
from exactregion.data.reading import numeric, read_inputs, read_predictions
from exactregion.data.sample import CHUNK_ROWS, canonical_order, tie_breakers
from exactregion.data.sources import Rows, Source
from exactregion.data.workers import map_in_order
from exactregion.engine.chunks import Chunk
from exactregion.engine.progress import advance
from exactregion.features.landmarks import ChunkSummary, summary_of_chunk
from exactregion.models.fixed import class_values, fixed_probabilities

R = TypeVar("R")

SHOWN_CLASSES = 6
"""Labels that are remembered: two are right, more are for the message."""

MOST_LABELS = 10_000
"""Labels of a chunk that are remembered where there may be many classes: with more of them the
outcomes are numbers, and no classes."""


@dataclass(frozen=True, eq=False)
class Reader:
    """Turns the rows of a chunk into checked values; messages count from the first of all."""

    names: Rows  # what the user calls each part of the data
    candidate: Any = None  # evaluated where the rows hold no probabilities
    calibration: bool = False  # whether the probabilities are the inputs
    classes: tuple[object, object] | None = None  # negative and positive; None for counts
    matched: MatchedClasses | None = None  # where there are more than two

    def inputs(self, rows: Rows, first_row: int) -> tuple[FloatArray, tuple[str, ...]]:
        """Read the inputs (b, d) and the names of their columns."""
        if self.calibration:
            p = self.probabilities(rows, first_row)
            return p.reshape(len(p), -1), ("x",)
        values, columns = read_inputs(rows.X, self.names.X, first_row=first_row)
        return numeric(values).reshape(len(values), -1), columns

    def probabilities(self, rows: Rows, first_row: int) -> FloatArray:
        """Read or evaluate probabilities: (b,), or (b, C) with columns in the order of classes."""
        if self.matched is not None:
            values = rows.p if self.candidate is None else class_values(self.candidate, rows.X)
            P = read_class_probabilities(values, self.names.p, first_row=first_row)
            return self.matched.ordered(P)
        if self.calibration:
            return read_predictions(rows.p, self.names.p, first_row=first_row)
        candidate = self.candidate if rows.p is None else rows.p
        n = len(rows.y)
        return fixed_probabilities(candidate, rows.X, n, self.classes, first_row=first_row)

    def outcomes(self, rows: Rows, first_row: int) -> tuple[IntArray, IntArray]:
        """Read trials and successes (b,); successes are numbers of classes where there are many."""
        if self.matched is not None:
            codes = self.matched.codes(rows.y, self.names.y, first_row=first_row)
            return np.ones(len(codes), dtype=np.int64), codes
        y = outcome_values(rows.y, self.names.y, first_row=first_row)
        outcomes = counted(y) if self.classes is None else labelled(y, self.classes)
        return outcomes.trials, outcomes.successes

    def chunk(self, index: int, rows: Rows) -> Chunk:
        """Read a chunk, and put it into canonical order."""
        first_row = index * CHUNK_ROWS
        p = self.probabilities(rows, first_row)
        X = p.reshape(len(p), -1) if self.calibration else self.inputs(rows, first_row)[0]
        trials, successes = self.outcomes(rows, first_row)
        ties = () if self.calibration else tie_breakers(p)
        order = canonical_order(X, trials, *ties, large=True)
        return Chunk(index, X[order], trials[order], successes[order], p[order])


@dataclass(frozen=True, eq=False)
class ReadPass(Generic[R]):
    """A pass that reads a chunk, and gives it to a task."""

    reader: Reader
    task: Callable[[Chunk], R]

    def __call__(self, index: int, rows: Rows) -> R:
        """Read a chunk, and run the task on it."""
        return self.task(self.reader.chunk(index, rows))


class Total(Protocol):
    """Runs a task on all chunks, and adds up what it returns."""

    def __call__(self, task: Callable[[Chunk], R]) -> R:
        """Return the sum."""


def total_of_source(source: Source, reader: Reader, n_jobs: int | None) -> Total:
    """Run tasks on the chunks of a source, read by a reader."""
    return lambda task: source.total(ReadPass(reader, task), advance, n_jobs)


def total_in_memory(whole: Chunk, n_jobs: int | None) -> Total:
    """Run tasks on rows in memory, in canonical order, cut into chunks."""
    return lambda task: reduce(add, map_in_order(task, _cut(whole), n_jobs))


def _cut(whole: Chunk) -> Iterator[Chunk]:
    for index, start in enumerate(range(0, len(whole.p), CHUNK_ROWS)):
        rows = slice(start, start + CHUNK_ROWS)
        trials, successes = whole.trials[rows], whole.successes[rows]
        yield Chunk(index, whole.X[rows], trials, successes, whole.p[rows])


# --- the first look -------------------------------------------------------------------------------


def matched_in_source(
    source: Source, P: Any, classes: Any, names: Rows, n_jobs: int | None
) -> MatchedClasses:
    """Match the columns of P, those of a chunk, to `classes`, or to the labels of all chunks."""
    width = read_class_probabilities(P, names.p).shape[1]
    labels: list[Any] = []
    if classes is None:
        labels = sorted(source.total(partial(_labels_of_chunk, names.y), advance, n_jobs), key=str)
    return MatchedClasses.of(labels, width, column_labels(P), classes, (names.y, names.p))


def _labels_of_chunk(name: str, index: int, rows: Rows) -> Counter[Any]:
    return Counter(labels_of(rows.y, name, first_row=index * CHUNK_ROWS)[:MOST_LABELS])


@dataclass(frozen=True)
class SeenLabels:
    """The labels of some chunks; `classes` is None where outcomes are counts."""

    classes: tuple[object, ...] | None
    kinds: frozenset[str]

    @classmethod
    def of(cls, y: npt.NDArray[Any]) -> SeenLabels:
        """Look at the outcomes of a chunk, as `outcome_values` gives them."""
        found = None if y.ndim == 2 else tuple(distinct_labels(y)[:SHOWN_CLASSES])
        return cls(found, frozenset(y.dtype.kind))

    def __add__(self, other: SeenLabels) -> SeenLabels:
        """Add the labels of other chunks."""
        kinds = self.kinds | other.kinds
        if self.classes is None or other.classes is None:
            return SeenLabels(None, kinds)
        together = dict.fromkeys((*self.classes, *other.classes))
        return SeenLabels(tuple(together)[:SHOWN_CLASSES], kinds)

    def find_classes(self, pos_label: object, name: str) -> tuple[object, object] | None:
        """Find the classes among the labels of all chunks; None where outcomes are counts."""
        if self.classes is None:
            check_no_label(pos_label, name)
            return None
        kind = "O"
        if len(self.kinds) == 1:
            (kind,) = self.kinds
        elif self.kinds <= set("biuf"):
            kind = "f"
        found: list[Any] = sorted(self.classes, key=lambda label: (isinstance(label, str), label))
        return find_classes(found, kind, pos_label, name)


@dataclass(frozen=True, eq=False)
class FirstLook:
    """What the first pass sees in some chunks.

    The form of X is its number of dimensions, 0 for a frame; None where there is no X.
    """

    summaries: dict[int, ChunkSummary]
    columns: tuple[str, ...]
    form: int | None
    labels: SeenLabels
    tally: Tally | None

    def __add__(self, other: FirstLook) -> FirstLook:
        """Put what was seen in other chunks beside it."""
        both = None
        if self.tally is not None and other.tally is not None:
            both = self.tally.merged(other.tally)
        return replace(
            self,
            summaries=self.summaries | other.summaries,
            labels=self.labels + other.labels,
            tally=both,
        )

    def as_given(self, X: FloatArray) -> Any:
        """Give inputs (n, d) the form that the user's have."""
        if self.form == 0:
            import pandas as pd

            return pd.DataFrame(X, columns=list(self.columns))
        return X[:, 0] if self.form == 1 else X


@dataclass(frozen=True, eq=False)
class FirstPass:
    """The first pass over a chunk."""

    reader: Reader
    n_rows: int
    merges_equal_rows: bool

    def __call__(self, index: int, rows: Rows) -> FirstLook:
        """Summarise a chunk."""
        first_row = index * CHUNK_ROWS
        X, columns = self.reader.inputs(rows, first_row)
        y = outcome_values(rows.y, self.reader.names.y, first_row=first_row)
        labels = SeenLabels.of(y)
        found = labels.classes
        trials = trials_of(y)
        if found is not None and X.shape[1] == 1:
            ordered = np.sort(X, axis=0), trials  # much faster than to find the order
        else:
            order = canonical_order(X, trials, large=True)
            ordered = X[order], trials[order]
        tally = None
        if self.merges_equal_rows and _repeats(ordered[0]):
            tally = self._tally(rows, X, y, found, first_row)
        form = None if rows.X is None else 0 if hasattr(rows.X, "columns") else np.ndim(rows.X)
        return FirstLook(
            {index: summary_of_chunk(index, *ordered, self.n_rows)},
            columns,
            form,
            labels,
            tally,
        )

    def _tally(
        self,
        rows: Rows,
        X: FloatArray,
        y: npt.NDArray[Any],
        found: tuple[object, ...] | None,
        first_row: int,
    ) -> Tally | None:
        """Tally inputs and probabilities; inputs alone where a candidate is evaluated later."""
        if self.reader.calibration or rows.p is not None:
            p = X if self.reader.calibration else self.reader.probabilities(rows, first_row)
            X = np.column_stack([X, p])
        counts = y if found is None else np.column_stack([y == label for label in found])
        order = np.argsort(X[:, 0])
        return tally_of(X[order], counts[order], COUNTED if found is None else found)


def _repeats(X: FloatArray) -> bool:
    """Say whether sorted inputs repeat so often that it pays to count them."""
    return int(np.count_nonzero((X[1:] != X[:-1]).any(axis=1))) < MOST_ROWS
