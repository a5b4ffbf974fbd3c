"""Mixtures: the two classes have densities φ₊ and φ₋, and P(Y=+1) = p (eq. 9 of the paper).

P_θ(Y=+1|x) = p φ₊(x) / (p φ₊(x) + (1 - p) φ₋(x))

With several inputs a density is the product of the densities of the columns.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

from exactregion._typing import FloatArray, IntArray
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models.base import Bounds, Model, as_matrix
from exactregion.models.linear import Logistic

TINY = float(np.finfo(np.float64).tiny)
"""Lowest scale of a density of scipy.stats, which is not defined at 0."""


class _TwoDensities(Model):
    """The posterior probability of two densities; a subclass supplies `log_ratio`.

    The first parameter is p = P(Y=+1).
    """

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns of the inputs."""

    @abstractmethod
    def log_ratio(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute log φ₊(x) - log φ₋(x) for a batch and inputs (n, d): shape (T, n)."""

    def check_inputs(self, X: Any) -> None:
        """Check the number of columns."""
        self._matrix(X)

    def _matrix(self, X: Any) -> FloatArray:
        matrix = as_matrix(X)
        if matrix.shape[1] != self.width:
            columns = "one column" if self.width == 1 else f"{self.width} columns"
            raise InvalidValueError(
                f"must have {columns} for {type(self).__name__}. Got {matrix.shape[1]} instead.",
                parameter="X",
            )
        return matrix

    def evaluate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute expit(logit p + log φ₊(x) - log φ₋(x))."""
        p = theta[:, :1]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            logit = np.log(p) - np.log1p(-p) + self.log_ratio(theta, self._matrix(X))
        # p = 0 or 1 is a certainty whatever the density ratio
        return np.where((p == 0) | (p == 1), p, expit(logit))


@dataclass(frozen=True)
class _LocationMixture(_TwoDensities):
    """Two densities with known locations and one scale: parameters (p, scale).

    A subclass supplies the advantage a(x) of one column, with log φ₊/φ₋ = Σ a(x) / scale^power.
    """

    locations: Any = (1.0, -1.0)

    parameter_names = ("p", "scale")
    bounds = ((0.0, 1.0), (0.0, np.inf))  # at scale 0 the limit is taken
    power = 1

    def __post_init__(self) -> None:
        try:
            pair = np.asarray(self.locations, dtype=np.float64)
        except (TypeError, ValueError):
            pair = np.empty(0)
        if (
            pair.ndim not in (1, 2)
            or len(pair) != 2
            or not pair.size
            or not np.isfinite(pair).all()
        ):
            raise InvalidValueError(
                "must be two finite numbers, (positive, negative), or two points with as many "
                f"coordinates as there are inputs. Got {self.locations!r} instead.",
                parameter="locations",
            )

    @property
    def _pair(self) -> FloatArray:
        """Locations of the positive and of the negative class: shape (2, d)."""
        return np.asarray(self.locations, dtype=np.float64).reshape(2, -1)

    @property
    def width(self) -> int:
        """One column per coordinate of the locations."""
        return int(self._pair.shape[1])

    @abstractmethod
    def advantages(self, X: FloatArray) -> FloatArray:
        """Compute the log density ratio at scale 1 of every column: shape (n, d)."""

    def advantage(self, X: Any) -> FloatArray:
        """Compute the log density ratio at scale 1, a sum over columns: shape (n,)."""
        return np.asarray(self.advantages(self._matrix(X)).sum(axis=1))

    def log_ratio(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute a(x) / scale^power, with the limit at a = 0 where the scale is 0."""
        a, scale = self.advantage(X), theta[:, 1:]
        return np.where(a == 0, 0.0, a / scale**self.power)

    def distinct_rows(self, X: Any) -> tuple[Any, IntArray] | None:
        """Return one row per advantage, which is all that a probability depends on.

        Beyond the locations of Laplace densities all rows have one of two.
        """
        kind = type(self)
        if (kind.evaluate, kind.log_ratio) != (_TwoDensities.evaluate, _LocationMixture.log_ratio):
            return None
        X = self._matrix(X)
        _, first, which = np.unique(self.advantage(X), return_index=True, return_inverse=True)
        return X[first], which

    def natural(self) -> Model:
        """Return the logistic family with the parameters (logit p, 1 / scale^power)."""
        return _NaturalMixture(feature_names=("x",), mixture=self)

    def differentiate(self, theta: FloatArray, X: Any) -> FloatArray:
        """Compute (1 / (p (1 - p)), -power · a(x) / scale^(power + 1))."""
        a = self.advantage(X)
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
    bounds = ((-np.inf, np.inf), (0.0, np.inf))

    def linear_design(self, X: Any) -> FloatArray:
        """Return (1, a(x))."""
        a = self.mixture.advantage(X)
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

    φ±(x) = exp(-|x - μ±| / scale) / (2 scale), parameters θ = (p, scale). With several inputs it is
    the product over the columns.

    Parameters
    ----------
    locations : (float, float) or two points
        (μ₊, μ₋), the locations of the positive and of the negative class; with d inputs, two
        sequences of d numbers.

    Examples
    --------
    >>> LaplaceMixture(locations=(1, -1)).probabilities([0.5, 1.0], [-1.0, 0.0, 1.0]).round(3)
    array([0.119, 0.5  , 0.881])
    """

    def advantages(self, X: FloatArray) -> FloatArray:
        """Compute |x - μ₋| - |x - μ₊|, in a form without cancellation at large x."""
        plus, minus = self._pair
        most = np.abs(plus - minus)
        sign = np.where(plus >= minus, 1.0, -1.0)
        return np.asarray(sign * np.clip(2 * (X - (plus + minus) / 2), -most, most))


class GaussianMixture(_LocationMixture):
    """Two Gaussian densities with known locations: parameters θ = (p, scale).

    With several inputs both densities are isotropic: one scale for all columns.

    Parameters
    ----------
    locations : (float, float) or two points
        (μ₊, μ₋), the locations of the positive and of the negative class; with d inputs, two
        sequences of d numbers.

    Examples
    --------
    >>> GaussianMixture(locations=(1, -1)).probabilities([0.5, 1.0], [-1.0, 0.0, 1.0]).round(3)
    array([0.119, 0.5  , 0.881])
    >>> plane = GaussianMixture(locations=((1, 0), (-1, 0)))
    >>> plane.probabilities([0.5, 1.0], [[-1.0, 3.0], [1.0, 3.0]]).round(3)
    array([0.119, 0.881])
    """

    power = 2

    def advantages(self, X: FloatArray) -> FloatArray:
        """Compute ((x - μ₋)² - (x - μ₊)²) / 2, in a form without cancellation at large x."""
        plus, minus = self._pair
        return np.asarray((plus - minus) * (X - (plus + minus) / 2))


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
    positive_fixed, negative_fixed : mapping of str to float or to a sequence of floats
        Known parameters. With d inputs at least one of them is a sequence of d numbers, one per
        column; the density is the product over the columns, which share all other parameters.
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

    Two inputs, which are independent in each class:

    >>> plane = Mixture(
    ...     stats.logistic, stats.logistic, {"loc": (1, 1)}, {"loc": (-1, 0)}, shared=("scale",)
    ... )
    >>> plane.probabilities([0.5, 1.0], [[0.0, 0.5], [1.0, 1.0]]).round(3)
    array([0.5  , 0.752])
    """

    positive: Any
    negative: Any
    positive_fixed: Mapping[str, Any] = field(default_factory=dict)
    negative_fixed: Mapping[str, Any] = field(default_factory=dict)
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
        widths = self._widths()
        if len(widths) > 1 or any(ndim > 1 or length == 0 for ndim, length in widths):
            raise InvalidValueError(
                "The fixed parameters of Mixture must be numbers, or sequences with one number per "
                "column. Got sequences of different or no length instead."
            )

    def _widths(self) -> set[tuple[int, int]]:
        """Dimensions and lengths of the fixed parameters that are sequences."""
        known = (*self.positive_fixed.values(), *self.negative_fixed.values())
        return {(np.ndim(value), np.size(value)) for value in known if np.ndim(value)}

    @property
    def width(self) -> int:
        """The length of the fixed parameters that are sequences, or one column."""
        return max((length for _, length in self._widths()), default=1)

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

    def log_ratio(self, theta: FloatArray, X: FloatArray) -> FloatArray:
        """Compute the difference of the log densities."""
        values = {name: theta[:, i, None, None] for i, name in enumerate(self.parameter_names)}
        plus = self._log_density("positive", values, X)
        minus = self._log_density("negative", values, X)
        # where both densities vanish, x favours neither class
        return np.where(np.isneginf(plus) & np.isneginf(minus), 0.0, plus - minus)

    def _log_density(
        self, side: str, values: Mapping[str, FloatArray], X: FloatArray
    ) -> FloatArray:
        known = getattr(self, f"{side}_fixed")
        arguments = {name: np.asarray(value) for name, value in known.items()}
        arguments |= {name: values[name] for name in self.shared}
        arguments |= {name: values[f"{side}_{name}"] for name in self._free(side)}
        return np.asarray(getattr(self, side).logpdf(X, **arguments).sum(axis=-1))
