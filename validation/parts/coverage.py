"""Coverage of what people read: intervals, thresholds, bands and belts, many data sets per setting.

An interval that reaches to all members covers the truth wherever the truth is a member, and that is
one rank. So ends are only looked for where the truth is no member, which is one data set in twenty,
and in every fiftieth data set whatever its rank is; elsewhere a member counts as covered. "Checked"
is the number of data sets in which the truth is a member and ends were looked for, "missed" the
share of these in which it is outside them. Settings are those of `intervals` and `bands`, belts at
three sizes, and the cases where a search has the hardest time: rare outcomes, a psychometric
function whose lapse rate nobody knows, and the Weibull curve of the tutorial.

Comparisons with other methods are parts of their own, with fewer data sets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr

import exactregion as er
from validation.members import individual_results
from validation.parts.searched import WEIBULL_BOUNDS, weibull
from validation.rates import rate_table
from validation.study import Case, generator
from validation.truths import GUESS, truth_of

RESAMPLES, POINTS = 999, 21
EVERY = 50
"""Of so many data sets one is searched whether the truth is a member or not."""

LINEAR, BELT, PSYCHOMETRIC, WEIBULL = "linear", "belt", "psychometric", "Weibull"
CURVE = (0.5, 0.7)
"""Intercept and slope of the true curve of belts, on the logit scale."""

ANSWERS = (0.0045, 3.3, 0.005)
"""Scale, shape and lapse rate of the true Weibull curve."""

LEVELS, LAPSE, STEEPNESS = np.linspace(-2, 2, 7), 0.02, 1.5
THRESHOLDS = {"middle": 0.2, "rim": 1.5}


def _linear(family: str, slopes: int, outcomes: str, n: int, level: float = 0.95) -> Case:
    settings = {"family": family, "slopes": slopes, "outcomes": outcomes, "n": n, "level": level}
    return Case({"data": LINEAR, **settings}, 400, 4000, together=50)


def _other(data: str, which: str, n: int, repetitions: int = 100) -> Case:
    settings = {"family": which, "slopes": 1, "outcomes": "", "n": n, "level": 0.95}
    return Case({"data": data, **settings}, repetitions, 4000, together=50)


CASES = [
    *(_linear("logistic", 1, o, n) for n in (15, 30, 100, 500) for o in ("balanced", "rare")),
    *(_linear("logistic", 1, o, n, 0.9) for n in (15, 30, 100) for o in ("balanced", "rare")),
    *(_linear("probit", 1, "balanced", n) for n in (15, 30, 100, 500)),
    *(_linear("logistic", 3, o, n) for n in (15, 30, 100, 500) for o in ("balanced", "rare")),
    *(_linear("logistic", 3, "balanced", n, 0.9) for n in (30, 100)),
    *(_linear("logistic", 5, "balanced", n) for n in (30, 100)),
    *(_other(BELT, "recalibration", n, 400) for n in (50, 200, 1000)),
    *(_other(PSYCHOMETRIC, where, 7 * block) for where in THRESHOLDS for block in (5, 10, 20, 40)),
    _other(WEIBULL, "tutorial", 1170),
]


@dataclass(frozen=True)
class Result:
    """Something that a person reads: whether the truth is a member of its set, and inside it."""

    of: str
    member: Callable[[], bool]
    covers: Callable[[], bool]


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Say of each result whether it covers, on one data set."""
    rng = generator(settings, repetition)
    model, X, y, theta = _drawn(settings, rng)
    region = er.ConfidenceRegion(
        model,
        confidence_level=settings["level"],
        n_resamples=RESAMPLES,
        rng=int(rng.integers(2**32)),
        pos_label=1 if y.ndim == 1 else None,
    ).fit(X, y)
    found = []
    for result in _results(settings, region, X, theta):
        member = result.member()
        searched = not member or repetition % EVERY == 0
        covered = result.covers() if searched else True
        found.append({"of": result.of, "member": member, "searched": searched, "covered": covered})
    return found


def _drawn(
    settings: dict[str, Any], rng: np.random.Generator
) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray]:
    """Draw data: the family, inputs, outcomes, and the true θ."""
    data, n = settings["data"], settings["n"]
    if data == LINEAR:
        truth = truth_of(settings)
        X, y = truth.draw(rng, n)
        return truth.model, X, y.astype(int), truth.theta
    if data == BELT:
        p = rng.uniform(size=n)
        model, theta = er.models.Recalibration(), np.array(CURVE)
        return model, p, (rng.random(n) < model.probabilities(theta, p)).astype(int), theta
    if data == PSYCHOMETRIC:
        threshold = THRESHOLDS[settings["family"]]
        theta = np.array([-STEEPNESS * threshold, STEEPNESS, LAPSE])
        model = er.models.Psychometric(er.models.Probit(), guess=GUESS, lapse="free")
        p = GUESS + (1 - GUESS - LAPSE) * ndtr(theta[0] + theta[1] * LEVELS)
        levels, trials = LEVELS, np.full(len(LEVELS), n // len(LEVELS))
    else:
        answers, theta = er.datasets.two_afc(), np.array(ANSWERS)
        levels, trials = answers["level"].to_numpy(float), answers["n_total"].to_numpy()
        names = ("scale", "shape", "lapse")
        model = er.models.Function(weibull, names=names, bounds=WEIBULL_BOUNDS)
        p = weibull(theta, levels)
    successes = rng.binomial(trials, p)
    return model, levels, np.column_stack([successes, trials - successes]), theta


def _results(
    settings: dict[str, Any], region: er.ConfidenceRegion, X: np.ndarray, theta: np.ndarray
) -> Iterator[Result]:
    """Give joint intervals and a band; and of each parameter, and a threshold, its own interval."""

    def is_member() -> bool:
        return bool(region.contains(theta))

    if settings["data"] != BELT:
        yield Result("joint intervals", is_member, lambda: _joint(region, theta))
        yield from _individual(settings, region, theta)
    yield Result("band", is_member, lambda: _band(region, X, theta))


def _joint(region: er.ConfidenceRegion, theta: np.ndarray) -> bool:
    table = region.intervals(joint=True)
    return bool(((table["lower"] <= theta) & (theta <= table["upper"])).all())


def _band(region: er.ConfidenceRegion, X: np.ndarray, theta: np.ndarray) -> bool:
    """Whether the true curve is inside along the first input, the others at zero."""
    first = X if X.ndim == 1 else X[:, 0]
    at = np.zeros((POINTS, *X.shape[1:]))
    at.reshape(POINTS, -1)[:, 0] = np.linspace(first.min(), first.max(), POINTS)
    band = region.band(at)
    p = region.model_.probabilities(theta, band.X)
    return bool(((band.lower <= p) & (p <= band.upper)).all())


def _individual(
    settings: dict[str, Any], region: er.ConfidenceRegion, theta: np.ndarray
) -> Iterator[Result]:
    for number in individual_results(region):
        name = number.name if number.name == "ED50" else f"interval, {number.name}"
        yield Result(
            name,
            lambda number=number: number.reaches(theta),
            lambda number=number: _covers(number.interval(), number.value(theta)),
        )
    if settings["data"] == PSYCHOMETRIC:
        # individual intervals of three parameters are projections of the region
        yield Result(
            "threshold",
            lambda: bool(region.contains(theta)),
            lambda: _covers(region.functional(lambda at: -at[0] / at[1]), -theta[0] / theta[1]),
        )


def _covers(interval: er.Interval, true: float) -> bool:
    return bool(interval.lower <= true <= interval.upper)


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Coverage with exact limits by setting and result, and members that were missed."""
    by = ["data", "family", "slopes", "outcomes", "n", "level", "of"]
    table = rate_table(frame, by, "covered").assign(nominal=lambda t: t["level"])
    searched = frame[frame["searched"]].groupby(by, sort=False).size().rename("searched")
    members = frame[frame["searched"] & frame["member"]].groupby(by, sort=False)["covered"]
    checked = members.size().rename("checked")
    missed = (1 - members.mean().astype(float)).rename("missed")
    for column in (searched, checked, missed):
        table = table.merge(column.reset_index(), how="left", on=by)
    return {"coverage": table}
