"""A calibration belt: bounds of the curve, the test beside it, and how far off it may be."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.calibration.deviation import CurveBounds, Deviation
from exactregion.data.files import Record, finite
from exactregion.errors import InvalidValueError
from exactregion.region import Band, ConfidenceRegion
from exactregion.region.bands import positive_ranges
from exactregion.region.bounds import joint_bounds
from exactregion.region.intervals import interval_records
from exactregion.testing.class_result import TOP_LABEL
from exactregion.testing.groups import table_of
from exactregion.testing.result import ExactTestResult

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.plotting import BeltDisplay, BeltsDisplay, ClassesDisplay

__all__ = ["CalibrationBelt", "CalibrationBelts", "Departure"]


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
        expit(a + b logit p), or bends as a higher `degree` allows.
    test : ExactTestResult
        The exact test of calibration, which needs no such form.
    y_prob, successes, trials : ndarrays of shape (n,)
        The predictions in the order given, and their outcomes; labels are single trials. More than
        65,536 rows are in another order, those with a prediction of 0 or 1 last.
    contradicted : int
        Number of outcomes that contradict a prediction of exactly 0 or 1; one is enough for the
        smallest p-value there is. The belt describes the other rows.
    region : ConfidenceRegion
        The intercepts a and slopes b that fit, and further coefficients of a higher degree.
    band : Band
        The bounds at the knots between which the belt was interpolated.
    gap, certified, evaluations, seconds : float, bool, int and float
        As of a `Band`.
    certify : bool or None
        As given to `calibration_belt`; intervals are found in the same way.
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
    certify: bool | None = field(repr=False, default=None)

    @property
    def pvalue(self) -> float:
        """Exact p-value of calibration: that of `test`."""
        return self.test.pvalue

    @property
    def rank(self) -> int:
        """Rank behind the p-value."""
        return self.test.rank

    @property
    def degree(self) -> int:
        """Highest power of logit p in the curves: 1, 2 or 3."""
        return len(self.region.parameter_names_) - 1

    @property
    def status(self) -> str:
        """That of the region: "bounded", "unbounded", "disconnected" or "empty"."""
        return self.region.status_

    @property
    def intervals(self) -> pd.DataFrame:
        """Focused intervals for intercept, slope, square and cube; calibration is 0, 1, 0 and 0."""
        return self.region.intervals(certify=self.certify)

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
        """Limits of the largest |c(p) - p|, c the calibration curve, over all predictions p.

        "Calibrated to within ±upper everywhere", with the coverage of the belt. The range goes from
        the smallest to the largest prediction that is not 0 or 1.
        """
        return self._deviations[0]

    @cached_property
    def mean_deviation(self) -> Deviation:
        """Limits of the mean of |c(p) - p| over the predictions of all rows.

        Its estimate is the integrated calibration index of the estimated curve. The limits
        hold together with those of `largest_deviation`.
        """
        return self._deviations[1]

    @cached_property
    def _deviations(self) -> tuple[Deviation, Deviation]:
        use = (self.y_prob > 0) & (self.y_prob < 1) & (self.trials > 0)
        bounds = CurveBounds.of(self.band, self.y_prob[use], self.trials[use], self.degree)
        estimates = bounds.of_curve(self.region.estimate_)
        if self.status == "empty":
            nothing = float("nan"), float("nan")
            limits: list[tuple[float, float, float | None]] = [(*nothing, None)] * 2
        else:
            limits = [bounds.largest(), (*self._mean_limits(bounds), None)]
        largest, mean = (
            # the estimate may lie a little outside the belt
            Deviation(
                float(np.clip(estimate, low, high)), low, high, at, self.coverage, self.certified
            )
            for estimate, (low, high, at) in zip(estimates, limits, strict=True)
        )
        return largest, mean

    def _mean_limits(self, bounds: CurveBounds) -> tuple[float, float]:
        """Limits of the mean deviation; of curves that bend they are searched if the belt was.

        What keeps the bounds at the knots is then much more than the region: of three parameters
        the upper limit is 1.3 to 1.6 times as large, of four twice.
        """
        if self.degree == 1 or self.certified:
            return bounds.mean()
        found = joint_bounds(
            self.region.fitted_, lambda theta: bounds.means_of(theta)[:, None], width=1
        )
        limits = bounds.mean_by_points()
        low, high = np.clip([found.lower[0], found.upper[0]], *limits).tolist()
        diagonal = np.eye(self.degree + 1)[1]
        return (0.0 if self.region.contains(diagonal) else low), high

    def within(self, tolerance: float, *, mean: bool = False) -> bool | None:
        """Say whether the predictions are calibrated to within ±tolerance everywhere.

        True if `largest_deviation` is shown to be at most that, False if it is shown to be more,
        each with the coverage of the belt; None if the outcomes do not decide.

        Parameters
        ----------
        tolerance : float
            Between 0 and 1.
        mean : bool
            Use `mean_deviation` instead: calibrated to within ±tolerance on average.

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

        The keys are those of `test`, then coverage and belt: its degree, status, contradicted, gap,
        certified, intervals, departures, largest_deviation and mean_deviation.

        Parameters
        ----------
        grid : bool
            Add grid, estimate, lower and upper: 201 numbers each.
        """
        content: dict[str, Any] = {
            key: getattr(self, key)
            for key in ("degree", "status", "contradicted", "gap", "certified")
        }
        content["intervals"] = interval_records(self.intervals)
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
    """Belts of several models on the same outcomes, by the name of the model; or of classes.

    Belts of classes, and of the top label, go by the names of the classes.

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
    def tests(self) -> dict[str, ExactTestResult]:
        """The test of each model."""
        return {name: belt.test for name, belt in self.items()}

    @property
    def table(self) -> pd.DataFrame:
        """One row per model, as `calibration_test` gives them: pvalue, pvalue_holm and others."""
        return table_of(self.tests, "model")

    @property
    def intervals(self) -> pd.DataFrame:
        """Intervals of each model, as `CalibrationBelt.intervals` has them."""
        import pandas as pd

        parts = {name: belt.intervals for name, belt in self.items()}
        return pd.concat(parts, names=["model", "parameter"])

    def plot(self, **kwargs: Any) -> BeltsDisplay | ClassesDisplay:
        """Draw all belts in one picture by `BeltsDisplay.from_belts`.

        Those of classes are drawn side by side, by `ClassesDisplay.from_belts`.
        """
        from exactregion.plotting import BeltsDisplay, ClassesDisplay

        if TOP_LABEL in self:
            return ClassesDisplay.from_belts(self, **kwargs)
        return BeltsDisplay.from_belts(self, **kwargs)

    def report(self, path: str | Path, **settings: Any) -> Path:
        """Write one HTML page about all models, as `CalibrationBelt.report` does about one."""
        from exactregion.report import write_report

        return write_report(self, path, **settings)

    def __repr__(self) -> str:
        """Show the table."""
        table = self.table[["n", "pvalue", "pvalue_holm", "misfit"]]
        return f"{type(self).__name__}\n{table}"
