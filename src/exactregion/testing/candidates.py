"""The test of fixed candidates on data in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.counts import collapsed
from exactregion.data.sample import Sample
from exactregion.data.workers import answers
from exactregion.engine import statistics_of
from exactregion.engine.stream import (
    Plan,
    chunks_of,
    glimpse_of,
    statistics_of_sums,
    sums_of,
    survey_of,
)
from exactregion.models import Recalibration
from exactregion.resampling import Draws, Resampling
from exactregion.statistics import Candidates, PreparedStatistic, Statistic
from exactregion.testing.result import ExactTestResult, Question, result_of

__all__ = ["CandidateTest", "statistics_at_once"]


@dataclass(frozen=True, eq=False)
class CandidateTest:
    """What tests of several fixed candidates on the same data share.

    Parameters
    ----------
    sample : Sample
        The data.
    statistic : Statistic
        What data sets are ranked by.
    n_resamples : int
        Number of alternatives.
    calibration : bool
        Whether the inputs are the probabilities themselves.
    n_jobs : int, optional
        Number of threads that work on many rows.
    """

    sample: Sample
    statistic: Statistic
    n_resamples: int
    calibration: bool = False
    n_jobs: int | None = None
    _last: dict[str, Any] = field(default_factory=dict, repr=False)

    def run(
        self, probabilities: FloatArray, entropy: int, seed: int | None = None
    ) -> ExactTestResult:
        """Test probabilities in the order of the user's rows."""
        # predictions that are the inputs leave no ties
        sample = (
            self.sample if self.calibration else self.sample.with_ties_ordered_by(probabilities)
        )
        draws = Draws(self.n_resamples, entropy)
        if self._last.get("inputs") is not sample.inputs:
            self._last.clear()
            self._last["inputs"] = sample.inputs
        Z = self._statistics(sample, probabilities[sample.inputs.order], draws)
        return result_of(Z, draws.seat, self._question(probabilities, seed))

    def _statistics(self, sample: Sample, p: FloatArray, draws: Draws) -> FloatArray:
        """Choose how to work: a function of the size of the data and of what repeats in them."""
        small = collapsed(sample, p) if self.statistic.collapses else None
        if small is not None:
            prepared = self.statistic.prepare(small[0].inputs, draws.m)
            return statistics_at_once(*small, prepared, draws, calibration=self.calibration)
        Z = self._streamed(sample, p, draws)
        if Z is not None:
            return Z
        if "prepared" not in self._last:
            self._last["prepared"] = self.statistic.prepare(sample.inputs, draws.m)
        prepared = self._last["prepared"]
        return statistics_at_once(sample, p, prepared, draws, calibration=self.calibration)

    def _streamed(self, sample: Sample, p: FloatArray, draws: Draws) -> FloatArray | None:
        """Work stretch by stretch, as if the rows were not in memory; None where it cannot be."""
        inputs = sample.inputs
        if not inputs.extent.is_large or isinstance(inputs.X, tuple):
            return None
        if "survey" not in self._last:
            glimpses = (
                glimpse_of(stretch.index, stretch.X, stretch.trials, len(sample))
                for stretch in chunks_of(sample, p)
            )
            survey = survey_of(glimpses, calibration=self.calibration, shared=inputs.shared)
            self._last.update(survey=survey, rule=self.statistic.stream(survey, draws.m))
        rule = self._last["rule"]
        if rule is None:
            return None
        columns = tuple(term.columns for term in rule.terms)
        plan = Plan(columns, self._last["survey"].extent, draws)
        parts = answers(lambda stretch: sums_of(stretch, plan), chunks_of(sample, p), self.n_jobs)
        return statistics_of_sums(reduce(add, parts), rule, plan)

    def _question(self, probabilities: FloatArray, seed: int | None) -> Question:
        inputs = self.sample.inputs
        return Question(
            kind="calibration" if self.calibration else "model",
            statistic=repr(self.statistic),
            inputs=inputs.names,
            seed=seed,
            probabilities=probabilities,
            successes=inputs.to_user_order(self.sample.successes),
            trials=inputs.to_user_order(inputs.trials),
        )


def statistics_at_once(
    sample: Sample,
    probabilities: FloatArray,
    prepared: PreparedStatistic,
    draws: Draws,
    *,
    calibration: bool,
) -> FloatArray:
    """Compute Z of the m data sets of one candidate, with all rows at hand: shape (m,)."""
    candidates = Candidates(
        sample.inputs,
        probabilities[None],
        sample.is_counts,
        Recalibration() if calibration else None,
        np.array([[0.0, 1.0]]) if calibration else None,
    )
    resampling = Resampling(sample, draws.n_resamples, draws.entropy)
    Z: FloatArray = statistics_of(candidates, resampling, prepared)[0]
    return Z
