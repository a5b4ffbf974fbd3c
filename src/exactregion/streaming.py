"""The test of one candidate on a source of rows: two passes, memory that does not grow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray
from exactregion.engine.stream import (
    Glimpse,
    Plan,
    Stretch,
    Sums,
    glimpse_of,
    statistics_of_sums,
    sums_of,
    survey_of,
)
from exactregion.errors import InvalidTypeError
from exactregion.models import fixed_probabilities
from exactregion.reading import (
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
from exactregion.resampling import Draws
from exactregion.result import ExactTestResult, Question, result_of
from exactregion.sample import SORT_ROWS, canonical_order
from exactregion.sources import Rows, Source
from exactregion.statistics import Statistic

__all__ = ["stream_test"]

SHOWN_CLASSES = 6
"""Labels of a stretch that are remembered: two are right, more are for the message."""


def stream_test(
    source: Source,
    statistic: Statistic,
    draws: Draws,
    *,
    names: Rows,
    candidate: Any = None,
    calibration: bool = False,
    pos_label: object = None,
    seed: int | None = None,
    n_jobs: int | None = None,
    done: Callable[[int], None] = lambda rows: None,
) -> ExactTestResult:
    """Test a candidate on rows that come in stretches.

    Parameters
    ----------
    source : Source
        More than one stretch of rows.
    statistic : Statistic
        One that streams.
    draws : Draws
        The seat and the uniforms.
    names : Rows
        What the user calls each part, for messages.
    candidate : classifier, statsmodels results or callable, optional
        Asked for the probabilities of each stretch, where the source does not have them.
    calibration : bool
        Whether the probabilities are the inputs.
    pos_label : object, optional
        The positive class.
    seed : int, optional
        The integer that the draws came from.
    n_jobs : int, optional
        Number of threads.
    done : callable
        Told the number of rows when a stretch is done; each row comes twice.
    """
    reader = _Reader(names, candidate, calibration)
    looks = source.each(_Look(reader, source.n_rows), done, n_jobs)
    classes = _classes_of(looks, pos_label, names.y)
    survey = survey_of((look.glimpse for look in looks), calibration=calibration)
    check_total(survey.extent.total, names.y)
    if survey.extent.total == 0:
        raise no_trials_error(names.y)
    rule = statistic.stream(survey, draws.m)
    if rule is None:
        raise InvalidTypeError(
            "The 'statistic' parameter must be one that takes rows in pieces, since these are not "
            "in memory: 'discrepancy' or 'embedding' with a kernel that has a name, or "
            "'spiegelhalter'; for calibration also 'omnibus' or 'score'. "
            f"Got {statistic!r} instead."
        )
    plan = Plan(tuple(term.columns for term in rule.terms), survey.extent, draws)
    sums: Sums = source.total(_Add(reader, plan, classes), done, n_jobs)
    Z = statistics_of_sums(sums, rule, plan)
    expected, successes, trials = sums.bins[:, sums.bins[2] > 0]
    question = Question(
        kind="calibration" if calibration else "model",
        statistic=repr(statistic),
        inputs=looks[0].columns,
        seed=seed,
        probabilities=expected / trials,
        successes=successes.astype(np.int64),
        trials=trials.astype(np.int64),
    )
    return result_of(Z, draws.seat, question)


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
    """What the first pass sees in a stretch."""

    glimpse: Glimpse
    columns: tuple[str, ...]
    classes: tuple[object, ...] | None
    kind: str


@dataclass(frozen=True, eq=False)
class _Look:
    """The first pass over a stretch."""

    reader: _Reader
    n_rows: int

    def __call__(self, index: int, rows: Rows) -> _Seen:
        part = Part(index * SORT_ROWS)
        X, columns = self.reader.inputs(rows, part)
        y = self.reader.outcomes(rows, part)
        if y.ndim == 2:
            trials, found = y.sum(axis=1), None
            order = canonical_order(X, trials)
            X, trials = X[order], trials[order]
        else:
            trials = np.ones(len(y), dtype=np.int64)
            found = tuple(np.unique(y)[:SHOWN_CLASSES].tolist())
            X = np.sort(X, axis=0) if X.shape[1] == 1 else X[canonical_order(X, trials)]
        glimpse = glimpse_of(index, X, trials, self.n_rows)
        return _Seen(glimpse, columns, found, y.dtype.kind)


@dataclass(frozen=True, eq=False)
class _Add:
    """The second pass over a stretch."""

    reader: _Reader
    plan: Plan
    classes: tuple[object, object] | None

    def __call__(self, index: int, rows: Rows) -> Sums:
        part = Part(index * SORT_ROWS)
        X, _ = self.reader.inputs(rows, part)
        outcomes = self._outcomes(self.reader.outcomes(rows, part))
        p = self.reader.probabilities(rows, X, self.classes, part)
        ties = () if self.reader.calibration else (p,)
        order = canonical_order(X, outcomes.trials, *ties)
        stretch = Stretch(
            index, X[order], outcomes.trials[order], outcomes.successes[order], p[order]
        )
        return sums_of(stretch, self.plan)

    def _outcomes(self, y: npt.NDArray[Any]) -> Outcomes:
        return counted(y) if self.classes is None else labelled(y, self.classes)


def _classes_of(looks: list[_Seen], pos_label: object, name: str) -> tuple[object, object] | None:
    """Find the classes among the labels of all stretches; None where outcomes are counts."""
    if looks[0].classes is None:
        check_no_label(pos_label, name)
        return None
    found: set[Any] = set().union(*(look.classes or () for look in looks))
    kinds = {look.kind for look in looks}
    kind = kinds.pop() if len(kinds) == 1 else "f" if kinds <= set("biuf") else "O"
    ordered = sorted(found, key=lambda label: (isinstance(label, str), label))
    return find_classes(ordered, kind, pos_label, name)
