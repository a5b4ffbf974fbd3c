"""Find the belt: the region of recalibrations, and their curves at every prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

import numpy as np
from numpy.polynomial.polynomial import polyvander
from scipy.special import logit

from exactregion._typing import FloatArray, IntArray
from exactregion.calibration.belt import CalibrationBelt, CalibrationBelts
from exactregion.calibration.deviation import CurveBounds
from exactregion.data.digest import seed_of
from exactregion.data.outcomes import Outcomes, read_outcomes
from exactregion.data.reading import numeric, read_predictions
from exactregion.data.sample import CHUNK_ROWS, Sample
from exactregion.data.sources import Rows, Source, open_rows, rows_in_memory
from exactregion.errors import InvalidValueError, with_named_seed
from exactregion.models import Recalibration
from exactregion.region import Band, ConfidenceRegion
from exactregion.region.bands import probability_at
from exactregion.region.stored import as_source, stored_predictions
from exactregion.resampling import RNGLike, fresh_entropy, integer_seed, seeded
from exactregion.statistics import Statistic
from exactregion.testing import ExactTestResult, calibration_test
from exactregion.testing.classes import views_of_classes, without_two
from exactregion.testing.groups import models_of, of_model

if TYPE_CHECKING:
    import pandas as pd


__all__ = ["calibration_belt"]

KNOTS = 14
"""Predictions at which the belt is searched, for each degree, and one more. Seen from the region
those of a straight line span 180 degrees at most, 13 between two: over a disc, straight lines
between bounds δ apart are too wide by 1/cos(δ/2) - 1, here 0.6 %. A curve that bends turns about as
far again with each degree."""

RARE = 14.0
"""Logits beyond which a picture shows nothing: one in a million."""

POINTS = 201
"""Predictions at which the belt is returned: a smooth curve in a picture."""


class BeltSettings(TypedDict, total=False):
    """What `calibration_belt` takes besides outcomes and predictions."""

    data: Any
    degree: int
    confidence_level: float
    statistic: str | Statistic | Any
    n_resamples: int
    rng: RNGLike
    pos_label: object
    classes: Sequence[object] | None
    certify: bool | None
    n_jobs: int | None
    progress: bool


@overload
def calibration_belt(
    y_true: Any, y_prob: Mapping[str, Any] | pd.DataFrame, **settings: Unpack[BeltSettings]
) -> CalibrationBelts: ...
@overload
def calibration_belt(
    y_true: Any, y_prob: Any, **settings: Unpack[BeltSettings]
) -> CalibrationBelt: ...
@with_named_seed
def calibration_belt(
    y_true: Any,
    y_prob: Any,
    *,
    data: Any = None,
    degree: int = 1,
    confidence_level: float = 0.95,
    statistic: str | Statistic | Any = "combined",
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
    classes: Sequence[object] | None = None,
    certify: bool | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> CalibrationBelt | CalibrationBelts:
    """Bound the calibration curve of predicted probabilities, with at least q/m at every n.

    The belt contains all curves expit(a + b logit p) that fit the outcomes, or with a `degree` of 2
    or 3 all that can bend: expit(a + b s + c s² + d s³), s = logit p. If the true calibration curve
    has this form, all of it is in the belt with probability `confidence_level` at least, whatever n
    is. Calibration itself, the diagonal, is a = 0, b = 1, c = d = 0.

    The p-value is that of `calibration_test`, of one class alone where there are several, which
    finds miscalibration of any form; the belt shows where predictions are off. Near the limit the
    two can differ: the p-value decides.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, 2)
        Labels, or successes and failures; **held out**, not used to fit the predictions.
    y_prob : array-like of shape (n,), mapping or frame
        Predicted probabilities of the positive class. Rows with exactly 0 or 1 take part in the
        test, not in the belt: no recalibration changes a certainty. A mapping of names to such
        arrays, or a frame with one column per model, gives `CalibrationBelts`: one belt per model,
        each with the coverage on its own, made with the same draws. So do the probabilities of
        three classes or more, shape (n, C): one belt per class, of whether it came true, and one
        for the top label, the likeliest class of each row.
    data : frame, path, pattern, list of paths, or pyarrow data set, optional
        A table. y_true and y_prob are then names of its columns. More than 65,536 rows, from files,
        memory maps, Dask collections or arrays, are read in chunks and kept in a temporary file;
        those of several models or classes are read into memory.
    degree : {1, 2, 3}
        Highest power of the logit. A higher one detects more forms of miscalibration, such as
        outcomes that are too rare at both ends, in a wider belt. Choose it before looking at the
        outcomes: the best of several belts does not have the coverage.
    confidence_level : float
        Level of the belt and of the intervals.
    statistic : str, Statistic or callable
        Of the belt, as for `ConfidenceRegion`.
    pos_label : object, optional
        The positive class of y_true.
    classes : sequence, optional
        The class of each column of y_prob, as for `calibration_test`.
    certify : bool, optional
        Whether to prove that no curve leaves the belt, as for `ConfidenceRegion.band`: by default
        for degree 1, with a limited amount of work; if True for degree 2 too, which can take a
        quarter of an hour. A belt of degree 3 is searched.
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

    Outcomes that are too rare at both ends take a curve that bends:

    >>> rare_at_both_ends = p * (1 - 0.8 * (2 * p - 1) ** 2)
    >>> y = rng.uniform(size=100) < rare_at_both_ends
    >>> bent = er.calibration_belt(y, p, degree=2, n_resamples=199, rng=0)
    >>> [departure.side for departure in bent.departures]
    ['below']
    """
    family = Recalibration(degree)  # an error for a bad degree before any work
    names = Rows(None, "y_true", "y_prob")
    is_many = classes is None and _many_predictions(y_true, y_prob, data, names) is not None
    if is_many:
        rows: Rows | Source = open_rows(Rows(None, y_true, y_prob), data, names)
        rng = seeded(rng, lambda: seed_of(rows))
    elif not isinstance(y_prob, Mapping):
        rows = rows_in_memory(Rows(None, y_true, y_prob), data, names)
        y_true, y_prob, data = rows.y, rows.p, None
    several = False
    if not is_many:
        y_prob, pos_label, several = without_two(
            y_true, y_prob, names, data=None, classes=classes, pos_label=pos_label
        )
    models = None if several or is_many else models_of(y_prob)
    first = y_prob if models is None else next(iter(models.values()))  # all have the same draws
    rng = seeded(rng, lambda: seed_of(Rows(None, y_true, first)))
    if integer_seed(rng) is None and not isinstance(rng, np.random.SeedSequence):
        # a generator would give the test and the region different draws
        rng = np.random.SeedSequence(fresh_entropy(rng))
    draws: dict[str, Any] = {"n_resamples": n_resamples, "rng": rng}

    def find(y: Any, p: Any, data: Any = None) -> CalibrationBelt:
        test = calibration_test(y, p, data=data, pos_label=pos_label, **draws)
        region = ConfidenceRegion(
            family,
            statistic=statistic,
            confidence_level=confidence_level,
            n_jobs=n_jobs,
            progress=progress,
            **draws,
        )
        # read again: of very many rows the test keeps a summary only
        source = _many_predictions(y, p, data, names)
        predictions = (
            _Predictions.of_arrays(read_predictions(p), read_outcomes(y, pos_label, "y_true"))
            if source is None
            else _Predictions.of_source(source, pos_label, names)
        )
        return _belt_of(region, predictions, test, degree=degree, certify=certify)

    if several:
        views = views_of_classes(y_true, y_prob, names, classes)
        # a class that is impossible in every row has no curve
        shown = {name: one for name, one in views.items() if ((one[1] > 0) & (one[1] < 1)).any()}
        return CalibrationBelts({name: find(y, p) for name, (y, p) in shown.items()})
    if models is None:
        return find(y_true, y_prob, data)
    for name, p in models.items():
        with of_model(name):
            read_predictions(p)  # an error before the first search
    return CalibrationBelts({name: find(y_true, p) for name, p in models.items()})


def _many_predictions(y_true: Any, y_prob: Any, data: Any, names: Rows) -> Source | None:
    """Return one column of predictions that is longer than a chunk as a source; None for others."""
    if not (isinstance(y_prob, str) or getattr(y_prob, "ndim", 0) == 1):
        return None
    return as_source(open_rows(Rows(None, y_true, y_prob), data, names), names)


@dataclass(frozen=True, eq=False)
class _Predictions:
    """Predictions and outcomes (n,), and the sample of those that are not certain, if any are."""

    p: FloatArray
    successes: IntArray
    trials: IntArray
    sample: Sample | None
    contradicted: int

    @classmethod
    def of_arrays(cls, p: FloatArray, outcomes: Outcomes) -> _Predictions:
        """Take what is in memory."""
        successes, trials = outcomes.successes, outcomes.trials
        failures, uncertain = trials - successes, (p > 0) & (p < 1)
        sample = None
        if trials[uncertain].any():
            counts = np.column_stack([successes, failures])[uncertain]
            labels = np.where(successes > 0, 1, -1)[uncertain]
            sample = Sample.from_data(p[uncertain], counts if outcomes.is_counts else labels)
        contradicted = int(successes[p == 0].sum() + failures[p == 1].sum())
        return cls(p, successes, trials, sample, contradicted)

    @classmethod
    def of_source(cls, source: Source, pos_label: object, names: Rows) -> _Predictions:
        """Read many rows in chunks; those with a certain prediction are put at the end."""
        sample, certain = stored_predictions(source, pos_label, names)
        p, successes, trials = np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64)
        if sample is not None:
            if not sample.is_counts:
                sample = replace(sample, classes=(-1, 1))
            p, successes = numeric(sample.inputs.X), sample.successes
            trials = sample.inputs.trials
        if certain.any():
            # rows of labels stay rows, for pictures that count them
            numbers = np.ones(4, np.int64) if sample and sample.is_counts else certain.ravel()
            counts = certain.ravel() if sample and sample.is_counts else np.ones(4, np.int64)
            p = np.concatenate([p, np.repeat([0.0, 0.0, 1.0, 1.0], numbers)])
            successes = np.concatenate([successes, np.repeat(counts * [1, 0, 1, 0], numbers)])
            trials = np.concatenate([trials, np.repeat(counts, numbers)])
        return cls(p, successes, trials, sample, int(certain[0, 0] + certain[1, 1]))

    def ends(self) -> FloatArray:
        """Return the smallest and the largest prediction that is not certain."""
        assert self.sample is not None
        inputs = self.sample.inputs
        used = numeric(inputs.X)[inputs.trials > 0] if self.sample.is_counts else numeric(inputs.X)
        return np.array([used.min(), used.max()])

    def number_of_different(self, most: int) -> int:
        """Count the different predictions that are not certain, up to a number."""
        assert self.sample is not None
        inputs, found = self.sample.inputs, np.zeros(0)
        for start in range(0, len(inputs), CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            used = numeric(inputs.X)[rows][inputs.trials[rows] > 0]
            found = np.unique(np.concatenate([found, used]))
            if len(found) > most:
                break
        return len(found)


def _belt_of(
    region: ConfidenceRegion,
    predictions: _Predictions,
    test: ExactTestResult,
    *,
    degree: int,
    certify: bool | None,
) -> CalibrationBelt:
    """Fit the region to the predictions of one model that are not certain, and find its belt."""
    if predictions.sample is None:
        raise InvalidValueError(
            "must hold probabilities between 0 and 1 for a belt. "
            "Got only 0 and 1 instead: use calibration_test.",
            parameter="y_prob",
        )
    different = predictions.number_of_different(degree) if degree > 1 else degree + 1
    if different <= degree:
        raise InvalidValueError(
            f"must be less than the number of different predictions, {different}: no curve that "
            f"bends is known from so few. Got {degree} instead.",
            parameter="degree",
        )
    region.fit_sample(predictions.sample)
    at_knots, band = _belt(region, predictions.ends(), certify)
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
        y_prob=predictions.p,
        successes=predictions.successes,
        trials=predictions.trials,
        contradicted=predictions.contradicted,
        region=region,
        certify=certify,
    )


def _belt(region: ConfidenceRegion, ends: FloatArray, certify: bool | None) -> tuple[Band, Band]:
    """Find the band at knots from end to end, and return it there and on a fine grid."""
    low, high = ends.tolist()
    degree = len(region.parameter_names_) - 1
    band = region.band(knots_between(low, high, region.outline().window.axes), certify=certify)
    grid = np.array([low])
    if high > low:
        # half of them evenly on the logit scale, for axes that are
        first, last = np.clip(logit([low, high]), -RARE, RARE).tolist()
        even = probability_at(np.linspace(first, last, POINTS // 2 + 2)[1:-1])
        grid = np.sort(np.concatenate([np.linspace(low, high, POINTS - len(even)), even]))
    limits = CurveBounds.of(band, ends, np.ones(2, np.int64), degree).at(logit(grid))
    lower, upper = map(probability_at, limits)
    estimate = np.clip(region.model_.probabilities(region.estimate_, grid), lower, upper)
    return band, replace(band, X=grid, lower=lower, upper=upper, estimate=estimate)


def knots_between(low: float, high: float, axes: FloatArray) -> FloatArray:
    """Return predictions from low to high at equal angles, as seen from the region.

    In the coordinates whose axes these are, the region is about a ball, and the curve at a logit s
    increases along axesᵀ(1, s, s², …).
    """
    if low == high:
        return np.array([low])
    scores = np.linspace(logit(low), logit(high), 2001)
    directions = polyvander(scores, len(axes) - 1) @ axes
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # twice the arc sine of half the distance: exact for directions that are all but the same
    steps = np.linalg.norm(np.diff(directions, axis=0), axis=1)
    angles = np.concatenate([[0.0], np.cumsum(2 * np.arcsin(steps / 2))])
    places = np.linspace(0.0, angles[-1], KNOTS * (len(axes) - 1) + 1)[1:-1]
    inner = np.interp(places, angles, scores)
    # rounding may lead past the ends, to predictions of exactly 0 or 1, which have no logit
    return np.unique(np.concatenate([[low], np.clip(probability_at(inner), low, high), [high]]))
