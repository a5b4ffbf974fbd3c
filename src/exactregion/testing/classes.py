"""One test of a fixed candidate with several classes, on rows from any source.

Few rows are read into memory. More than one chunk of them are gone through in chunks: for the
labels, unless the classes are known; for a summary of the inputs; and for the sums over all data
sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.classes import (
    MatchedClasses,
    are_classes,
    column_labels,
    has_several_labels,
    labels_of,
    read_class_probabilities,
)
from exactregion.data.frames import encode_text
from exactregion.data.reading import Values, numeric, read_inputs
from exactregion.data.sample import CHUNK_ROWS, Extent, Inputs, Shared, canonical_order
from exactregion.data.sources import Rows, Source, map_in_order, number_of_workers
from exactregion.engine.chunks import ChunkPlan
from exactregion.engine.classes import (
    ClassChunk,
    ClassPlan,
    ClassSums,
    family_of,
    measured_at_once,
    shares_of,
    sums_of_classes,
)
from exactregion.engine.progress import advance, showing
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.features.landmarks import ChunkSummary, InputSummary, summary_of_chunk
from exactregion.models.fixed import class_values, needs_evaluation
from exactregion.resampling import Draws
from exactregion.statistics import Statistic
from exactregion.statistics.classes import ClassStatistic, View
from exactregion.testing.class_result import TOP_LABEL, ClassTestResult, class_result
from exactregion.testing.groups import holm
from exactregion.testing.several import of_model

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "ClassTest",
    "candidate_of_two",
    "matched_in",
    "table_of_classes",
    "views_of_classes",
    "without_two",
]

MOST_LABELS = 10_000
"""Labels that are remembered: with more of them the outcomes are numbers, and no classes."""


@dataclass(frozen=True, eq=False)
class _Reader:
    """Turns rows into probabilities and numbers of classes; messages count from the first row."""

    names: Rows
    candidate: Any
    calibration: bool
    matched: MatchedClasses

    def chunk(self, index: int, rows: Rows) -> ClassChunk:
        """Read a chunk, and put it into canonical order."""
        first_row = index * CHUNK_ROWS
        P = self.probabilities(rows, first_row)
        X = P
        if not self.calibration:
            values, _ = read_inputs(rows.X, self.names.X, first_row=first_row)
            X = numeric(values).reshape(len(values), -1)
        codes = self.matched.codes(rows.y, self.names.y, first_row=first_row)
        ties = () if self.calibration else tuple(P.T[::-1])
        order = canonical_order(X, np.ones(len(P), dtype=np.int64), *ties, large=True)
        ordered = P[order]
        return ClassChunk(index, ordered if self.calibration else X[order], ordered, codes[order])

    def probabilities(self, rows: Rows, first_row: int | None = None) -> FloatArray:
        """Read or compute probabilities, with columns in the order of the classes."""
        values = rows.p if self.candidate is None else class_values(self.candidate, rows.X)
        P = read_class_probabilities(values, self.names.p, first_row=first_row)
        return np.ascontiguousarray(P[:, list(self.matched.columns)])


@dataclass(frozen=True, eq=False)
class _LabelPass:
    """The first pass over a chunk: which labels there are."""

    name: str

    def __call__(self, index: int, rows: Rows) -> _SeenLabels:
        found = labels_of(rows.y, self.name, first_row=index * CHUNK_ROWS)
        return _SeenLabels(dict.fromkeys(found[:MOST_LABELS]))


@dataclass(frozen=True)
class _SeenLabels:
    labels: dict[Any, None]

    def __add__(self, other: _SeenLabels) -> _SeenLabels:
        """Add the labels of other chunks."""
        return _SeenLabels(self.labels | other.labels)


def labels_of_source(source: Source, known: Any, names: Rows, n_jobs: int | None) -> list[Any]:
    """List the labels in all chunks; none where the classes are known without looking."""
    if known is not None:
        return []
    return sorted(source.total(_LabelPass(names.y), advance, n_jobs).labels, key=str)


@dataclass(frozen=True)
class _Summaries:
    """Summaries of the inputs of each view, by chunk."""

    of_chunks: dict[int, dict[View, ChunkSummary]]

    def __add__(self, other: _Summaries) -> _Summaries:
        """Put those of other chunks beside it."""
        return _Summaries(self.of_chunks | other.of_chunks)

    def of(self, view: View) -> InputSummary:
        """Put the summaries of one view together, in the order of chunks."""
        parts = [self.of_chunks[index][_key(view)] for index in sorted(self.of_chunks)]
        return InputSummary.of_chunks(parts, calibration=view.own)


def _key(view: View) -> View:
    """Return what names the inputs of a view: those that share them share a summary."""
    return view if view.own else View(None, own=False)


@dataclass(frozen=True, eq=False)
class _LookPass:
    """The second pass over a chunk: its inputs."""

    reader: _Reader
    n_rows: int
    views: tuple[View, ...]

    def __call__(self, index: int, rows: Rows) -> _Summaries:
        return self.look(self.reader.chunk(index, rows))

    def look(self, chunk: ClassChunk) -> _Summaries:
        """Summarise the inputs of each view."""
        found = {
            view: summary_of_chunk(chunk.index, chunk.inputs_of(view), chunk.trials, self.n_rows)
            for view in self.views
        }
        return _Summaries({chunk.index: found})


@dataclass(frozen=True, eq=False)
class _SumPass:
    """The last pass over a chunk."""

    reader: _Reader
    plan: ClassPlan

    def __call__(self, index: int, rows: Rows) -> ClassSums:
        return sums_of_classes(self.reader.chunk(index, rows), self.plan)


@dataclass(frozen=True, eq=False)
class ClassTest:
    """What a test with several classes is made of, besides the rows."""

    statistic: ClassStatistic
    draws: Draws
    names: Rows  # what the user calls each part of the data, for messages
    seed: int | None = None  # the integer that the draws came from
    candidate: Any = None  # evaluated on the inputs, where the rows do not hold probabilities
    calibration: bool = False  # whether the probabilities are the inputs
    classes: Any = None  # of the columns, as the user named them
    n_jobs: int | None = None
    progress: bool = False

    def __post_init__(self) -> None:
        """Check the number of threads before any work."""
        number_of_workers(self.n_jobs)

    def run(self, rows: Rows | Source) -> ClassTestResult:
        """Test the candidate on all rows."""
        if not isinstance(rows, Source):
            return self._in_memory(rows)
        if rows.n_rows == 0:
            raise InvalidValueError("The data must have at least one row. Got 0 instead.")
        if rows.n_rows > CHUNK_ROWS:
            with showing("test", show=self.progress, unit="rows processed"):
                return self._on_source(rows)
        return self._in_memory(rows.each(lambda index, chunk: chunk, lambda number: None)[0])

    # --- rows in memory ---

    def _in_memory(self, rows: Rows) -> ClassTestResult:
        known, P = self._evaluated(rows)
        found = labels_of(rows.y, self.names.y)
        matched = self._matched(found, P.shape[1], column_labels(known))
        P = np.ascontiguousarray(P[:, list(matched.columns)])
        codes = matched.codes(rows.y, self.names.y)
        trials = np.ones(len(P), dtype=np.int64)
        values: Values = P
        columns: tuple[str, ...] = tuple(map(str, matched.labels))
        shared: Shared = ()
        if not self.calibration:
            numbers, shared = encode_text(rows.X)
            values, columns = read_inputs(numbers, self.names.X)
        for name, length in ((self.names.p, len(P)), (self.names.X, len(values))):
            if length != len(codes):
                raise InvalidValueError(
                    f"The {name!r} and {self.names.y!r} parameters must have the same number of "
                    f"rows. Got {length} and {len(codes)} instead."
                )
        order = canonical_order(values, trials, *(() if self.calibration else P.T[::-1]))
        ordered: Any = (
            tuple(values[row] for row in order) if isinstance(values, tuple) else values[order]
        )
        inputs = Inputs(ordered, trials, columns, order, shared)
        whole = ClassChunk(0, ordered, P[order], codes[order])
        given: dict[str, Any] = {"probabilities": P, "outcomes": codes}
        if len(P) <= CHUNK_ROWS or isinstance(values, tuple):
            return replace(self._at_once(whole, inputs, matched), **given)
        table = replace(whole, X=inputs.matrix)

        def sums(plan: ClassPlan) -> ClassSums:
            task = map_in_order(lambda c: sums_of_classes(c, plan), _chunks(table), self.n_jobs)
            return reduce(add, task)

        look = _LookPass(self._reader(matched), len(P), self._inputs_of_views(len(matched)))
        found_in_chunks = self._by_chunks(map(look.look, _chunks(table)), sums, matched, len(P))
        return replace(found_in_chunks or self._at_once(whole, inputs, matched), **given)

    def _evaluated(self, rows: Rows) -> tuple[Any, FloatArray]:
        """Return probabilities as they were given, and checked."""
        values = rows.p if self.candidate is None else class_values(self.candidate, rows.X)
        return values, read_class_probabilities(values, self.names.p)

    def _at_once(
        self, whole: ClassChunk, inputs: Inputs, matched: MatchedClasses
    ) -> ClassTestResult:
        measured, impossible = measured_at_once(whole, inputs, self.statistic, self.draws)
        return self._result(measured, impossible, shares_of(whole), matched, len(whole.P))

    # --- rows in chunks ---

    def _on_source(self, source: Source) -> ClassTestResult:
        known, P = self._evaluated(next(source.chunks()))
        found = labels_of_source(source, self._known_classes, self.names, self.n_jobs)
        matched = self._matched(found, P.shape[1], column_labels(known))
        reader, views = self._reader(matched), self._inputs_of_views(len(matched))
        look = source.total(_LookPass(reader, source.n_rows, views), advance, self.n_jobs)

        def sums(plan: ClassPlan) -> ClassSums:
            return source.total(_SumPass(reader, plan), advance, self.n_jobs)

        result = self._by_chunks([look], sums, matched, source.n_rows)
        if result is None:
            raise InvalidTypeError(
                "must be one that takes rows in chunks, since these are not in memory. "
                f"Got {self.statistic!r} instead.",
                parameter="statistic",
            )
        return result

    def _by_chunks(
        self,
        looks: Iterable[_Summaries],
        sums: Callable[[ClassPlan], ClassSums],
        matched: MatchedClasses,
        n: int,
    ) -> ClassTestResult | None:
        """Test by passes over all chunks; None where all rows must be in memory."""
        views = list(dict.fromkeys(self.statistic.views(len(matched))))
        if any(binary.needs_all_rows for _, binary in views):
            return None
        look = reduce(add, looks)
        made: dict[tuple[View, Statistic], ChunkPlan] = {}  # views that share inputs share a plan
        for view, binary in views:
            if (_key(view), binary) not in made:
                one = ChunkPlan.of(binary, look.of(view), self.draws, *family_of(view))
                if one is None:
                    return None
                made[_key(view), binary] = one
        plans = [(view, made[_key(view), binary]) for view, binary in views]
        extent = Extent.together(
            Extent.of(np.ones(min(CHUNK_ROWS, n - start), dtype=np.int64))
            for start in range(0, n, CHUNK_ROWS)
        )
        plan = ClassPlan.of(plans, self.statistic.sums(), extent, self.draws)
        totals = sums(plan)
        measured, impossible = plan.measured(totals, views, len(matched))
        shares = np.sum([totals.shares[index] for index in sorted(totals.shares)], axis=0)
        return self._result(measured, impossible, shares, matched, n)

    # --- both ---

    @property
    def _known_classes(self) -> Any:
        """The classes of the columns, where the user or the candidate says so."""
        known = getattr(self.candidate, "classes_", None)
        return known if self.classes is None else self.classes

    def _matched(
        self, found: list[Any], width: int, named: tuple[str, ...] | None
    ) -> MatchedClasses:
        names = (self.names.y, self.names.p)
        return MatchedClasses.of(found, width, named, self._known_classes, names)

    def _reader(self, matched: MatchedClasses) -> _Reader:
        return _Reader(self.names, self.candidate, self.calibration, matched)

    def _inputs_of_views(self, n_classes: int) -> tuple[View, ...]:
        return tuple(dict.fromkeys(_key(view) for view, _ in self.statistic.views(n_classes)))

    def _result(
        self, measured: Any, impossible: Any, shares: FloatArray, matched: MatchedClasses, n: int
    ) -> ClassTestResult:
        return class_result(
            measured,
            impossible,
            shares,
            self.draws.seat,
            self.statistic,
            classes=matched.labels,
            n=n,
            kind="calibration" if self.calibration else "model",
            seed=self.seed,
        )


def _chunks(whole: ClassChunk) -> Iterator[ClassChunk]:
    """Cut rows in memory, in canonical order, into chunks."""
    for index, start in enumerate(range(0, len(whole.P), CHUNK_ROWS)):
        rows = slice(start, start + CHUNK_ROWS)
        yield ClassChunk(index, whole.X[rows], whole.P[rows], whole.classes[rows])


# --- what users give ------------------------------------------------------------------------------


def candidate_of_two(
    candidate: Any, y: Any, names: Rows, *, data: Any, classes: Any, pos_label: object
) -> tuple[Any, object, bool]:
    """Replace a candidate's array of two columns by that of the positive class.

    Returns the positive class with it, and whether the candidate has more than two classes instead.
    A function has, where the outcomes have.
    """
    if not needs_evaluation(candidate):
        if not are_classes(candidate, y, data, classes):
            return candidate, pos_label, False
        settings: dict[str, Any] = {"data": data, "classes": classes, "pos_label": pos_label}
        two = positive_column(y, candidate, names, **settings)
        return (candidate, pos_label, True) if two is None else (*two, False)
    known: Any = getattr(candidate, "classes_", None) if classes is None else classes
    several = data is None and has_several_labels(y) if known is None else len(known) > 2
    return candidate, pos_label, several


def without_two(
    y: Any, y_prob: Any, names: Rows, *, data: Any, classes: Any, pos_label: object
) -> tuple[Any, object, bool]:
    """Replace probabilities of two classes by those of the positive one, for one model or several.

    Returns the positive class with them, and whether there are more than two classes instead.
    """
    models = y_prob if isinstance(y_prob, Mapping) else {"": y_prob}
    settings: dict[str, Any] = {"data": data, "classes": classes, "pos_label": pos_label}
    if not models or not all(are_classes(P, y, data, classes) for P in models.values()):
        return y_prob, pos_label, False
    found = {}
    for name, P in models.items():
        with of_model(name):
            two = positive_column(y, P, names, **settings)
        if two is None:
            return y_prob, pos_label, True
        found[name], positive = two
    return (found if isinstance(y_prob, Mapping) else found[""]), positive, False


def matched_in(source: Source, classes: Any, names: Rows, n_jobs: int | None) -> MatchedClasses:
    """Match the columns of probabilities to the classes of all outcomes of a source."""
    P = next(source.chunks()).p
    width = read_class_probabilities(P, names.p).shape[1]
    found = labels_of_source(source, classes, names, n_jobs)
    return MatchedClasses.of(found, width, column_labels(P), classes, (names.y, names.p))


def views_of_classes(
    y: Any, P: Any, names: Rows, classes: Any
) -> dict[str, tuple[IntArray, FloatArray]]:
    """Return the binary outcome of each class, and of the top label, with its probability."""
    if isinstance(P, Mapping):
        raise InvalidValueError(
            f"must be of one model with more than two classes. Got {len(P)} models instead: take "
            "one after the other.",
            parameter=names.p,
        )
    values = read_class_probabilities(P, names.p)
    found = labels_of(y, names.y)
    labels = (names.y, names.p)
    matched = MatchedClasses.of(found, values.shape[1], column_labels(P), classes, labels)
    values, codes = values[:, list(matched.columns)], matched.codes(y, names.y)
    every = [View(c, own=True) for c in range(len(matched))] + [View(None, own=True)]
    named = [*map(str, matched.labels), TOP_LABEL]
    return {
        name: ((codes == view.successes(values)).astype(np.int64), view.probability(values))
        for name, view in zip(named, every, strict=True)
    }


def positive_column(
    y: Any, P: Any, names: Rows, *, data: Any, classes: Any, pos_label: object
) -> tuple[Any, object] | None:
    """Return the probabilities of the positive class, and its label; None if there are not two.

    Two classes are labels: they have all the statistics of these, and the same ranks.
    """
    width = len(P) if data is not None and not isinstance(P, str) else (*np.shape(P), 1)[1]
    if width != 2:
        if pos_label is not None:
            raise InvalidValueError(
                f"goes with two classes. Got {pos_label!r} with {width} columns of probabilities "
                "instead: leave it out.",
                parameter="pos_label",
            )
        return None
    lazy = data is not None or any(hasattr(values, "__dask_graph__") for values in (y, P))
    found = list(classes or ()) if lazy else labels_of(y, names.y)
    if lazy and classes is None:
        raise InvalidValueError(
            "must name the classes of the two columns of probabilities, where outcomes are not in "
            "memory. Got None instead.",
            parameter="classes",
        )
    if not lazy:
        read_class_probabilities(P, names.p)
    matched = MatchedClasses.of(found, 2, column_labels(P), classes, (names.y, names.p))
    positive = matched.labels[1] if pos_label is None else pos_label
    if positive not in matched.labels:
        raise InvalidValueError(
            f"must be one of the classes, {list(matched.labels)}. Got {pos_label!r} instead.",
            parameter="pos_label",
        )
    at = matched.columns[matched.labels.index(positive)]
    if data is not None:
        return P[at], positive
    if hasattr(P, "columns"):
        return P[P.columns[at]], positive
    return (P if hasattr(P, "shape") else np.asarray(P))[:, at], positive


def table_of_classes(results: Mapping[str, ClassTestResult], name: str) -> pd.DataFrame:
    """Put results of several models into a table, with p-values adjusted for their number."""
    import pandas as pd

    rows = [(r.n, r.pvalue, r.rank, r.statistic, r.clearest) for r in results.values()]
    columns = ["n", "pvalue", "rank", "statistic", "clearest"]
    table = pd.DataFrame(rows, columns=columns, index=pd.Index(list(results), name=name))
    table.insert(2, "pvalue_holm", holm(table["pvalue"]))
    return table
