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
from exactregion.data.outcomes import check_same_rows
from exactregion.data.reading import Values, read_inputs
from exactregion.data.sample import CHUNK_ROWS, Extent, Sample, Shared
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
        check_same_rows(names.p, len(P), names.y, len(codes))
        read: tuple[Values, tuple[str, ...]] = P, tuple(map(str, matched.labels))
        shared: Shared = ()
        if not self.calibration:
            numbers, shared = encode_text(rows.X)
            read = read_inputs(numbers, names.X)
        of_lengths = (names.p if self.calibration else names.X, names.y)
        trials = np.ones(len(codes), dtype=np.int64)
        sample = Sample.ordered(read, trials, codes, of_lengths, shared)
        if not self.calibration:  # predictions that are the inputs leave no ties
            sample = sample.with_ties_ordered_by(P)
        inputs = sample.inputs
        whole = Chunk(0, inputs.X, inputs.trials, sample.successes, P[inputs.order])
        found = None
        if inputs.extent.is_sampled and not isinstance(inputs.X, tuple):
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
