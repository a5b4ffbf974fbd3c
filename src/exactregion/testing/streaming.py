"""The test of one candidate on a source of rows: two passes, memory that does not grow."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.data.counts import COUNTED, MOST_ROWS, Tally, sample_of, tally_of
from exactregion.data.reading import (
    Outcomes,
    Part,
    check_no_label,
    check_total,
    counted,
    find_classes,
    labelled,
    no_trials_error,
    numeric,
    outcome_values,
    read_inputs,
    read_predictions,
)
from exactregion.data.sample import CHUNK_ROWS, Sample, canonical_order
from exactregion.data.sources import Rows, Source
from exactregion.engine.progress import advance, showing
from exactregion.engine.stream import (
    Chunk,
    Glimpse,
    Plan,
    Sums,
    glimpse_of,
    statistics_of_sums,
    sums_of,
    survey_of,
)
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models import fixed_probabilities
from exactregion.resampling import Draws
from exactregion.statistics import Statistic
from exactregion.testing.candidates import CandidateTest, statistics_at_once
from exactregion.testing.groups import count_groups, table_of
from exactregion.testing.result import ExactTestResult, Question, result_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["StreamTest"]

SHOWN_CLASSES = 6
"""Labels that are remembered: two are right, more are for the message."""


@dataclass(frozen=True, eq=False)
class StreamTest:
    """A test on rows that need not be in memory.

    Parameters
    ----------
    source : Source
        The rows.
    statistic : Statistic
        What data sets are ranked by.
    draws : Draws
        The seat and the uniforms.
    seed : int or None
        The integer that the draws came from.
    names : Rows
        What the user calls each part, for messages.
    candidate : classifier, statsmodels results or callable, optional
        Asked for the probabilities of each stretch, where the source does not have them.
    calibration : bool
        Whether the probabilities are the inputs.
    pos_label : object, optional
        The positive class.
    n_jobs : int, optional
        Number of threads.
    progress : bool
        Whether to show how many rows are done.
    """

    source: Source
    statistic: Statistic
    draws: Draws
    seed: int | None
    names: Rows
    candidate: Any = None
    calibration: bool = False
    pos_label: object = None
    n_jobs: int | None = None
    progress: bool = False

    @property
    def is_large(self) -> bool:
        """Whether there are rows for more than one stretch; fewer are better taken to memory."""
        return self.source.n_rows > CHUNK_ROWS

    def in_memory(self) -> Rows:
        """Give all rows of a source that has few of them."""
        if self.source.n_rows == 0:
            raise InvalidValueError("The data must have at least one row. Got 0 instead.")
        return self.source.each(_as_they_are, lambda rows: None)[0]

    def run(self) -> ExactTestResult:
        """Test the candidate on a large source."""
        with showing("test", show=self.progress, unit="rows processed"):
            return self._run()

    def _run(self) -> ExactTestResult:
        reader = _Reader(self.names, self.candidate, self.calibration)
        look = _Look(reader, self.source.n_rows, self.statistic.collapses)
        seen = self.source.total(look, advance, self.n_jobs)
        classes = seen.find_classes(self.pos_label, self.names.y)
        survey = survey_of(
            (seen.glimpses[index] for index in sorted(seen.glimpses)), calibration=self.calibration
        )
        check_total(survey.extent.total, self.names.y)
        if survey.extent.total == 0:
            raise no_trials_error(self.names.y)
        if seen.tally is not None:
            return self._collapsed(seen, classes)
        rule = self.statistic.stream(survey, self.draws.m)
        if rule is None:
            raise InvalidTypeError(
                "must be one that takes rows in pieces, since these are "
                "not in memory: 'multiscale', 'discrepancy' or 'embedding' with a kernel that has "
                "a name, or 'spiegelhalter'; for calibration also 'omnibus', 'score' or "
                f"'curvature'. Got {self.statistic!r} instead.",
                parameter="statistic",
            )
        plan = Plan(tuple(term.columns for term in rule.terms), survey.extent, self.draws)
        sums = self.source.total(_Add(reader, plan, classes), advance, self.n_jobs)
        Z = statistics_of_sums(sums, rule, plan)
        return result_of(Z, self.draws.seat, self._question(seen, *sums.by_probability))

    def _collapsed(self, seen: _Seen, classes: tuple[object, object] | None) -> ExactTestResult:
        """Test on the counts of a few different rows."""
        tally: Any = seen.tally
        if self.candidate is not None:
            p = fixed_probabilities(
                self.candidate, seen.as_given(tally.rows), len(tally.rows), classes
            )
            tally = replace(tally, rows=np.column_stack([tally.rows, p]))
        sample, p = sample_of(tally, COUNTED[0] if classes is None else classes[1])
        prepared = self.statistic.prepare(sample.inputs, self.draws.m)
        Z = statistics_at_once(sample, p, prepared, self.draws, calibration=self.calibration)
        question = self._question(seen, p, sample.successes, sample.inputs.trials)
        return result_of(Z, self.draws.seat, question)

    def _question(self, seen: _Seen, p: FloatArray, successes: Any, trials: Any) -> Question:
        return Question(
            kind="calibration" if self.calibration else "model",
            statistic=repr(self.statistic),
            inputs=seen.columns,
            seed=self.seed,
            probabilities=p,
            successes=successes.astype(np.int64),
            trials=trials.astype(np.int64),
        )

    def run_by_group(self, by: Any) -> pd.DataFrame:
        """Test the predictions of each group, which takes two passes a group and one to count."""
        counts = self.source.each(_count_rows, lambda rows: None, self.n_jobs)
        groups: list[Any] = list(dict.fromkeys(group for count in counts for group in count))
        with suppress(TypeError):  # names and numbers mixed have no order
            groups.sort()
        results = {}
        for group in groups:
            own = self.source.of_group(group, [count.get(group, 0) for count in counts])
            results[group] = replace(self, source=own)._run_group()
        return table_of(results, by if isinstance(by, str) else "group")

    def _run_group(self) -> ExactTestResult:
        if self.is_large:
            return self.run()
        rows = self.in_memory()
        p = read_predictions(rows.p)
        names = (self.names.p, self.names.y)
        sample = Sample.from_data(p, rows.y, pos_label=self.pos_label, names=names)
        test = CandidateTest(sample, self.statistic, self.draws.n_resamples, calibration=True)
        return test.run(p, self.draws.entropy, self.seed)


def _count_rows(index: int, rows: Rows) -> dict[Any, int]:
    return count_groups(rows.by, index * CHUNK_ROWS)


def _as_they_are(index: int, rows: Rows) -> Rows:
    return rows


# --- tasks on a stretch ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Reader:
    """Turns the rows of a stretch into checked values; messages count from the first of all."""

    names: Rows
    candidate: Any
    calibration: bool

    def inputs(self, rows: Rows, part: Part) -> tuple[FloatArray, tuple[str, ...]]:
        if self.calibration:
            return read_predictions(rows.p, self.names.p, part=part)[:, None], ("x",)
        values, columns = read_inputs(rows.X, self.names.X, part=part)
        return numeric(values).reshape(len(values), -1), columns

    def probabilities(
        self, rows: Rows, X: FloatArray, classes: tuple[object, object] | None, part: Part
    ) -> FloatArray:
        if self.calibration:
            return X[:, 0]
        asked = self.candidate if rows.p is None else rows.p
        return fixed_probabilities(asked, rows.X, len(X), classes, first_row=part.first_row)

    def outcomes(self, rows: Rows, part: Part) -> npt.NDArray[Any]:
        return outcome_values(rows.y, self.names.y, part=part)


@dataclass(frozen=True, eq=False)
class _Seen:
    """What the first pass sees in some stretches.

    The form of X is its number of dimensions, 0 for a frame; None where there is no X.
    """

    glimpses: dict[int, Glimpse]
    columns: tuple[str, ...]
    form: int | None
    classes: tuple[object, ...] | None
    kinds: frozenset[str]
    tally: Tally | None

    def __add__(self, other: _Seen) -> _Seen:
        """Put what was seen in other stretches beside it."""
        together = dict.fromkeys((*(self.classes or ()), *(other.classes or ())))
        both = None
        if self.tally is not None and other.tally is not None:
            both = self.tally.merged(other.tally)
        return replace(
            self,
            glimpses=self.glimpses | other.glimpses,
            classes=None if self.classes is None else tuple(together)[:SHOWN_CLASSES],
            kinds=self.kinds | other.kinds,
            tally=both,
        )

    def find_classes(self, pos_label: object, name: str) -> tuple[object, object] | None:
        """Find the classes among the labels of all stretches; None where outcomes are counts."""
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

    def as_given(self, X: FloatArray) -> Any:
        """Give inputs (n, d) the form that the user's have."""
        if self.form == 0:
            import pandas as pd

            return pd.DataFrame(X, columns=list(self.columns))
        return X[:, 0] if self.form == 1 else X


@dataclass(frozen=True, eq=False)
class _Look:
    """The first pass over a stretch."""

    reader: _Reader
    n_rows: int
    collapses: bool

    def __call__(self, index: int, rows: Rows) -> _Seen:
        part = Part(index * CHUNK_ROWS)
        X, columns = self.reader.inputs(rows, part)
        y = self.reader.outcomes(rows, part)
        found = None if y.ndim == 2 else tuple(np.unique(y)[:SHOWN_CLASSES].tolist())
        trials = y.sum(axis=1) if found is None else np.ones(len(y), dtype=np.int64)
        if found is not None and X.shape[1] == 1:
            ordered = np.sort(X, axis=0), trials  # much faster than to find the order
        else:
            order = canonical_order(X, trials, large=True)
            ordered = X[order], trials[order]
        tally = None
        if self.collapses and _repeats(ordered[0]):
            tally = self._tally(rows, X, y, found, part)
        form = None if rows.X is None else 0 if hasattr(rows.X, "columns") else np.ndim(rows.X)
        return _Seen(
            {index: glimpse_of(index, *ordered, self.n_rows)},
            columns,
            form,
            found,
            frozenset(y.dtype.kind),
            tally,
        )

    def _tally(
        self,
        rows: Rows,
        X: FloatArray,
        y: npt.NDArray[Any],
        found: tuple[object, ...] | None,
        part: Part,
    ) -> Tally | None:
        """Tally inputs and probabilities; inputs alone where a candidate has yet to be asked."""
        if self.reader.calibration or rows.p is not None:
            X = np.column_stack([X, self.reader.probabilities(rows, X, None, part)])
        counts = y if found is None else np.column_stack([y == label for label in found])
        order = np.argsort(X[:, 0])
        return tally_of(X[order], counts[order], COUNTED if found is None else found)


def _repeats(X: FloatArray) -> bool:
    """Say whether sorted inputs repeat so often that it pays to count them."""
    return int(np.count_nonzero((X[1:] != X[:-1]).any(axis=1))) < MOST_ROWS


@dataclass(frozen=True, eq=False)
class _Add:
    """The second pass over a stretch."""

    reader: _Reader
    plan: Plan
    classes: tuple[object, object] | None

    def __call__(self, index: int, rows: Rows) -> Sums:
        part = Part(index * CHUNK_ROWS)
        X, _ = self.reader.inputs(rows, part)
        outcomes = self._outcomes(self.reader.outcomes(rows, part))
        p = self.reader.probabilities(rows, X, self.classes, part)
        ties = () if self.reader.calibration else (p,)
        order = canonical_order(X, outcomes.trials, *ties, large=True)
        stretch = Chunk(
            index, X[order], outcomes.trials[order], outcomes.successes[order], p[order]
        )
        return sums_of(stretch, self.plan)

    def _outcomes(self, y: npt.NDArray[Any]) -> Outcomes:
        return counted(y) if self.classes is None else labelled(y, self.classes)
