"""θ that are as likely as members: which they are, and steps that spread over all of them.

A likelihood costs as much as one data set, a rank as much as m. Regions of curved families have
branches, of steep curves and of flat ones, whose ends compete: a search that starts in one of them
stays there. So θ first spread by likelihoods alone, and some far apart are ranked. Likelihoods use
the outcomes: they decide where ranks are evaluated, never which θ are members.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from exactregion._typing import BoolArray, FloatArray
from exactregion.engine.levels import log_class_probabilities, numbers_of_classes
from exactregion.models.base import evaluated
from exactregion.models.cover import far_apart, on_scale_of_errors, rows_for, standard_steps
from exactregion.models.linear import LinearModel
from exactregion.models.psychometric import Psychometric
from exactregion.region.fitted import AT_ONCE, FittedRegion
from exactregion.region.rays import radius_of
from exactregion.region.search.extremes import random_factors
from exactregion.region.search.outline import outline_of

__all__ = [
    "WIDEST",
    "deviance_of",
    "largest_deviance",
    "plausible_to",
    "spread",
    "steps_from",
]

IMPLAUSIBLE = 4.0
"""A θ is not ranked if its deviance exceeds the smallest by this multiple of what members have: the
largest at the boundary that an outline found, and R² by the asymptotic law at level `WIDEST`.
Members were seen at up to 2.5 times these; twice the multiple leaves in 10 % more probes."""

WIDEST = 0.995
"""Level of the joint region that focused sets lie in."""

SPREAD, SPREAD_ROUNDS = 256, 6
"""θ of a curved family that are kept far apart, and rounds of four steps from each, before some are
ranked."""

BETWEEN = 0.5
"""Weight of distances half way between two rows: steps there differ in their thresholds alone."""

OWN_STEPS = (-2.0, 2.0)
"""Powers of two of steps in standard errors at a θ: regions have radii of some three of them."""

Plausible = Callable[[FloatArray], BoolArray]
"""θ (T, d) to which of them are worth a rank."""


def plausible_to(fitted: FittedRegion) -> Plausible:
    """Return which θ are plausible, as a function of θ."""
    limit = largest_deviance(fitted)
    return lambda theta: np.asarray(deviance_of(fitted, theta) <= limit)


def largest_deviance(fitted: FittedRegion) -> float:
    """Return the deviance up to which θ are plausible, once per fit."""

    def find() -> float:
        outline = outline_of(fitted)
        known = deviance_of(fitted, outline.window.theta(outline.starts()))
        above = max(radius_of(WIDEST, fitted.n_parameters) ** 2, float(np.ptp(known)))
        return float(known.min()) + IMPLAUSIBLE * above

    return fitted.cached("plausible", find)


def deviance_of(fitted: FittedRegion, theta: FloatArray) -> FloatArray:
    """Return minus twice the log-likelihood of each θ (T, d): far out a family may overflow."""
    inputs = fitted.sample.inputs
    numbers = numbers_of_classes(fitted.sample.successes, inputs.trials, inputs.levels)

    def of_batch(theta: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            P = np.asarray(evaluated(fitted.model, theta, inputs.user_rows))[:, inputs.order]
            logs = log_class_probabilities(P, inputs.levels)
            total = np.where(numbers > 0, numbers * logs, 0.0).sum(axis=-1).sum(axis=-1)
            is_defined = ((P >= 0) & (P <= 1)).all(axis=1)
            return np.where(is_defined, -2 * total, np.inf)

    batches = np.array_split(theta, 1 + len(theta) * len(inputs) // AT_ONCE)
    return np.concatenate([of_batch(batch) for batch in batches])


def spread(
    fitted: FittedRegion, members: FloatArray, limit: float, number: int, rng: np.random.Generator
) -> FloatArray:
    """Return θ far apart from members and from each other, of a deviance up to the limit.

    They are found by steps from members. Likelihoods cost little, so that these spread over all of
    a set that is long and bent before anything is ranked.
    """
    known, found = _points(fitted, members), members[:0]
    for _ in range(SPREAD_ROUNDS):
        tried = steps_from(fitted, np.vstack([members, found]), 4 * SPREAD, rng)
        found = np.vstack([found, tried[deviance_of(fitted, tried) <= limit]])
        if not len(found):  # a function of one's own need not take no θ
            continue
        points = _points(fitted, found)
        nearest = cdist(points, known, "sqeuclidean").min(axis=1)
        found = found[far_apart(points, SPREAD, nearest=nearest)]
    return found[:number]


def steps_from(
    fitted: FittedRegion,
    theta: FloatArray,
    number: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Draw θ (number, d) around others: by their own standard errors, and by their differences."""
    model, window, d = fitted.model, outline_of(fitted).window, theta.shape[1]
    start, one, other = theta[rng.integers(len(theta), size=(3, number))]
    own, turns, multiples = (slice(first, None, 4) for first in range(3))
    share = 10.0 ** rng.uniform(-1.5, 0.3, size=(number, 1))
    tried = start + share * (one - other)
    steps = rng.standard_normal(start[own].shape)
    steps *= 2.0 ** rng.uniform(*OWN_STEPS, size=(len(steps), 1))
    axes = standard_steps(model, start[own], *rows_for(fitted.sample.inputs))
    tried[own] = start[own] + np.einsum("tab,tb->ta", axes, steps)
    z, first, second = (window.coordinates(each[turns]) for each in (start, one, other))
    tried[turns] = window.theta(window.turned(z, first, second, share[turns]))
    factors = random_factors(rng, len(start[multiples]), d, (-1.0, 1.5))
    z = window.coordinates(start[multiples])
    tried[multiples] = window.theta(window.scaled(z, factors))
    return np.asarray(np.clip(tried, *window.bounds.T))


def _points(fitted: FittedRegion, theta: FloatArray) -> FloatArray:
    """Return the probabilities in rows and between them, on a scale of standard errors."""
    model, (rows, trials) = fitted.model, rows_for(fitted.sample.inputs)
    points = np.nan_to_num(on_scale_of_errors(model, theta, rows, trials))
    # functions of one's own may be defined in rows alone
    if isinstance(model, Psychometric) and isinstance(model.core, LinearModel):
        rows, trials = ((each[1:] + each[:-1]) / 2 for each in (rows, trials))
        between = on_scale_of_errors(model, theta, rows, trials)
        points = np.hstack([points, BETWEEN * between])
    return points
