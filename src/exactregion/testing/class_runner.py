"""One test of a fixed candidate with several classes, on rows from any source.

Rows in chunks are gone through for the labels, unless the classes are known; for a summary of the
inputs; and for the sums over all data sets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.data.classes import MatchedClasses, read_matched
from exactregion.data.frames import encode_text
from exactregion.data.reading import Values, check_same_rows, read_inputs
from exactregion.data.sample import CHUNK_ROWS, Extent, Inputs, Shared, canonical_order, rows_at
from exactregion.data.sources import Rows, Source
from exactregion.engine.chunks import Chunk, ChunkPlan
from exactregion.engine.classes import (
    ClassPlan,
    calibrated_family,
    inputs_of_view,
    measured_at_once,
    shares_of,
    sums_of_classes,
)
from exactregion.errors import InvalidTypeError
from exactregion.features.landmarks import ChunkSummary, InputSummary, summary_of_chunk
from exactregion.models.fixed import class_values
from exactregion.statistics import Statistic
from exactregion.statistics.classes import ClassStatistic, Measured, View
from exactregion.testing.chunks import (
    Total,
    matched_in_source,
    tie_breakers,
    total_in_memory,
    total_of_source,
)
from exactregion.testing.class_result import ClassTestResult, class_result
from exactregion.testing.runner import FixedTest


@dataclass(frozen=True, eq=False)
class ClassTest(FixedTest[ClassStatistic, ClassTestResult]):
    """A test with more than two classes."""

    classes: Any = None  # of the columns, as the user named them

    # --- rows in memory ---

    def _in_memory(self, rows: Rows) -> ClassTestResult:
        names = self.names
        given, classes = self._given(rows), self._known_classes
        matched, codes, P = read_matched(rows.y, given, classes, (names.y, names.p))
        values: Values = P
        columns: tuple[str, ...] = tuple(map(str, matched.labels))
        shared: Shared = ()
        if not self.calibration:
            numbers, shared = encode_text(rows.X)
            values, columns = read_inputs(numbers, names.X)
        for name, length in ((names.p, len(P)), (names.X, len(values))):
            check_same_rows(name, length, names.y, len(codes))
        trials = np.ones(len(P), dtype=np.int64)
        order = canonical_order(values, trials, *(() if self.calibration else tie_breakers(P)))
        inputs = Inputs(rows_at(values, order), trials, columns, order, shared)
        whole = Chunk(0, inputs.X, trials, codes[order], P[order])
        found = None
        if len(P) > CHUNK_ROWS and not isinstance(values, tuple):
            table = replace(whole, X=inputs.matrix)
            found = self._by_chunks(total_in_memory(table, self.n_jobs), matched, len(P))
        if found is None:
            measured = measured_at_once(whole, inputs, self.statistic, self.draws)
            found = self._result(*measured, shares_of(whole), matched, len(P))
        return replace(found, probabilities=P, outcomes=codes)

    def _given(self, rows: Rows) -> Any:
        """Return probabilities as the user or the candidate gives them."""
        return rows.p if self.candidate is None else class_values(self.candidate, rows.X)

    # --- rows in chunks ---

    def _on_source(self, source: Source) -> ClassTestResult:
        P = self._given(next(source.chunks()))
        matched = matched_in_source(source, P, self._known_classes, self.names, self.n_jobs)
        total = total_of_source(source, replace(self._reader, matched=matched), self.n_jobs)
        result = self._by_chunks(total, matched, source.n_rows)
        if result is None:
            raise InvalidTypeError(
                "must be one that takes rows in chunks, since these are not in memory. "
                f"Got {self.statistic!r} instead.",
                parameter="statistic",
            )
        return result

    def _by_chunks(self, total: Total, matched: MatchedClasses, n: int) -> ClassTestResult | None:
        """Test by two passes over all chunks; None where all rows must be in memory."""
        views = list(dict.fromkeys(self.statistic.views(len(matched))))
        if any(binary.needs_all_rows for _, binary in views):
            return None
        inputs = tuple(dict.fromkeys(_inputs_key(view) for view, _ in views))
        look = total(partial(_summarised, views=inputs, n=n))
        made: dict[tuple[View, Statistic], ChunkPlan] = {}  # views that share inputs share a plan
        for view, binary in views:
            key = _inputs_key(view)
            if (key, binary) not in made:
                summary = InputSummary.of_chunks(
                    look.in_order(key), calibration=view.by_probability
                )
                plan = ChunkPlan.of(
                    binary, summary, self.draws, *calibrated_family(view.by_probability)
                )
                if plan is None:
                    return None
                made[key, binary] = plan
        extent = Extent.together(
            Extent.of(np.ones(min(CHUNK_ROWS, n - start), dtype=np.int64))
            for start in range(0, n, CHUNK_ROWS)
        )
        plans = tuple((view, made[_inputs_key(view), binary]) for view, binary in views)
        whole = ClassPlan(plans, tuple(self.statistic.sums()), extent, self.draws)
        sums = total(partial(sums_of_classes, plan=whole))
        shares = np.sum([sums.shares[index] for index in sorted(sums.shares)], axis=0)
        return self._result(*whole.measured(sums, views, len(matched)), shares, matched, n)

    # --- both ---

    @property
    def _known_classes(self) -> Any:
        """The classes of the columns, where the user or the candidate says so."""
        known = getattr(self.candidate, "classes_", None)
        return known if self.classes is None else self.classes

    def _result(
        self,
        measured: Measured,
        impossible: BoolArray,
        shares: FloatArray,
        matched: MatchedClasses,
        n: int,
    ) -> ClassTestResult:
        about: dict[str, Any] = {"classes": matched.labels, "n": n, "kind": self.kind}
        seat = self.draws.seat
        return class_result(
            measured, impossible, shares, seat, self.statistic, seed=self.seed, **about
        )


def _inputs_key(view: View) -> View:
    """Return what names the inputs of a view: those that share them share a summary."""
    return view if view.by_probability else View(None, by_probability=False)


@dataclass(frozen=True, eq=False)
class _Summaries:
    """Summaries of the inputs of each view, by chunk."""

    of_chunks: dict[int, dict[View, ChunkSummary]]

    def __add__(self, other: _Summaries) -> _Summaries:
        return _Summaries(self.of_chunks | other.of_chunks)

    def in_order(self, key: View) -> list[ChunkSummary]:
        """Return the summaries of one kind of inputs, in the order of chunks."""
        return [self.of_chunks[index][key] for index in sorted(self.of_chunks)]


def _summarised(chunk: Chunk, views: tuple[View, ...], n: int) -> _Summaries:
    found = {
        view: summary_of_chunk(chunk.index, inputs_of_view(chunk, view), chunk.trials, n)
        for view in views
    }
    return _Summaries({chunk.index: found})
