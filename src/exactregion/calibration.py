"""The calibration belt: which recalibrations of predicted probabilities fit the outcomes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from scipy.special import logit

from exactregion._typing import FloatArray, IntArray
from exactregion.data.digest import seed_of
from exactregion.data.files import Record, finite
from exactregion.data.reading import read_outcomes, read_predictions
from exactregion.data.sources import Rows
from exactregion.deviation import CurveBounds, Deviation, interpolated_bounds
from exactregion.errors import InvalidValueError, with_named_seed
from exactregion.models import Recalibration
from exactregion.region import Band, ConfidenceRegion
from exactregion.region.bands import positive_ranges, probability_at
from exactregion.region.window import Window
from exactregion.resampling import RNGLike, fresh_entropy, integer_seed, seeded
from exactregion.statistics import Statistic
from exactregion.testing import calibration_test
from exactregion.testing.groups import table_of
from exactregion.testing.result import ExactTestResult
from exactregion.testing.several import models_of, of_model

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.plotting import BeltDisplay, BeltsDisplay

__all__ = ["CalibrationBelt", "CalibrationBelts", "Departure", "calibration_belt"]

KNOTS = 15
"""Predictions at which the belt is searched. Seen from the region they span 180 degrees at most, 13
between two: over a disc, straight lines between bounds δ apart are too wide by 1/cos(δ/2) - 1, here
0.6 %."""

POINTS = 201
"""Predictions at which the belt is returned: a smooth curve in a picture."""


@dataclass(frozen=True)
class Departure(Record):
    """A range of predictions where the diagonal is outside the belt.

    Attributes
    ----------
    start, stop : float
        Ends of the range, as predicted probabilities.
    side : {"above", "below"}
        Where the belt lies: outcomes are more ("above") or less frequent than predicted.
    """

    start: float
    stop: float
    side: str


@dataclass(frozen=True, eq=False)
class CalibrationBelt:
    """Bounds of the calibration curve P(Y=+1|p) along the predicted probability p.

    Attributes
    ----------
    grid : ndarray of shape (k,)
        Predicted probabilities, ascending, over the range of those that are not 0 or 1.
    lower, upper, estimate : ndarrays of shape (k,)
        Bounds of the calibration curve, all at once, and the estimate.
    coverage : float
        P(the whole true curve is within the belt), at least, if it is of the form
        expit(a + b logit p).
    test : ExactTestResult
        The exact test of calibration, which needs no such form.
    y_prob, successes, trials : ndarrays of shape (n,)
        The predictions in the order given, and their outcomes; labels are single trials.
    contradicted : int
        Number of outcomes that contradict a prediction of exactly 0 or 1; one is enough for the
        smallest p-value there is. The belt describes the other rows.
    region : ConfidenceRegion
        The intercepts a and slopes b that fit.
    band : Band
        The bounds at the knots between which the belt was interpolated.
    gap, certified, evaluations, seconds : float, bool, int and float
        As of a `Band`.
    """

    grid: FloatArray = field(repr=False)
    lower: FloatArray = field(repr=False)
    upper: FloatArray = field(repr=False)
    estimate: FloatArray = field(repr=False)
    coverage: float
    test: ExactTestResult
    y_prob: FloatArray = field(repr=False)
    successes: IntArray = field(repr=False)
    trials: IntArray = field(repr=False)
    contradicted: int
    region: ConfidenceRegion = field(repr=False)
    band: Band = field(repr=False)
    gap: float = field(repr=False)
    certified: bool
    evaluations: int = field(repr=False)
    seconds: float = field(repr=False)

    @property
    def pvalue(self) -> float:
        """Exact p-value of calibration: that of `test`."""
        return self.test.pvalue

    @property
    def rank(self) -> int:
        """Rank behind the p-value."""
        return self.test.rank

    @property
    def status(self) -> str:
        """That of the region: "bounded", "unbounded", "disconnected" or "empty"."""
        return self.region.status_

    @property
    def intervals(self) -> pd.DataFrame:
        """Focused intervals for the intercept and the slope; calibration is 0 and 1."""
        return self.region.intervals()

    @cached_property
    def departures(self) -> tuple[Departure, ...]:
        """Where the diagonal is outside the belt, and on which side the belt lies."""
        above = positive_ranges(self.grid, self.lower - self.grid)
        below = positive_ranges(self.grid, self.grid - self.upper)
        found = [Departure(*ends, "above") for ends in above]
        found += [Departure(*ends, "below") for ends in below]
        return tuple(sorted(found, key=lambda departure: departure.start))

    @cached_property
    def largest_deviation(self) -> Deviation:
        """Exact limits of the largest |c(p) - p|, c the calibration curve, over all predictions p.

        "Calibrated to within ±upper everywhere", with the coverage of the belt. The range goes from
        the smallest to the largest prediction that is not 0 or 1.
        """
        return self._deviations[0]

    @cached_property
    def mean_deviation(self) -> Deviation:
        """Exact limits of the mean of |c(p) - p| over the predictions, each row as it is.

        Its estimate is the integrated calibration index of the most compatible curve. The limits
        hold together with those of `largest_deviation`.
        """
        return self._deviations[1]

    @cached_property
    def _deviations(self) -> tuple[Deviation, Deviation]:
        use = (self.y_prob > 0) & (self.y_prob < 1) & (self.trials > 0)
        band = self.band
        bounds = CurveBounds.of(band.X, band.lower, band.upper, self.y_prob[use], self.trials[use])
        estimates = bounds.of_curve(*self.region.estimate_.tolist())
        if self.status == "empty":
            nothing = float("nan"), float("nan")
            limits: list[tuple[float, float, float | None]] = [(*nothing, None)] * 2
        else:
            limits = [bounds.largest(), (*bounds.mean(), None)]
        largest, mean = (
            # a search may put the most compatible curve a little outside the belt
            Deviation(
                float(np.clip(estimate, low, high)), low, high, at, self.coverage, self.certified
            )
            for estimate, (low, high, at) in zip(estimates, limits, strict=True)
        )
        return largest, mean

    def within(self, tolerance: float, *, mean: bool = False) -> bool | None:
        """Say whether the predictions are calibrated to within ±tolerance everywhere.

        True if `largest_deviation` is at most that for certain, False if it is certainly more, each
        with the coverage of the belt; None if the outcomes do not decide.

        Parameters
        ----------
        tolerance : float
            Between 0 and 1.
        mean : bool
            Ask it of `mean_deviation` instead: calibrated to within ±tolerance on average.

        Examples
        --------
        >>> import numpy as np
        >>> import exactregion as er
        >>> rng = np.random.default_rng(0)
        >>> p = rng.uniform(size=100)
        >>> belt = er.calibration_belt(rng.uniform(size=100) < p, p, n_resamples=39, rng=0)
        >>> belt.within(0.5), belt.within(0.05)
        (True, None)
        """
        if isinstance(tolerance, bool) or not isinstance(tolerance, Real) or not 0 < tolerance < 1:
            raise InvalidValueError(
                f"must be between 0 and 1, both excluded. Got {tolerance!r} instead.",
                parameter="tolerance",
            )
        deviation = self.mean_deviation if mean else self.largest_deviation
        if deviation.upper <= tolerance:
            return True
        return False if deviation.lower > tolerance else None

    def to_dict(self, *, grid: bool = False) -> dict[str, Any]:
        """Return what the command prints with ``--json``: plain values, not finite ones as None.

        The keys are those of `test`, then coverage and belt: its status, contradicted, gap,
        certified, intervals, departures, largest_deviation and mean_deviation.

        Parameters
        ----------
        grid : bool
            Add grid, estimate, lower and upper: 201 numbers each.
        """
        columns = ("estimate", "lower", "upper", "status", "gap", "certified")
        intervals = self.intervals
        content: dict[str, Any] = {
            key: getattr(self, key) for key in ("status", "contradicted", "gap", "certified")
        }
        content["intervals"] = [
            {"parameter": name, **row}
            for name, row in intervals[[*columns]].to_dict("index").items()
        ]
        content["departures"] = self.departures
        content["largest_deviation"] = self.largest_deviation
        content["mean_deviation"] = self.mean_deviation
        if grid:
            content |= {key: getattr(self, key) for key in ("grid", "estimate", "lower", "upper")}
        return {**self.test.to_dict(), "coverage": self.coverage, "belt": finite(content)}

    def __str__(self) -> str:
        """Return verdict, intercept, slope and deviations as text of 80 columns."""
        from exactregion.plotting.wording import belt_text

        return belt_text(self)

    def _repr_html_(self) -> str:
        from exactregion.plotting.wording import belt_html

        return belt_html(self)

    def plot(self, **kwargs: Any) -> BeltDisplay:
        """Draw the belt by `BeltDisplay.from_belt`: needs ``pip install exactregion[plot]``."""
        from exactregion.plotting import BeltDisplay

        return BeltDisplay.from_belt(self, **kwargs)

    def report(self, path: str | Path, *, title: str | None = None, **more: Any) -> Path:
        """Write one HTML page, as `ConfidenceRegion.report` does: needs the same packages."""
        from exactregion.report import write_report

        return write_report(self, path, title=title, **more)


class CalibrationBelts(dict[str, CalibrationBelt]):
    """Belts of several models on the same outcomes, by the name of the model.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=60)
    >>> y = rng.uniform(size=60) < p
    >>> belts = er.calibration_belt(y, {"as made": p, "cubed": p**3}, n_resamples=99, rng=0)
    >>> belts["cubed"].pvalue
    0.01
    >>> belts.table["pvalue_holm"].round(3).to_dict()
    {'as made': 0.2, 'cubed': 0.02}
    """

    @property
    def table(self) -> pd.DataFrame:
        """One row per model, as `calibration_test` gives them: pvalue, pvalue_holm and others."""
        return table_of({name: belt.test for name, belt in self.items()}, "model")

    @property
    def intervals(self) -> pd.DataFrame:
        """Intervals for intercept and slope of each model; calibration is 0 and 1."""
        import pandas as pd

        parts = {name: belt.intervals for name, belt in self.items()}
        return pd.concat(parts, names=["model", "parameter"])

    def plot(self, **kwargs: Any) -> BeltsDisplay:
        """Draw all belts in one picture by `BeltsDisplay.from_belts`."""
        from exactregion.plotting import BeltsDisplay

        return BeltsDisplay.from_belts(self, **kwargs)

    def report(self, path: str | Path, **settings: Any) -> Path:
        """Write one HTML page about all models, as `CalibrationBelt.report` does about one."""
        from exactregion.report import write_report

        return write_report(self, path, **settings)

    def __repr__(self) -> str:
        """Show the table."""
        return f"{type(self).__name__}\n{self.table}"


@overload
def calibration_belt(
    y_true: Any,
    y_prob: Mapping[str, Any] | pd.DataFrame,
    *,
    confidence_level: float = 0.95,
    statistic: str | Statistic | Any = "combined",
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> CalibrationBelts: ...
@overload
def calibration_belt(
    y_true: Any,
    y_prob: Any,
    *,
    confidence_level: float = 0.95,
    statistic: str | Statistic | Any = "combined",
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> CalibrationBelt: ...
@with_named_seed
def calibration_belt(
    y_true: Any,
    y_prob: Any,
    *,
    confidence_level: float = 0.95,
    statistic: str | Statistic | Any = "combined",
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> CalibrationBelt | CalibrationBelts:
    """Bound the calibration curve of predicted probabilities, exactly at every sample size.

    The belt contains all curves expit(a + b logit p) that fit the outcomes. If the true calibration
    curve has this form, all of it is in the belt with probability `confidence_level` at least,
    whatever n is. Calibration itself, the diagonal, is a = 0, b = 1.

    The p-value is that of `calibration_test`, which finds miscalibration of any form; the belt
    shows where predictions are off. Near the limit the two can differ: the p-value decides.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, 2)
        Labels, or successes and failures; **held out**, not used to fit what predicts.
    y_prob : array-like of shape (n,), mapping or frame
        Predicted probabilities of the positive class. Rows with exactly 0 or 1 take part in the
        test, not in the belt: no recalibration changes a certainty. A mapping of names to such
        arrays, or a frame with one column per model, gives `CalibrationBelts`: one belt per model,
        each with the coverage on its own, made with the same draws.
    confidence_level : float
        Level of the belt and of the intervals.
    statistic : str, Statistic or callable
        Of the belt, as for `ConfidenceRegion`.
    pos_label : object, optional
        The positive class of y_true.
    n_resamples, n_jobs : int
        Number of alternatives, and of joblib workers.
    rng : int, "data", Generator, SeedSequence or None
        Seed; the same seed gives the same result. "data" makes the seed from the data.
    progress : bool
        Show on stderr how far the search is.

    See Also
    --------
    calibration_test : the p-value alone, which needs no family and no search.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=100)
    >>> y = rng.uniform(size=100) < p
    >>> a_third_of_the_odds = p / (p + 3 * (1 - p))
    >>> belt = er.calibration_belt(y, a_third_of_the_odds, n_resamples=199, rng=0)
    >>> belt.pvalue
    0.01
    >>> [departure.side for departure in belt.departures]
    ['above']
    """
    models = models_of(y_prob)
    first = y_prob if models is None else next(iter(models.values()))  # all have the same draws
    rng = seeded(rng, lambda: seed_of(Rows(None, y_true, first)))
    if integer_seed(rng) is None and not isinstance(rng, np.random.SeedSequence):
        # a generator would give the test and the region different draws
        rng = np.random.SeedSequence(fresh_entropy(rng))
    settings: dict[str, Any] = {"n_resamples": n_resamples, "rng": rng}
    if models is not None:
        settings |= {"confidence_level": confidence_level, "statistic": statistic}
        settings |= {"pos_label": pos_label, "n_jobs": n_jobs, "progress": progress}
        for name, p in models.items():
            with of_model(name):
                read_predictions(p)  # an error before the first search
        belts = {name: calibration_belt(y_true, p, **settings) for name, p in models.items()}
        return CalibrationBelts(belts)
    test = calibration_test(y_true, y_prob, pos_label=pos_label, **settings)
    # read again: of very many rows the test keeps a summary only
    p = read_predictions(y_prob)
    outcomes = read_outcomes(y_true, pos_label, "y_true")
    successes, trials = outcomes.successes, outcomes.trials
    failures = trials - successes
    uncertain = (p > 0) & (p < 1)
    if not trials[uncertain].any():
        raise InvalidValueError(
            "must hold probabilities between 0 and 1 for a belt. "
            "Got only 0 and 1 instead: use calibration_test.",
            parameter="y_prob",
        )
    region = ConfidenceRegion(
        Recalibration(),
        statistic=statistic,
        confidence_level=confidence_level,
        n_jobs=n_jobs,
        progress=progress,
        **settings,
    )
    counts = np.column_stack([successes, failures])[uncertain]
    labels = np.where(successes > 0, 1, -1)[uncertain]
    region.fit(p[uncertain], counts if outcomes.is_counts else labels)
    at_knots, band = _belt(region, p[uncertain & (trials > 0)])
    return CalibrationBelt(
        band.X,
        band.lower,
        band.upper,
        band.estimate,
        band=at_knots,
        coverage=band.coverage,
        gap=band.gap,
        certified=band.certified,
        evaluations=band.evaluations,
        seconds=band.seconds,
        test=test,
        y_prob=p,
        successes=successes,
        trials=trials,
        contradicted=int(successes[p == 0].sum() + failures[p == 1].sum()),
        region=region,
    )


def _belt(region: ConfidenceRegion, p: FloatArray) -> tuple[Band, Band]:
    """Find the band at knots, and return it there and on a fine grid.

    At logits between two knots the curve a + b·logit is a mean of its values there, so that its
    bounds are within the same mean of the bounds: straight lines between knots are outside, if the
    search found the bounds at the knots. Next to a knot without a bound there is none.
    """
    low, high = float(p.min()), float(p.max())
    band = region.band(_knots(region.outline().window, low, high))
    grid = np.linspace(low, high, POINTS if high > low else 1)
    with np.errstate(divide="ignore"):
        ends = logit(band.lower), logit(band.upper)
    lower, upper = (
        probability_at(interpolated_bounds(logit(grid), logit(band.X), end)) for end in ends
    )
    estimate = np.clip(region.model_.probabilities(region.estimate_, grid), lower, upper)
    return band, replace(band, X=grid, lower=lower, upper=upper, estimate=estimate)


def _knots(window: Window, low: float, high: float) -> FloatArray:
    """Return predictions from low to high at equal angles, as seen from the region.

    In the coordinates of the window, where the region is about a disc, a + b·logit p increases
    along axesᵀ(1, logit p).
    """
    if low == high:
        return np.array([low])
    scores = np.linspace(logit(low), logit(high), 2001)
    across, along = window.axes.T @ np.stack([np.ones_like(scores), scores])
    angles = np.unwrap(np.arctan2(along, across))
    angles *= np.sign(angles[-1] - angles[0])
    inner = np.interp(np.linspace(angles[0], angles[-1], KNOTS)[1:-1], angles, scores)
    return np.unique(np.concatenate([[low], probability_at(inner), [high]]))
