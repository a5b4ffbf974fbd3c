"""About how far θ is from the middle of a focused set, by the score of the outcomes alone.

Z of the original data set is most of what bends the side of a focused set; the Z of the others, to
which it is compared, hardly depend on θ. It costs as much as one data set, a rank as much as m. It
uses the outcomes: it says where ranks are evaluated, never which θ are members.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np

from exactregion._typing import FloatArray
from exactregion.region.fitted import FittedRegion
from exactregion.region.window import Window, lengths_of

__all__ = ["focused_distances"]

DEGREE = 3
"""Of the polynomials: the first terms of a score are linear in θ, the next make it bend."""

AT_ONCE = 4_000_000
"""Numbers held in memory at once."""

POINTS = 3
"""Places at which scores are computed per coefficient of a polynomial."""


def focused_distances(
    fitted: FittedRegion,
    gradient: Callable[[FloatArray], FloatArray],
    window: Window,
    rng: np.random.Generator,
    *,
    radius: float,
    joint_radius: float,
) -> Callable[[FloatArray], FloatArray]:
    """Return distances from the middle at coordinates z, in units of those where the set is to end.

    It ends at a focused distance of `radius`, or at the `joint_radius` of the region in which it
    lies. Both are polynomials that are fitted to scores at random places of that region; where rows
    are many, scores are all but linear, and only their first terms are taken.
    """
    if fitted.many_rows is not None:
        return _linear_distances(fitted.start, window, gradient, radius, joint_radius)
    d = len(window.origin)
    powers = np.array(list(combinations_with_replacement(range(d + 1), DEGREE)))[1:].T

    def terms(z: FloatArray) -> FloatArray:
        with_one = np.column_stack([np.ones(len(z)), z])
        product, *others = (with_one[:, power] for power in powers)
        for factor in others:
            product *= factor
        return product

    z = rng.standard_normal((POINTS * powers.shape[1], d))
    z *= joint_radius * rng.random((len(z), 1)) ** (1 / d) / lengths_of(z)[:, None]
    z[0] = 0.0
    batches = np.array_split(z, 1 + z.size * len(fitted.sample) // AT_ONCE)
    scores = np.hstack([_scores(fitted, window, batch, gradient) for batch in batches]).T
    at = terms(z)
    fit = np.linalg.solve(at.T @ at, at.T @ (scores - scores[0]))

    def distances(z: FloatArray) -> FloatArray:
        signed, squared = (terms(z) @ fit + scores[0]).T
        joint = np.sqrt(np.maximum(squared, 0.0)) / joint_radius
        return np.asarray(np.maximum(np.abs(signed) / radius, joint))

    return distances


def _linear_distances(
    start: Window,
    window: Window,
    gradient: Callable[[FloatArray], FloatArray],
    radius: float,
    joint_radius: float,
) -> Callable[[FloatArray], FloatArray]:
    """Return distances from the maximum of the likelihood, where scores are zero."""

    def distances(z: FloatArray) -> FloatArray:
        theta = window.theta(z)
        steps, a = start.coordinates(theta), gradient(theta) @ start.axes
        signed = (steps * a).sum(axis=1) / np.maximum(lengths_of(a), 1e-300)
        joint: FloatArray = lengths_of(steps) / joint_radius
        return np.asarray(np.maximum(np.abs(signed) / radius, joint))

    return distances


def _scores(
    fitted: FittedRegion,
    window: Window,
    z: FloatArray,
    gradient: Callable[[FloatArray], FloatArray],
) -> FloatArray:
    """Return the score of a functional in standard errors, and sᵀI⁻¹s of all: shape (2, T)."""
    theta = window.theta(z)
    at, sample = fitted.candidates(theta), fitted.sample
    P, trials = at.probabilities, sample.inputs.trials
    residuals, weights = sample.successes - trials * P, trials * P * (1 - P)
    # in the window's coordinates, where no unit of an input is extreme
    G, a = at.logit_gradient @ window.axes, gradient(theta) @ window.axes
    a /= np.maximum(lengths_of(a), 1e-300)[:, None]
    score = np.einsum("tn,tnd->td", residuals, G)
    information = np.swapaxes(G * weights[..., None], 1, 2) @ G
    solved = np.linalg.solve(information, np.stack([a, score], axis=-1))
    signed = (solved[..., 0] * score).sum(axis=-1) / np.sqrt((solved[..., 0] * a).sum(axis=-1))
    return np.stack([signed, (solved[..., 1] * score).sum(axis=-1)])
