"""Exact tests of one candidate: any probability model, or the calibration of predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.engine import statistics_of
from exactregion.engine.stream import (
    Plan,
    glimpse_of,
    statistics_of_sums,
    stretches_of,
    sums_of,
    survey_of,
)
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.frames import encode_text
from exactregion.models import Recalibration, fixed_probabilities
from exactregion.reading import read_inputs
from exactregion.resampling import (
    Draws,
    Resampling,
    RNGLike,
    check_n_resamples,
    fresh_entropy,
    integer_seed,
)
from exactregion.result import ExactTestResult, Question, result_of
from exactregion.sample import Sample
from exactregion.statistics import Candidates, Statistic, as_statistic
from exactregion.subgroups import table_by_group

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["calibration_test", "compare", "model_test"]


def model_test(
    candidate: Any,
    X: Any,
    y: Any,
    *,
    statistic: str | Statistic | Any = "discrepancy",
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
) -> ExactTestResult:
    """Test whether a candidate can be the true P(Y=+1|x), exactly at every sample size.

    Alternative outcomes are drawn from the candidate; if it is true, the outcomes observed are one
    more draw, and the rank of their statistic among the m = n_resamples + 1 is uniform on 1..m.

    Parameters
    ----------
    candidate : array-like of shape (n,), classifier, statsmodels results, or callable X -> (n,)
        Probabilities of the positive class. **The candidate must not have been fitted on this y**:
        for a
        fitted model X and y must be held out, or the test is not exact (it rejects too seldom).
    X : array-like of shape (n,) or (n, d), frame, or sequence of n objects
        Inputs; the statistic looks for structure in them. The candidate is given them as they are;
        for the statistic, text columns of a frame become indicators of their levels (at most 50),
        and dates become days.
    y : array-like of shape (n,) or (n, 2)
        Labels (-1/+1, 0/1, booleans, or two classes with `pos_label`), or successes and failures.
    statistic : str, Statistic or callable (labels (m, n), probabilities (n,), X) -> Z (m,)
        "discrepancy", "embedding" or "neighborhood", or an object of `exactregion.statistics`.
    n_resamples : int
        Number of alternatives.
    rng : int, Generator, SeedSequence or None
        Seed; the same seed gives the same result.
    pos_label : object, optional
        The positive class of y.

    Returns
    -------
    ExactTestResult

    Notes
    -----
    Ties are broken by the random seat of the original, which is what makes the p-value exact where
    Z has few values. Where all data sets are alike (probabilities of 0 and 1 that all came true),
    the seat alone decides, and the p-value says nothing about the candidate. An outcome that the
    candidate holds impossible has Z = ∞ and gives the smallest p-value, 1/m.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> x = np.linspace(-2, 2, 40)
    >>> y = np.random.default_rng(1).random(40) < 1 / (1 + np.exp(-2 * x))
    >>> er.model_test(lambda x: 1 / (1 + np.exp(-2 * x)), x, y, rng=0).pvalue > 0.05
    True
    >>> er.model_test(np.full(40, 0.5), x, y, rng=0).pvalue
    0.003
    """
    numbers, shared = encode_text(X)
    sample = Sample.from_data(numbers, y, pos_label=pos_label, shared=shared)
    test = _FixedTest(sample, as_statistic(statistic), check_n_resamples(n_resamples))
    return test.run(fixed_probabilities(candidate, X, len(sample), sample.classes), rng)


def compare(
    candidates: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    statistic: str | Statistic | Any = "discrepancy",
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
) -> pd.DataFrame:
    """Test several candidates on the same data with the same draws.

    Each row is what `model_test` gives for that candidate with this seed. Each p-value is exact on
    its own; they are not adjusted for the number of candidates.

    Parameters
    ----------
    candidates : mapping of name to candidate
        As for `model_test`.
    X, y, statistic, n_resamples, rng, pos_label
        As for `model_test`.

    Returns
    -------
    pandas.DataFrame
        One row a candidate, with pvalue, rank and statistic.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> x = np.linspace(-2, 2, 40)
    >>> y = np.random.default_rng(1).random(40) < 1 / (1 + np.exp(-2 * x))
    >>> table = er.compare(
    ...     {"steep": lambda x: 1 / (1 + np.exp(-2 * x)), "flat": np.full(40, 0.5)}, x, y, rng=0
    ... )
    >>> table.loc["flat", "pvalue"]
    np.float64(0.003)
    """
    import pandas as pd

    if not isinstance(candidates, Mapping):
        raise InvalidTypeError(
            "The 'candidates' parameter must be a dict of name to candidate. "
            f"Got {type(candidates).__name__} instead."
        )
    if not candidates:
        raise InvalidValueError(
            "The 'candidates' parameter must have at least one candidate. Got none instead."
        )
    numbers, shared = encode_text(X)
    sample = Sample.from_data(numbers, y, pos_label=pos_label, shared=shared)
    test = _FixedTest(sample, as_statistic(statistic), check_n_resamples(n_resamples))
    asked = {
        name: fixed_probabilities(candidate, X, len(sample), sample.classes)
        for name, candidate in candidates.items()
    }
    seed = fresh_entropy(rng)
    results = {name: test.run_with(probabilities, seed) for name, probabilities in asked.items()}
    rows = {name: (r.pvalue, r.rank, r.statistic) for name, r in results.items()}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["pvalue", "rank", "statistic"])
    return table.rename_axis("candidate")


@overload
def calibration_test(
    y_true: Any,
    y_prob: Any,
    *,
    by: None = None,
    statistic: str | Statistic | Any | None = None,
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
) -> ExactTestResult: ...
@overload
def calibration_test(
    y_true: Any,
    y_prob: Any,
    *,
    by: Any,
    statistic: str | Statistic | Any | None = None,
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
) -> pd.DataFrame: ...
def calibration_test(
    y_true: Any,
    y_prob: Any,
    *,
    by: Any = None,
    statistic: str | Statistic | Any | None = None,
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
) -> ExactTestResult | pd.DataFrame:
    """Test whether predicted probabilities are calibrated, P(Y=+1|p) = p, exactly at every n.

    The predicted probability is the input. The default statistic asks four questions at once and
    listens to the clearest answer (`statistics.Omnibus`): the score of the recalibration family
    expit(a + b logit p) at (0, 1), for shifted and stretched predictions; Spiegelhalter's
    statistic, for over- and under-confidence; and a wide and a narrow kernel on p, for any other
    miscalibration. An outcome that contradicts a prediction of exactly 0 or 1 gives the smallest
    p-value there is, 1/m.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, 2)
        Labels, or successes and failures; **held out**, not used to fit what predicts.
    y_prob : array-like of shape (n,)
        Predicted probabilities of the positive class.
    by : array-like of shape (n,), optional
        The group of each row. Each group is then tested on its own.
    statistic : str, Statistic or callable
        "omnibus" where None, or another as in `model_test`.
    n_resamples : int
        Number of alternatives.
    rng : int, Generator, SeedSequence or None
        Seed; the same seed gives the same result.
    pos_label : object, optional
        The positive class of y_true.

    Returns
    -------
    ExactTestResult, or DataFrame with `by`
        The table has one row a group: n (trials), the observed and the mean predicted share,
        pvalue (what this test gives for these rows alone), pvalue_holm (safe to look at for all
        groups together: under calibration in all groups, one or more is ≤ α with probability
        at most α), rank and statistic.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=100)
    >>> y = rng.uniform(size=100) < p
    >>> er.calibration_test(y, p, rng=0).pvalue > 0.05
    True
    >>> er.calibration_test(y, p**3, rng=0).pvalue
    0.001
    >>> group = np.where(np.arange(100) < 50, "old", "new")
    >>> table = er.calibration_test(y, np.where(group == "old", p, p**3), by=group, rng=0)
    >>> table["pvalue_holm"].round(3).to_dict()
    {'new': 0.002, 'old': 0.058}
    """
    probabilities = _read_predictions(y_prob)
    names = ("y_prob", "y_true")
    sample = Sample.from_data(probabilities, y_true, pos_label=pos_label, names=names)
    chosen = as_statistic("omnibus" if statistic is None else statistic)
    n_resamples = check_n_resamples(n_resamples)
    if by is None:
        return _FixedTest(sample, chosen, n_resamples, calibration=True).run(probabilities, rng)
    entropy, seed = fresh_entropy(rng), integer_seed(rng)

    def test_rows(rows: IntArray) -> ExactTestResult:
        part = sample.part(rows)
        test = _FixedTest(part, chosen, n_resamples, calibration=True)
        return test.run_with(probabilities[rows], entropy, seed)

    return table_by_group(by, len(sample), test_rows)


def _read_predictions(y_prob: Any) -> FloatArray:
    values, _ = read_inputs(y_prob, "y_prob")
    if isinstance(values, tuple):
        raise InvalidTypeError(
            "The 'y_prob' parameter must hold numbers. "
            f"Got a sequence of {type(values[0]).__name__} instead."
        )
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise InvalidValueError(
            "The 'y_prob' parameter must have shape (n,), the probability of the positive class. "
            f"Got {values.shape} instead."
        )
    outside = np.flatnonzero((values < 0) | (values > 1))
    if len(outside):
        raise InvalidValueError(
            f"The 'y_prob' parameter must be between 0 and 1. Got {values[outside[0]]!s} in row "
            f"{outside[0]} instead ({len(outside)} such in all)."
        )
    return values


@dataclass(frozen=True, eq=False)
class _FixedTest:
    """What tests of several fixed candidates on the same data share."""

    sample: Sample
    statistic: Statistic
    n_resamples: int
    calibration: bool = False
    _last: dict[str, Any] = field(default_factory=dict, repr=False)

    def run(self, probabilities: FloatArray, rng: RNGLike) -> ExactTestResult:
        return self.run_with(probabilities, fresh_entropy(rng), integer_seed(rng))

    def run_with(
        self, probabilities: FloatArray, entropy: int, seed: int | None = None
    ) -> ExactTestResult:
        """Test probabilities in the order of the user's rows."""
        sample = self.sample.with_ties_ordered_by(probabilities)
        inputs = sample.inputs
        draws = Draws(self.n_resamples, entropy)
        ordered = probabilities[inputs.order]
        if self._last.get("inputs") is not inputs:
            self._last.clear()
            self._last["inputs"] = inputs
        Z = self._streamed(sample, ordered, draws) if inputs.extent.is_large else None
        if Z is None:
            Z = self._at_once(sample, ordered, draws)
        return result_of(Z, draws.seat, self._question(probabilities, seed))

    def _at_once(self, sample: Sample, probabilities: FloatArray, draws: Draws) -> FloatArray:
        if "prepared" not in self._last:
            self._last["prepared"] = self.statistic.prepare(sample.inputs, draws.m)
        candidates = Candidates(
            sample.inputs,
            probabilities[None],
            sample.is_counts,
            Recalibration() if self.calibration else None,
            np.array([[0.0, 1.0]]) if self.calibration else None,
        )
        resampling = Resampling(sample, draws.n_resamples, draws.entropy)
        return statistics_of(candidates, resampling, self._last["prepared"])[0]

    def _streamed(
        self, sample: Sample, probabilities: FloatArray, draws: Draws
    ) -> FloatArray | None:
        """Work stretch by stretch, as if the rows were not in memory; None where it cannot be."""
        inputs = sample.inputs
        if isinstance(inputs.X, tuple):
            return None
        if "survey" not in self._last:
            n = len(sample)
            glimpses = (
                glimpse_of(stretch.index, stretch.X, stretch.trials, n)
                for stretch in stretches_of(sample, probabilities)
            )
            survey = survey_of(glimpses, calibration=self.calibration, shared=inputs.shared)
            rule = self.statistic.stream(survey, draws.m)
            self._last.update(survey=survey, rule=rule)
        survey, rule = self._last["survey"], self._last["rule"]
        if rule is None:
            return None
        plan = Plan(tuple(term.columns for term in rule.terms), survey.extent, draws)
        parts = (sums_of(stretch, plan) for stretch in stretches_of(sample, probabilities))
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
