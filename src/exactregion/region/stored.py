"""A sample of more than one chunk of rows, read once and kept in a temporary file.

Rows come in chunks from arrays, memory maps, files or a cluster. Each chunk is checked, put into
canonical order and written down: 8 bytes per input, 8 for the number of the row, one for its label
or 16 for its successes and failures.
The sample is the one that `Sample.from_data` makes, with arrays that are mapped into memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.data.outcomes import check_total, no_trials_error, outcome_values
from exactregion.data.reading import numeric, read_inputs, read_predictions
from exactregion.data.sample import CHUNK_ROWS, Inputs, Sample, canonical_order
from exactregion.data.sources import ArraySource, Rows, Source, release, scratch
from exactregion.testing.chunks import SeenLabels

__all__ = ["as_source", "stored_predictions", "stored_sample"]

MOST_CODES = 127
"""Labels that are told apart; more than two are an error."""


def as_source(rows: Rows | Source, names: Rows) -> Source | None:
    """Return rows that are worth storing as a source: more than a chunk; None for others."""
    if isinstance(rows, Source):
        return rows if rows.n_rows > CHUNK_ROWS else None
    inputs = rows.p if rows.X is None else rows.X
    if not (_is_table(inputs, "biuf") and _is_table(rows.y, "biufU")):
        return None
    return ArraySource(rows, names) if len(rows.y) > CHUNK_ROWS else None


def _is_table(values: Any, kinds: str) -> bool:
    """Return whether these are an array of such a kind, or columns of pandas."""
    if isinstance(values, np.ndarray):
        return not isinstance(values, np.ma.MaskedArray) and values.dtype.kind in kinds
    return hasattr(values, "iloc")


def stored_sample(source: Source, pos_label: object) -> Sample:
    """Store inputs and outcomes, and return their sample."""
    names = Rows("X", "y", None)

    def inputs(rows: Rows, first_row: int) -> tuple[FloatArray, tuple[str, ...]]:
        values, columns = read_inputs(rows.X, names.X, first_row=first_row)
        return numeric(values), columns

    reader = _Reader(inputs, names.y)
    store = _Store(source.n_rows)
    for values, outcomes in reader.chunks(source):
        store.add(values, outcomes)
    return store.sample(reader, pos_label)


def stored_predictions(
    source: Source, pos_label: object, names: Rows
) -> tuple[Sample | None, IntArray]:
    """Store predictions that are not certain, and count the outcomes of those that are.

    Returns the sample, None without any rows, and successes and failures (2, 2) of those rows whose
    prediction is 0, and 1.
    """

    def predictions(rows: Rows, first_row: int) -> tuple[FloatArray, tuple[str, ...]]:
        return read_predictions(rows.p, names.p, first_row=first_row), ("x",)

    reader, certain = _Reader(predictions, names.y), []

    def uncertain() -> Iterator[tuple[FloatArray, npt.NDArray[Any]]]:
        for p, outcomes in reader.chunks(source):
            is_certain = (p == 0) | (p == 1)
            certain.append((p[is_certain], outcomes[is_certain]))
            yield p[~is_certain], outcomes[~is_certain]

    store = _Store(source.n_rows)
    for values, outcomes in _in_chunks(uncertain()):
        store.add(values, outcomes)
    counts = np.zeros((2, 2), dtype=np.int64)
    for p, outcomes in certain:
        successes, trials = reader.outcomes(outcomes, pos_label)
        for one in (0, 1):
            number = int(successes[p == one].sum())
            counts[one] += number, int(trials[p == one].sum()) - number
    return (store.sample(reader, pos_label) if store.number else None), counts


def _in_chunks(
    parts: Iterator[tuple[FloatArray, npt.NDArray[Any]]],
) -> Iterator[tuple[FloatArray, npt.NDArray[Any]]]:
    """Join and cut parts of any length into chunks of `CHUNK_ROWS`."""
    values, outcomes = next(parts)
    for more, further in parts:
        values, outcomes = np.concatenate([values, more]), np.concatenate([outcomes, further])
        while len(values) >= CHUNK_ROWS:
            yield values[:CHUNK_ROWS], outcomes[:CHUNK_ROWS]
            values, outcomes = values[CHUNK_ROWS:], outcomes[CHUNK_ROWS:]
    if len(values):
        yield values, outcomes


class _Reader:
    """Reads and checks chunks; labels become codes, since all of them are known at the end only."""

    def __init__(
        self, inputs: Callable[[Rows, int], tuple[FloatArray, tuple[str, ...]]], name: str
    ) -> None:
        self.inputs, self.name = inputs, name
        self.columns: tuple[str, ...] = ()
        self.seen: SeenLabels | None = None
        self.labels: list[object] = []

    def chunks(self, source: Source) -> Iterator[tuple[FloatArray, npt.NDArray[Any]]]:
        """Yield inputs, and codes of labels (b,) or successes and failures (b, 2)."""
        for index, rows in enumerate(source.chunks()):
            first_row = index * CHUNK_ROWS
            values, self.columns = self.inputs(rows, first_row)
            y = outcome_values(rows.y, self.name, first_row=first_row)
            seen = SeenLabels.of(y)
            self.seen = seen if self.seen is None else self.seen + seen
            yield values, (y if y.ndim == 2 else self._codes(y))

    def _codes(self, y: npt.NDArray[Any]) -> npt.NDArray[np.int8]:
        codes = np.zeros(len(y), dtype=np.int8)
        for label in np.unique(y).tolist()[:MOST_CODES]:
            if label not in self.labels and len(self.labels) < MOST_CODES:
                self.labels.append(label)
            if label in self.labels:
                codes[y == label] = self.labels.index(label)
        return codes

    def classes(self, pos_label: object) -> tuple[object, object] | None:
        """Find the classes among all labels; None where outcomes are counts."""
        assert self.seen is not None
        return self.seen.find_classes(pos_label, self.name)

    def outcomes(self, found: npt.NDArray[Any], pos_label: object) -> tuple[Any, Any]:
        """Turn what `chunks` gave into successes and trials."""
        classes = self.classes(pos_label)
        if classes is None:
            return found[:, 0], found.sum(axis=1)
        is_positive = np.array([label == classes[1] for label in self.labels], dtype=np.int8)
        return is_positive[found], np.broadcast_to(np.int64(1), found.shape)


class _Store:
    """Arrays that are filled chunk by chunk, rows of each in canonical order."""

    def __init__(self, most: int) -> None:
        self.most, self.number = most, 0
        self.X: Any = None
        self.found: Any = None
        self.order: Any = scratch((most,), np.int64)

    def add(self, values: FloatArray, outcomes: npt.NDArray[Any]) -> None:
        """Write down a chunk."""
        if self.X is None:
            self.X = scratch((self.most, *values.shape[1:]), np.float64)
            self.found = scratch((self.most, *outcomes.shape[1:]), outcomes.dtype)
        trials = outcomes.sum(axis=1) if outcomes.ndim == 2 else np.ones(len(values), np.int64)
        order = canonical_order(values, trials, large=False)
        here = slice(self.number, self.number + len(values))
        self.X[here], self.found[here] = values[order], outcomes[order]
        self.order[here] = self.number + order
        self.number = here.stop
        for array in (self.X, self.found, self.order):
            release(array)

    def sample(self, reader: _Reader, pos_label: object) -> Sample:
        """Return the sample of all that was written down."""
        n = self.number
        X, found, order = self.X[:n], self.found[:n], self.order[:n]
        classes = reader.classes(pos_label)
        if classes is None:
            successes, trials = found[:, 0], scratch((n,), np.int64)
            for start in range(0, n, CHUNK_ROWS):
                here = slice(start, start + CHUNK_ROWS)
                trials[here] = found[here].sum(axis=1)
            total = int(trials.sum())
            check_total(total, reader.name)
            if total == 0:
                raise no_trials_error(reader.name)
        else:
            for start in range(0, n, CHUNK_ROWS):
                here = slice(start, start + CHUNK_ROWS)
                found[here] = reader.outcomes(found[here], pos_label)[0]
            successes, trials = found, np.broadcast_to(np.int64(1), (n,))
        inputs = Inputs(X, trials, reader.columns, order)
        return Sample(inputs, successes, classes is None, classes)
