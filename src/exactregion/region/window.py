"""Where a search starts, and the coordinates in which it measures distance.

A search starts at the maximum of a penalised likelihood, and moves in coordinates z whose unit is
one standard error. It may use the outcomes: it decides where ranks are evaluated, never which θ
are members.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaincinv

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import Sample
from exactregion.engine.information import information_of, scale_for
from exactregion.engine.levels import log_class_probabilities, numbers_of_classes
from exactregion.errors import ModelError
from exactregion.models.base import Model, evaluated
from exactregion.models.cover import starting_points
from exactregion.region.scoring import (
    few_rows,
    goes_by_chunks,
    maximise_by_chunks,
    score_and_information,
)
from exactregion.statistics import Candidates

__all__ = [
    "Membership",
    "RankFunction",
    "Window",
    "information_at",
    "lengths_of",
    "likely_parameters",
    "maximum_likelihood",
    "multiply",
    "radius_of",
    "window_at",
]

Membership = Callable[[FloatArray], FloatArray]
"""θ (T, d) to numbers (T,) that are positive for members: depths, or booleans."""

MIN_INFORMATION = 1e-4
"""Least information on a parameter, as a share of the largest at the starting points. Near a step
function the information vanishes: with a smaller share one standard error becomes so long that a
first step leaves all plausible values, with a larger one steps in flat directions are short."""

MAX_STEPS = 60
"""A limit on time: where Fisher scoring has to be damped it may take many short steps."""

MIN_GAIN = 1e-3
"""Stop where one step adds less than this to the log-likelihood. Near a step function the
likelihood increases for ever. At one standard error from its maximum it is lower by 1/2: a gain of
0.001 moves the start by a small part of that."""

LAST_GAIN, CONVERGED = 1e-12, 1e-4
"""The same for an estimate that is shown, and how far the score may be from zero there, in standard
errors: about half its digits are exact."""

EXTREME = 256
"""Gradients beyond 2²⁵⁶, or below 2⁻²⁵⁶, are worked on in other units: squares would overflow."""

CERTAIN = 2.0**-53
"""Probabilities closer to 0 or 1 count as this close for trials that were added to the data: rows
that are certain would have no likelihood at all otherwise."""

RANDOM_STARTS = 8
"""Further starting points for families with bounds, whose likelihood may have several maxima. Each
costs one maximisation; where all miss the highest, a search starts at a lower one."""

FIRST_DAMPING, DAMPING_FACTOR, LAST_DAMPING = 1e-3, 5.0, 1e8
"""Levenberg's damping, as a share of the information: at first little, so that well-behaved data
take the steps of Fisher scoring; divided by the factor after a step up, and multiplied after one
that would lead down; steps damped by the last are too short to change θ."""


@dataclass
class RankFunction:
    """A function of θ (T, d) that returns ranks (T,) and Z of the original (T,), and is counted.

    `bounds` are (low, high) of each parameter, and `evaluations` is the number of θ so far.
    `undefined` is the error of the last θ, if any, at which the family has no probabilities.
    """

    function: Callable[[FloatArray], tuple[IntArray, FloatArray]]
    bounds: FloatArray
    evaluations: int = 0
    undefined: ModelError | None = None

    def __call__(self, theta: FloatArray) -> tuple[IntArray, FloatArray]:
        """Evaluate θ (T, d), which must lie within the bounds."""
        self.evaluations += len(theta)
        return self.function(theta)


@dataclass(frozen=True, eq=False)
class Window:
    """Coordinates z in which the region is about a ball: θ = origin + axes · z.

    Columns of the axes are steps of one standard error in uncorrelated directions, and θ stays
    within the bounds (d, 2).
    """

    origin: FloatArray
    axes: FloatArray
    bounds: FloatArray

    def theta(self, z: FloatArray) -> FloatArray:
        """Return θ at coordinates z (T, d), moved into the bounds."""
        theta = self.origin + multiply(z, self.axes.T)
        return np.clip(theta, self.bounds[:, 0], self.bounds[:, 1])

    def coordinates(self, theta: FloatArray) -> FloatArray:
        """Return the coordinates z of θ (T, d)."""
        z = np.linalg.solve(self.axes, (theta - self.origin).T).T
        return np.asarray(z, dtype=np.float64)

    def scaled(self, z: FloatArray, factors: FloatArray) -> FloatArray:
        """Return the coordinates of θ times factors (T, d), but for parameters between two bounds.

        Predictors that are a multiple of another have the same zeros: sets of steep curves, which
        have no end, are cones of such multiples.
        """
        is_open = np.isinf(self.bounds).any(axis=1)
        return self.coordinates(self.theta(z) * np.where(is_open, factors, 1.0))

    def turned(
        self, z: FloatArray, one: FloatArray, other: FloatArray, share: FloatArray
    ) -> FloatArray:
        """Return the coordinates of θ moved by a share of the difference of two others.

        These are made as large as θ before, but for parameters between two bounds: differences of
        curves that are not equally steep would move a threshold by too little or too much.
        """
        is_open = np.isinf(self.bounds).any(axis=1)
        units = np.where(is_open, lengths_of(self.axes), np.inf)
        theta, first, second = map(self.theta, (z, one, other))

        def sizes(theta: FloatArray) -> FloatArray:
            return np.asarray(np.abs(theta / units).max(axis=1, keepdims=True))

        def resized(other: FloatArray) -> FloatArray:
            with np.errstate(all="ignore"):
                factor = np.nan_to_num(sizes(theta) / sizes(other), nan=1.0, posinf=1.0)
            return np.where(is_open, factor * other, other)

        return self.coordinates(theta + share * (resized(first) - resized(second)))


def radius_of(level: float, d: int) -> float:
    """Return the radius of the asymptotic region in standard errors, √χ²_d(level)."""
    return float(np.sqrt(2 * gammaincinv(d / 2, level)))


def window_at(model: Model, sample: Sample, origin: FloatArray) -> Window:
    """Return coordinates around θ from the Fisher information there."""
    bounds, units = np.array(model.bounds, dtype=np.float64), _units_of(model, sample)
    axes = axes_from(information_at(model, sample, origin, units))
    return Window(origin, units[:, None] * axes, bounds)


def multiply(rows: FloatArray, columns: FloatArray) -> FloatArray:
    """Multiply (N, d) by (d, G), so that an entry does not depend on how many others there are.

    The last bit of a matrix product does.
    """
    total = np.zeros((len(rows), columns.shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        for left, right in zip(rows.T, columns, strict=True):
            total += left[:, None] * right
    return total


def lengths_of(rows: FloatArray) -> FloatArray:
    """Return the length of each row, without squares that overflow or vanish."""
    unit = np.ldexp(1.0, np.frexp(np.abs(rows).max(axis=1, initial=0.0))[1])
    return np.asarray(np.linalg.norm(rows / unit[:, None], axis=1) * unit)


def axes_from(information: FloatArray) -> FloatArray:
    """Return A with A Aᵀ the inverse information; directions without any get long, finite steps."""
    size = np.sqrt(np.diag(information))
    unit = np.where(size > 0, 1 / np.where(size > 0, size, 1.0), 1.0)
    values, vectors = np.linalg.eigh(information * np.outer(unit, unit))
    # eigenvalues below this share are rounding errors of a singular matrix
    smallest = max(1e-8 * float(values[-1]), 1e-12)
    return np.asarray((unit[:, None] * vectors) / np.sqrt(np.maximum(values, smallest)))


def information_at(
    model: Model, sample: Sample, theta: FloatArray, units: FloatArray | float = 1.0
) -> FloatArray:
    """Return the Fisher information at one θ, kept above `MIN_INFORMATION`: shape (d, d).

    That of parameters in these units (d,).
    """
    places = [theta, *starting_points(model, RANDOM_STARTS)]
    if goes_by_chunks(model, sample):
        found = (score_and_information(model, sample, at, units)[1] for at in places)
    else:
        rows = _Rows(model, sample)
        found = (_gradient_and_information(rows.at(at), units)[1] for at in places)
    information, *elsewhere = found
    least = MIN_INFORMATION * np.max([np.diag(one) for one in elsewhere], axis=0)
    return information + np.diag(np.maximum(least - np.diag(information), 0.0))


def likely_parameters(model: Model, sample: Sample) -> FloatArray:
    """Maximise the likelihood of the data and d more trials, half of them successes.

    The added trials are spread over the rows, as pseudo-observations: they keep the maximum finite
    where the data are separated, and matter little elsewhere.
    """
    if goes_by_chunks(model, sample):
        start, d = likely_parameters(model, few_rows(sample)), len(model.bounds)
        units = _units_of(model, sample)
        found = maximise_by_chunks(model, sample, start, units, added=d, least_gain=MIN_GAIN)
        if found is not None:
            return found
    added = model.n_parameters(sample.inputs.X)
    rows = _Rows(model, sample)
    maxima = [
        _maximise(rows, start, added=added) for start in starting_points(model, RANDOM_STARTS)
    ]
    highest = max(value for value, _ in maxima)
    likely = [theta for value, theta in maxima if value >= highest - MIN_GAIN]
    return min(likely, key=lambda theta: float(np.abs(theta).max()))


def maximum_likelihood(model: Model, sample: Sample, start: FloatArray) -> FloatArray | None:
    """Maximise the likelihood of the data alone; None where it seems to have no finite maximum."""
    if goes_by_chunks(model, sample):
        units = _units_of(model, sample)
        return maximise_by_chunks(model, sample, start, units, added=0, least_gain=LAST_GAIN)
    rows = _Rows(model, sample)
    value, theta = _maximise(rows, start, added=0, least_gain=LAST_GAIN)
    candidates = rows.at(theta)
    gradient, information = _gradient_and_information(candidates, rows.units)
    score = gradient @ (sample.successes - sample.inputs.trials * candidates.probabilities[0])
    low, high = np.array(model.bounds).T
    inside = (theta > low) & (theta < high)
    with np.errstate(all="ignore"):
        standard = np.abs(score) / np.sqrt(np.diag(information))
    is_maximum = np.isfinite(value) and (standard[inside] < CONVERGED).all()
    return theta if is_maximum else None


@dataclass(frozen=True, eq=False)
class _Rows:
    """A family on the rows of a sample: what does not depend on θ is computed once."""

    model: Model
    sample: Sample

    @cached_property
    def _evaluate(self) -> Callable[[FloatArray], FloatArray]:
        X = self.sample.inputs.X
        return self.model.on_rows(X) or (lambda theta: evaluated(self.model, theta, X))

    @cached_property
    def _gradient(self) -> FloatArray | None:
        """The gradient of the logit, where it is the same for every θ."""
        if not self.model.has_constant_gradient:
            return None
        inputs = self.sample.inputs
        gradient = self.model.logit_gradient(starting_points(self.model, 0)[0][None], inputs.X)
        return np.where(np.isfinite(gradient), gradient, 0.0)

    def at(self, theta: FloatArray) -> Candidates:
        """Evaluate one θ (d,)."""
        P = np.asarray(self._evaluate(theta[None]), dtype=np.float64)
        sample = self.sample
        return Candidates(
            sample.inputs, P, sample.is_counts, self.model, theta[None], self._gradient
        )

    @cached_property
    def units(self) -> FloatArray:
        """Units of the parameters, powers of two (d,): other than 1 for extreme inputs only."""
        start = starting_points(self.model, 0)[0]
        largest = np.abs(self.at(start).logit_gradient[0]).max(axis=0)
        is_extreme = np.abs(np.frexp(largest)[1]) > EXTREME
        return np.where(is_extreme, scale_for(largest), 1.0)


def _units_of(model: Model, sample: Sample) -> FloatArray:
    """Return units of the parameters; a few rows say which inputs are extreme."""
    return _Rows(model, few_rows(sample) if goes_by_chunks(model, sample) else sample).units


def _gradient_and_information(
    candidates: Candidates, units: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Return the gradient of the logit at the first candidate, (d, n), and its information."""
    gradient = np.ascontiguousarray(np.moveaxis(candidates.logit_gradient * units, -1, 1))
    information = information_of(gradient, candidates.probabilities, candidates.inputs)
    return gradient[0], information[0]


def _maximise(
    rows: _Rows, theta: FloatArray, *, added: int, least_gain: float = MIN_GAIN
) -> tuple[float, FloatArray]:
    """Maximise by Fisher scoring with Levenberg's damping: log-likelihood and θ."""
    sample, units = rows.sample, rows.units
    inputs, levels = sample.inputs, sample.inputs.levels
    low, high = np.array(rows.model.bounds).T
    # added trials are spread over the rows, in equal shares for all classes
    extra = inputs.trials * (added * levels / inputs.total)
    # how many of them have at least level k
    shares = np.tile(np.arange(levels, 0, -1) / (levels + 1), len(inputs) // levels)
    successes, trials = sample.successes + extra * shares, inputs.trials + extra
    observed = numbers_of_classes(sample.successes, inputs.trials, levels)
    numbers = numbers_of_classes(successes, trials, levels)

    def log_likelihood(at: FloatArray) -> float:
        P = rows.at(at).probabilities
        logs = log_class_probabilities(P, levels)[0]
        with np.errstate(invalid="ignore"):
            total = float(np.where(numbers > 0, numbers * logs, 0.0).sum(axis=1).sum())
        if not np.isfinite(total):
            # rows that are certain: outcomes count as they are, and trials that are added a little
            likely = log_class_probabilities(np.clip(P, CERTAIN, 1 - CERTAIN), levels)[0]
            pseudo = (numbers - observed) * np.maximum(likely, np.log(CERTAIN))
            with np.errstate(invalid="ignore"):
                seen = np.where(observed > 0, observed * logs, 0.0)
            total = float((seen + pseudo).sum())
        return total if np.isfinite(total) else -np.inf

    highest, damping = log_likelihood(theta), FIRST_DAMPING
    for _ in range(MAX_STEPS):
        candidates = rows.at(theta)
        gradient, information = _gradient_and_information(candidates, units)
        score = gradient @ (successes - trials * candidates.probabilities[0])
        # positive where there is no information, so that the damped matrix can be inverted
        size = np.diag(information) + 1e-12 * max(float(np.diag(information).max()), 1e-12)
        # at a bound that the score points past, a parameter stays: its share of the step is cut
        held = ((theta <= low) & (score < 0)) | ((theta >= high) & (score > 0))
        damped = information + damping * np.diag(size)
        damped[held], damped[:, held] = 0.0, 0.0
        damped[held, held] = 1.0
        step = np.linalg.solve(damped, np.where(held, 0.0, score))
        proposal = np.clip(theta + units * step, low, high)
        value = log_likelihood(proposal)
        if value > highest:
            gain, theta, highest = value - highest, proposal, value
            damping /= DAMPING_FACTOR
            if gain < least_gain:
                break
        else:
            damping *= DAMPING_FACTOR
            if damping > LAST_DAMPING:
                break
    return highest, theta
