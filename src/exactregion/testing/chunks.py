"""The two passes over rows that come in chunks: reading, checking and summing one chunk.

Each pass is a small object that is called with the number of a chunk and its rows, wherever these
are: in this process, in a thread, or on a worker of a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.data.counts import COUNTED, MOST_ROWS, Tally, tally_of
from exactregion.data.reading import (
    check_no_label,
    counted,
    find_classes,
    labelled,
    numeric,
    outcome_values,
    read_inputs,
    read_predictions,
)
from exactregion.data.sample import CHUNK_ROWS, canonical_order
from exactregion.data.sources import Rows
from exactregion.engine.chunks import Chunk, ChunkPlan, ChunkSums, sums_of_chunk
from exactregion.features.landmarks import ChunkSummary, summary_of_chunk
from exactregion.models import fixed_probabilities

SHOWN_CLASSES = 6
"""Labels that are remembered: two are right, more are for the message."""


@dataclass(frozen=True, eq=False)
class Reader:
    """Turns the rows of a chunk into checked values; messages count from the first of all."""

    names: Rows
    candidate: Any
    calibration: bool

    def inputs(self, rows: Rows, first_row: int) -> tuple[FloatArray, tuple[str, ...]]:
        """Read the inputs (b, d) and the names of their columns."""
        if self.calibration:
            return read_predictions(rows.p, self.names.p, first_row=first_row)[:, None], ("x",)
        values, columns = read_inputs(rows.X, self.names.X, first_row=first_row)
        return numeric(values).reshape(len(values), -1), columns

    def probabilities(
        self, rows: Rows, X: FloatArray, classes: tuple[object, object] | None, first_row: int
    ) -> FloatArray:
        """Read the probabilities (b,), or evaluate the candidate."""
        if self.calibration:
            return X[:, 0]
        candidate = self.candidate if rows.p is None else rows.p
        return fixed_probabilities(candidate, rows.X, len(X), classes, first_row=first_row)


@dataclass(frozen=True)
class SeenLabels:
    """The labels of some chunks; `classes` is None where outcomes are counts."""

    classes: tuple[object, ...] | None
    kinds: frozenset[str]

    @classmethod
    def of(cls, y: npt.NDArray[Any]) -> SeenLabels:
        """Look at the outcomes of a chunk, as `outcome_values` gives them."""
        found = None if y.ndim == 2 else tuple(np.unique(y)[:SHOWN_CLASSES].tolist())
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
        trials = y.sum(axis=1) if found is None else np.ones(len(y), dtype=np.int64)
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
            X = np.column_stack([X, self.reader.probabilities(rows, X, None, first_row)])
        counts = y if found is None else np.column_stack([y == label for label in found])
        order = np.argsort(X[:, 0])
        return tally_of(X[order], counts[order], COUNTED if found is None else found)


def _repeats(X: FloatArray) -> bool:
    """Say whether sorted inputs repeat so often that it pays to count them."""
    return int(np.count_nonzero((X[1:] != X[:-1]).any(axis=1))) < MOST_ROWS


@dataclass(frozen=True, eq=False)
class SecondPass:
    """The second pass over a chunk."""

    reader: Reader
    plan: ChunkPlan
    classes: tuple[object, object] | None

    def __call__(self, index: int, rows: Rows) -> ChunkSums:
        """Sum over a chunk."""
        first_row = index * CHUNK_ROWS
        X, _ = self.reader.inputs(rows, first_row)
        y = outcome_values(rows.y, self.reader.names.y, first_row=first_row)
        outcomes = counted(y) if self.classes is None else labelled(y, self.classes)
        p = self.reader.probabilities(rows, X, self.classes, first_row)
        ties = () if self.reader.calibration else (p,)
        order = canonical_order(X, outcomes.trials, *ties, large=True)
        chunk = Chunk(index, X[order], outcomes.trials[order], outcomes.successes[order], p[order])
        return sums_of_chunk(chunk, self.plan)
