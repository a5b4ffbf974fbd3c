"""Tests of a fixed candidate, on rows from any source.

Few rows are read into memory. More than one chunk of them, from arrays, files or a cluster, are
gone through in passes: for a summary of the inputs, and for the sums over all data sets. Many rows
with few different inputs become a small data set of counts. Which of these runs is a function of
the size of the data and of what repeats in them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, Literal, TypeVar

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.counts import COUNTED, collapsed, sample_of
from exactregion.data.frames import encode_text
from exactregion.data.outcomes import check_total, no_trials_error
from exactregion.data.reading import read_predictions
from exactregion.data.sample import CHUNK_ROWS, Inputs, Sample, Shared
from exactregion.data.sources import Rows, Source
from exactregion.data.workers import number_of_workers
from exactregion.engine.blocks import statistics_with_parts
from exactregion.engine.chunks import Chunk, ChunkPlan, ChunkSums, sums_of_chunk
from exactregion.engine.classes import calibrated_family
from exactregion.engine.progress import advance, showing
from exactregion.engine.terms import PreparedStatistic
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.features.landmarks import ChunkSummary, InputSummary, summary_of_chunk
from exactregion.models import fixed_probabilities
from exactregion.resampling import Draws, Resampling
from exactregion.statistics import Candidates, Statistic, names_of_statistics
from exactregion.testing.chunks import (
    FirstLook,
    FirstPass,
    Reader,
    Total,
    total_in_memory,
    total_of_source,
)
from exactregion.testing.groups import count_groups, rows_of_groups
from exactregion.testing.result import ExactTestResult, Question, RankedResult, result_of

S = TypeVar("S")
R = TypeVar("R", bound=RankedResult)


@dataclass(frozen=True, eq=False)
class FixedTest(ABC, Generic[S, R]):
    """What a test of a candidate is made of, besides the rows."""

    statistic: S
    draws: Draws
    names: Rows  # what the user calls each part of the data, for messages
    seed: int | None = None  # the integer that the draws came from
    candidate: Any = None  # evaluated on the inputs, where the rows do not hold probabilities
    calibration: bool = False  # whether the probabilities are the inputs
    n_jobs: int | None = None  # threads that work on chunks
    progress: bool = False

    def __post_init__(self) -> None:
        """Check the number of threads before any work."""
        number_of_workers(self.n_jobs)

    def run(self, rows: Rows | Source) -> R:
        """Test the candidate on all rows."""
        if isinstance(rows, Source) and rows.n_rows > CHUNK_ROWS:
            with showing("test", show=self.progress, unit="rows processed"):
                return self._on_source(rows)
        return self._in_memory(as_rows(rows))

    @abstractmethod
    def _in_memory(self, rows: Rows) -> R:
        """Test the candidate on rows in memory, which are not checked yet."""

    @abstractmethod
    def _on_source(self, source: Source) -> R:
        """Test the candidate by passes over the chunks of a source."""

    @property
    def kind(self) -> Literal["model", "calibration"]:
        """What is tested."""
        return "calibration" if self.calibration else "model"

    @property
    def _reader(self) -> Reader:
        return Reader(self.names, self.candidate, self.calibration)


def as_rows(rows: Rows | Source) -> Rows:
    """Read all rows of a source that has few of them."""
    if isinstance(rows, Rows):
        return rows
    if rows.n_rows == 0:
        raise InvalidValueError("The data must have at least one row. Got 0 instead.")
    return rows.each(lambda index, chunk: chunk, lambda number: None)[0]


@dataclass(frozen=True, eq=False)
class CandidateTest(FixedTest[Statistic, ExactTestResult]):
    """A test with labels of two classes, or with counts."""

    pos_label: object = None
    _prepared: list[tuple[Inputs, PreparedStatistic]] = field(default_factory=list, repr=False)

    def run_by_group(self, rows: Rows | Source) -> dict[Any, ExactTestResult]:
        """Test the candidate on each group of rows."""
        if isinstance(rows, Source) and rows.n_rows > CHUNK_ROWS:
            return dict(self._on_groups_of(rows))
        known = as_rows(rows)
        sample, p = self._read(known)
        results = {}
        for group, group_rows in rows_of_groups(known.by, len(sample)).items():
            part = sample.part(group_rows)
            if part.inputs.total == 0:
                raise InvalidValueError(
                    "must have groups with at least one trial each. Got a group with none instead, "
                    f"{group!r}: leave it out.",
                    parameter=self.names.by,
                )
            results[group] = self._of_group(group).on_sample(part, p[group_rows])
        return results

    # --- rows in memory ---

    def _in_memory(self, rows: Rows) -> ExactTestResult:
        return self.on_sample(*self._read(rows))

    def _read(self, rows: Rows) -> tuple[Sample, FloatArray]:
        """Read rows into memory: the sample, and probabilities in the order of the user's rows."""
        if self.calibration:
            p = read_predictions(rows.p)
            names = (self.names.p, self.names.y)
            given = (p, ("x",))
            sample = Sample.of_inputs(given, rows.y, self.pos_label, names, n_jobs=self.n_jobs)
            return sample, p
        numbers, shared = encode_text(rows.X)
        sample = Sample.from_data(
            numbers, rows.y, pos_label=self.pos_label, shared=shared, n_jobs=self.n_jobs
        )
        candidate = self.candidate if rows.p is None else rows.p
        return sample, fixed_probabilities(candidate, rows.X, len(sample), sample.classes)

    def on_sample(self, sample: Sample, probabilities: FloatArray) -> ExactTestResult:
        """Test probabilities in the order of the user's rows."""
        question = self._question(sample.inputs.names, probabilities, *sample.user_outcomes)
        if self.calibration:  # predictions that are the inputs leave no ties
            return self._result(self._statistics(sample, sample.inputs.matrix[:, 0]), question)
        sample = sample.with_ties_ordered_by(probabilities)
        p = probabilities[sample.inputs.order]
        return self._result(self._statistics(sample, p), question)

    def _result(self, Zs: list[FloatArray], question: Question) -> ExactTestResult:
        """Rank the original by the statistic, and by each of its parts."""
        parts = zip(self.statistic.parts, Zs[1:], strict=True)
        return result_of(Zs[0], self.draws.seat, question, parts)

    def _statistics(self, sample: Sample, p: FloatArray) -> list[FloatArray]:
        """Compute Z (m,) of the data sets and of the parts, with p in canonical order."""
        small = collapsed(sample, p) if self.statistic.merges_equal_rows else None
        if small is not None:
            return self._at_once(*small)
        inputs = sample.inputs
        objects = isinstance(inputs.X, tuple)
        if objects or self.statistic.needs_all_rows or not inputs.extent.is_sampled:
            return self._at_once(sample, p)
        whole = Chunk(0, inputs.matrix, inputs.trials, sample.successes, p)
        total = total_in_memory(whole, self.n_jobs)
        summaries = total(partial(_summaries, len(sample)))
        found = self._by_chunks(summaries, total, inputs.shared, with_bins=False)
        return self._at_once(sample, p) if found is None else found[0]

    def _at_once(self, sample: Sample, p: FloatArray) -> list[FloatArray]:
        """Compute Z with all rows in memory at once."""
        inputs = sample.inputs
        if not self._prepared or self._prepared[0][0] is not inputs:
            # several candidates on the same inputs share what depends on inputs alone
            prepared = PreparedStatistic.of(self.statistic, inputs, self.draws.m)
            self._prepared[:] = [(inputs, prepared)]
        family = calibrated_family(self.calibration)
        candidates = Candidates(inputs, p[None], sample.is_counts, *family)
        # used once: there is no need to keep uniforms
        resampling = Resampling(sample, self.draws.n_resamples, self.draws.entropy, cache_bytes=0)
        found = statistics_with_parts(candidates, resampling, self._prepared[0][1])
        return [Z[0] for Z in found]

    # --- rows in chunks ---

    def _on_source(self, source: Source) -> ExactTestResult:
        look = FirstPass(self._reader, source.n_rows, self.statistic.merges_equal_rows)
        seen = source.total(look, advance, self.n_jobs)
        classes = seen.labels.find_classes(self.pos_label, self.names.y)
        total = sum(summary.extent.total for summary in seen.summaries.values())
        check_total(total, self.names.y)
        if total == 0:
            raise no_trials_error(self.names.y)
        if seen.tally is not None:
            return self._on_tally(seen, classes)
        total_of = total_of_source(source, replace(self._reader, classes=classes), self.n_jobs)
        summaries = [seen.summaries[index] for index in sorted(seen.summaries)]
        found = None if self.statistic.needs_all_rows else self._by_chunks(summaries, total_of)
        if found is None:
            raise self._needs_all_rows_error()
        Zs, summed = found
        return self._result(Zs, self._question(seen.columns, *summed.by_probability))

    def _by_chunks(
        self,
        summaries: Iterable[ChunkSummary],
        total: Total,
        shared: Shared = (),
        *,
        with_bins: bool = True,
    ) -> tuple[list[FloatArray], ChunkSums] | None:
        """Compute Z by a pass over all chunks; None where all rows must be in memory."""
        summary = InputSummary.of_chunks(summaries, calibration=self.calibration, shared=shared)
        plan = ChunkPlan.of(
            self.statistic, summary, self.draws, *calibrated_family(self.calibration)
        )
        if plan is None:
            return None
        summed = total(partial(sums_of_chunk, plan=plan, with_bins=with_bins))
        return plan.statistics(summed), summed

    def _on_tally(self, seen: FirstLook, classes: tuple[object, object] | None) -> ExactTestResult:
        """Test on the counts of a few different rows."""
        tally: Any = seen.tally
        if self.candidate is not None:
            p = fixed_probabilities(
                self.candidate, seen.as_given(tally.rows), len(tally.rows), classes
            )
            tally = replace(tally, rows=np.column_stack([tally.rows, p]))
        sample, p = sample_of(tally, COUNTED[0] if classes is None else classes[1])
        question = self._question(seen.columns, p, sample.successes, sample.inputs.trials)
        return self._result(self._at_once(sample, p), question)

    def _on_groups_of(self, source: Source) -> Iterator[tuple[Any, ExactTestResult]]:
        """Test each group, which takes two passes per group and one to count."""
        counts = source.each(count_groups, lambda rows: None, self.n_jobs)
        groups: list[Any] = list(dict.fromkeys(group for count in counts for group in count))
        with suppress(TypeError):  # names and numbers mixed have no order
            groups.sort()
        for group in groups:
            part = source.of_group(group, [count.get(group, 0) for count in counts])
            yield group, self._of_group(group).run(part)

    def _of_group(self, group: Any) -> CandidateTest:
        """Return the test with draws of its own: groups with one seat would err together."""
        return replace(self, draws=self.draws.of_group(group))

    def _needs_all_rows_error(self) -> InvalidTypeError:
        if not self.statistic.needs_all_rows:
            return InvalidTypeError(
                "must have terms with a bound where rows come in chunks, as these do. "
                f"Got {self.statistic!r} instead, whose columns may have any size.",
                parameter="statistic",
            )
        kinds = {} if self.calibration else {"needs_family": False}
        return InvalidTypeError(
            "must be one that takes rows in chunks, since these are not in memory: one of "
            f"{names_of_statistics(needs_all_rows=False, **kinds)}, with a kernel that has a name, "
            f"or one of your own whose terms have a bound. Got {self.statistic!r} instead.",
            parameter="statistic",
        )

    def _question(
        self, columns: tuple[str, ...], p: FloatArray, successes: Any, trials: Any
    ) -> Question:
        return Question(
            kind=self.kind,
            statistic=repr(self.statistic),
            inputs=columns,
            seed=self.seed,
            probabilities=p,
            successes=successes.astype(np.int64, copy=False),
            trials=trials.astype(np.int64, copy=False),
        )


def _summaries(n: int, chunk: Chunk) -> list[ChunkSummary]:
    return [summary_of_chunk(chunk.index, chunk.X, chunk.trials, n)]
