"""Mixtures: the two classes have densities φ₊ and φ₋, and P(Y=+1) = p (eq. 8 of the paper).

P_θ(Y=+1|x) = p φ₊(x) / (p φ₊(x) + (1 - p) φ₋(x))
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

from exactregion._typing import FloatArray
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models.base import Bounds, Model, as_matrix
from exactregion.models.linear import Logistic

__all__ = ["GaussianMixture", "LaplaceMixture", "Mixture"]

TINY = float(np.finfo(np.float64).tiny)
"""Lowest scale of a density of scipy.stats, which is not defined at 0."""


class _TwoDensities(Model):
    """The posterior probability of two densities; a subclass supplies `log_ratio`.

    The first parameter is p = P(Y=+1), and the inputs are one column.
    """

    @abstractmethod
    def log_ratio(self, theta: FloatArray, x: FloatArray) -> FloatArray:
        """Compute log φ₊(x) - log φ₋(x) for a batch: shape (T, n)."""

    def check_inputs(self, X: Any) -> None:
        """Check that there is one column."""
        self._column(X)

    def _column(self, X: Any) -> FloatArray:
        matrix = as_matrix(X)
        if matrix.shape[1] != 1:
            raise InvalidValueError(
                f"must have one column for {type(self).__name__}. Got {matrix.shape[1]} instead.",
                parameter="X",
            )
        return matrix[:, 0]

    def evaluate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute expit(logit p + log φ₊(x) - log φ₋(x))."""
        p, x = theta[:, :1], self._column(X)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            logit = np.log(p) - np.log1p(-p) + self.log_ratio(theta, x)
        # p = 0 or 1 is a certainty whatever the density ratio
        return np.where((p == 0) | (p == 1), p, expit(logit))


@dataclass(frozen=True)
class _LocationMixture(_TwoDensities):
    """Two densities with known locations and one scale: parameters (p, scale).

    A subclass supplies the advantage a(x), with log φ₊/φ₋ = a(x) / scale^power.
    """

    locations: tuple[float, float] = (1.0, -1.0)

    parameter_names = ("p", "scale")
    bounds = ((0.0, 1.0), (0.0, np.inf))  # at scale 0 the limit is taken
    power = 1

    def __post_init__(self) -> None:
        try:
            pair = np.asarray(self.locations, dtype=np.float64)
        except (TypeError, ValueError):
            pair = np.empty(0)
        if pair.shape != (2,) or not np.isfinite(pair).all():
            raise InvalidValueError(
                "must be two finite numbers, "
                f"(positive, negative). Got {self.locations!r} instead.",
                parameter="locations",
            )

    @abstractmethod
    def advantage(self, x: FloatArray) -> FloatArray:
        """Compute the log density ratio at scale 1."""

    def log_ratio(self, theta: FloatArray, x: FloatArray) -> FloatArray:
        """Compute a(x) / scale^power, with the limit at a = 0 where the scale is 0."""
        a, scale = self.advantage(x), theta[:, 1:]
        return np.where(a == 0, 0.0, a / scale**self.power)

    def natural(self) -> Model:
        """Return the logistic family with the parameters (logit p, 1 / scale^power)."""
        return _NaturalMixture(feature_names=("x",), mixture=self)

    def differentiate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute (1 / (p (1 - p)), -power · a(x) / scale^(power + 1))."""
        a = self.advantage(self._column(X))
        p, scale = theta[:, :1], theta[:, 1:]
        in_p = np.broadcast_to(1 / (p * (1 - p)), (len(theta), len(a)))
        in_scale = np.where(a == 0, 0.0, -self.power * a / scale ** (self.power + 1))
        return np.stack([in_p, in_scale], axis=-1)


@dataclass(frozen=True)
class _NaturalMixture(Logistic):
    """A location mixture by its natural parameters, (logit p, 1 / scale^power).

    The logit of P is logit p + a(x) / scale^power, so that it is a logistic family in a(x).
    """

    mixture: _LocationMixture = field(kw_only=True)

    parameter_names = ("logit p", "slope")
    natural_bounds = ((-np.inf, np.inf), (0.0, np.inf))

    def linear_design(self, X: Any) -> FloatArray:
        """Return (1, a(x))."""
        a = self.mixture.advantage(self.mixture._column(X))
        return np.column_stack([np.ones_like(a), a])

    def evaluate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute expit of the linear predictor."""
        a = self.linear_design(X)[:, 1]
        return self.inverse_link(theta[:, :1] + theta[:, 1:] * a)

    def differentiate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Return (1, a(x))."""
        design = self.linear_design(X)
        return np.broadcast_to(design, (len(theta), *design.shape))

    def logit_curvature(self, eta: FloatArray) -> FloatArray:
        """Return zeros: η is the logit."""
        return np.zeros_like(eta)

    def from_natural(self, natural: FloatArray) -> FloatArray:
        """Return (p, scale)."""
        with np.errstate(divide="ignore"):
            scale = np.maximum(natural[:, 1], 0.0) ** (-1 / self.mixture.power)
        return np.stack([expit(natural[:, 0]), scale], axis=-1)


class LaplaceMixture(_LocationMixture):
    """Two Laplace densities with known locations: the experiment of the paper.

    φ±(x) = exp(-|x - μ±| / scale) / (2 scale), parameters θ = (p, scale).

    Parameters
    ----------
    locations : (float, float)
        (μ₊, μ₋), the locations of the positive and of the negative class.

    Examples
    --------
    >>> LaplaceMixture(locations=(1, -1)).probabilities([0.5, 1.0], [-1.0, 0.0, 1.0]).round(3)
    array([0.119, 0.5  , 0.881])
    """

    def advantage(self, x: FloatArray) -> FloatArray:
        """Compute |x - μ₋| - |x - μ₊|, in a form without cancellation at large x."""
        plus, minus = self.locations
        most = abs(plus - minus)
        sign = 1.0 if plus >= minus else -1.0
        return sign * np.clip(2 * (x - (plus + minus) / 2), -most, most)


class GaussianMixture(_LocationMixture):
    """Two Gaussian densities with known locations: parameters θ = (p, scale).

    Parameters
    ----------
    locations : (float, float)
        (μ₊, μ₋), the locations of the positive and of the negative class.

    Examples
    --------
    >>> GaussianMixture(locations=(1, -1)).probabilities([0.5, 1.0], [-1.0, 0.0, 1.0]).round(3)
    array([0.119, 0.5  , 0.881])
    """

    power = 2

    def advantage(self, x: FloatArray) -> FloatArray:
        """Compute ((x - μ₋)² - (x - μ₊)²) / 2, in a form without cancellation at large x."""
        plus, minus = self.locations
        return (plus - minus) * (x - (plus + minus) / 2)


@dataclass(frozen=True)
class Mixture(_TwoDensities):
    """Any two densities of `scipy.stats`, with known, free and shared parameters.

    The parameters θ are p = P(Y=+1), then the shared ones, then the free ones of the positive
    and of the negative density ("positive_loc", "negative_scale", …). What is neither shared
    nor fixed is free.

    Parameters
    ----------
    positive, negative : scipy.stats distributions
        The families of φ₊ and φ₋; their parameters are their shapes, "loc" and "scale".
    positive_fixed, negative_fixed : mapping of str to float
        Known parameters.
    shared : tuple of str
        Parameters that both densities have and that are one and the same in both.

    Examples
    --------
    >>> from scipy import stats
    >>> model = Mixture(
    ...     stats.laplace, stats.laplace, {"loc": 1.0}, {"loc": -1.0}, shared=("scale",)
    ... )
    >>> model.parameter_names
    ('p', 'scale')
    >>> model.probabilities([0.5, 1.0], [-1.0, 0.0, 1.0]).round(3)
    array([0.119, 0.5  , 0.881])
    """

    positive: Any
    negative: Any
    positive_fixed: Mapping[str, float] = field(default_factory=dict)
    negative_fixed: Mapping[str, float] = field(default_factory=dict)
    shared: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.shared, str):
            raise InvalidTypeError(
                f"of Mixture must be a tuple of names. Got the string {self.shared!r} instead.",
                parameter="shared",
            )
        for side, fixed in (("positive", self.positive_fixed), ("negative", self.negative_fixed)):
            known = self._density_parameters(side)
            for name in (*fixed, *self.shared):
                if name not in known:
                    raise InvalidValueError(
                        f"The parameters of the {side} density must be of {list(known)}. "
                        f"Got {name!r} instead."
                    )
            both = set(fixed) & set(self.shared)
            if both:
                raise InvalidValueError(
                    "A parameter of Mixture must be either shared or fixed. "
                    f"Got {sorted(both)} in both instead."
                )

    def _density_parameters(self, side: str) -> tuple[str, ...]:
        density = getattr(self, side)
        if not hasattr(density, "logpdf") or not hasattr(density, "shapes"):
            raise InvalidTypeError(
                f"of Mixture must be a continuous distribution of "
                f"scipy.stats, such as scipy.stats.norm. Got {density!r} instead.",
                parameter=side,
            )
        shapes = density.shapes.replace(" ", "").split(",") if density.shapes else []
        return (*shapes, "loc", "scale")

    def _free(self, side: str) -> list[str]:
        bound = {*getattr(self, f"{side}_fixed"), *self.shared}
        return [name for name in self._density_parameters(side) if name not in bound]

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The prior p, the shared parameters, and the free ones of each density."""
        free = [f"{side}_{name}" for side in ("positive", "negative") for name in self._free(side)]
        return ("p", *self.shared, *free)

    @property
    def bounds(self) -> Bounds:
        """The prior p in [0, 1], scales > 0, no bounds for the others."""
        return tuple(
            (0.0, 1.0) if name == "p" else (TINY if name.endswith("scale") else -np.inf, np.inf)
            for name in self.parameter_names
        )

    def log_ratio(self, theta: FloatArray, x: FloatArray) -> FloatArray:
        """Compute the difference of the log densities."""
        values = {name: theta[:, i : i + 1] for i, name in enumerate(self.parameter_names)}
        plus = self._log_density("positive", values, x)
        minus = self._log_density("negative", values, x)
        # where both densities vanish, x favours neither class
        return np.where(np.isneginf(plus) & np.isneginf(minus), 0.0, plus - minus)

    def _log_density(
        self, side: str, values: Mapping[str, FloatArray], x: FloatArray
    ) -> FloatArray:
        arguments = dict(getattr(self, f"{side}_fixed"))
        arguments |= {name: values[name] for name in self.shared}
        arguments |= {name: values[f"{side}_{name}"] for name in self._free(side)}
        return np.asarray(getattr(self, side).logpdf(x, **arguments))
