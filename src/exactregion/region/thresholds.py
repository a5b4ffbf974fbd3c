"""Thresholds: the value of an input at which the curve has a probability, such as an ED50."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exactregion.errors import InvalidValueError
from exactregion.models import Psychometric
from exactregion.region.crossings import Crossing
from exactregion.region.curves import Curves
from exactregion.region.fitted import FittedRegion
from exactregion.region.functionals import functional_bounds
from exactregion.region.intervals import Interval, interval_of, natural_region, number_text
from exactregion.region.places import (
    input_frame,
    is_number,
    levels_of,
    read_at,
    read_input,
    read_place,
    values_text,
)
from exactregion.region.search.outline import estimate_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Threshold", "ThresholdPlan", "plans_for", "threshold_table"]

Comparison = Literal["ratio", "difference"]

MOST_ROWS = 60
"""Most thresholds of one table: each is searched on its own, for a second or more, so that a table
takes a minute or two at most."""


@dataclass(frozen=True, repr=False)
class Threshold(Interval):
    """An interval for the value of an input at which P(Y=1|x) has a given probability.

    It has all that an `Interval` has, in the units of the input, and prints as text. The estimate
    is that of maximum likelihood, or the most compatible one where the likelihood has no maximum.

    Attributes
    ----------
    input : str
        The input.
    probability : float or None
        P there; None for half way between the guess rate and one minus the lapse rate.
    at : dict
        Values of the other inputs.
    assumed : tuple of str
        Those of them that were not given: numbers at their median.
    relative_to : dict or None
        Values of the other inputs at the threshold that this one is compared with.
    compare : {"ratio", "difference"} or None
        How they are compared.
    data_range : (float, float)
        Smallest and largest value of the input in the data.
    """

    input: str
    probability: float | None
    at: dict[str, Any]
    assumed: tuple[str, ...]
    relative_to: dict[str, Any] | None = None
    compare: Comparison | None = None
    data_range: tuple[float, float] = field(default=(-np.inf, np.inf))

    @property
    def extrapolates(self) -> bool:
        """Whether the estimate lies outside the range of the data; False for comparisons."""
        low, high = self.data_range
        return self.compare is None and not low <= self.estimate <= high

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as plain values."""
        changed = {"assumed": list(self.assumed), "data_range": list(self.data_range)}
        return vars(self) | changed | {"extrapolates": self.extrapolates}

    def __repr__(self) -> str:
        """Say what it is, the estimate, the interval, and how that was found."""
        lines = [self.name, f"  estimate  {number_text(self.estimate)}{self._warning()}"]
        level = f"{100 * self.coverage:.4g}%"
        how = "proven" if self.certified else "searched"
        text = f"[{number_text(self.lower)}, {number_text(self.upper)}]"
        if self.status == "empty":
            text = "empty: no member of the family fits"
        elif self.status != "bounded":
            how = f"{self.status}, {how}"
        lines.append(f"  {level:<9} {text} ({how})")
        if self.assumed:
            values = values_text({name: self.at[name] for name in self.assumed})
            lines.append(f"  at the median of inputs that are not named: {values}")
        return "\n".join(lines)

    def _warning(self) -> str:
        if np.isnan(self.estimate):
            return ": the most likely curve never has this probability"
        if not self.extrapolates:
            return ""
        low, high = self.data_range
        return f", outside the data, which go from {number_text(low)} to {number_text(high)}"


def threshold_table(
    plans: Sequence[ThresholdPlan], *, joint: bool, certify: bool | None
) -> pd.DataFrame:
    """Find several thresholds; see `ConfidenceRegion.thresholds`."""
    import pandas as pd

    columns = ["probability", "estimate", "lower", "upper", "status", "gap", "certified"]
    columns.append("extrapolates")
    found = [plan.find(joint=joint, certify=certify) for plan in plans]
    return pd.DataFrame(
        [{**one.at, **{column: getattr(one, column) for column in columns}} for one in found]
    )


def plans_for(
    fitted: FittedRegion, input: str | None, probabilities: Any, at: Any
) -> list[ThresholdPlan]:
    """Plan a threshold for each probability, at each level of inputs that `at` leaves out."""
    if isinstance(probabilities, (Real, str)) or probabilities is None:
        probabilities = (probabilities,)
    inputs = input_frame(fitted)
    name = read_input(inputs, input)
    others = inputs.drop(columns=name)
    given = read_at(others, at)
    free = {
        str(column): levels_of(others[column])
        for column in others
        if column not in given and not is_number(others[column])
    }
    number = len(probabilities) * math.prod(map(len, free.values()))
    if number > MOST_ROWS:
        raise InvalidValueError(
            f"must give levels of some of {list(free)}: with all of them there would be "
            f"{number} thresholds, and {MOST_ROWS} are the most.",
            parameter="at",
        )
    return [
        ThresholdPlan.read(
            fitted, name, probability, {**given, **dict(zip(free, levels, strict=True))}
        )
        for levels in product(*free.values())
        for probability in probabilities
    ]


@dataclass(frozen=True, eq=False)
class ThresholdPlan:
    """A threshold, a comparison of two, or a width: what is known before anything is searched."""

    fitted: FittedRegion
    inputs: pd.DataFrame
    input: str
    probability: float | None
    given: dict[str, Any]
    held: dict[str, Any]  # values of all other inputs
    relative_to: dict[str, Any] | None
    compare: Comparison | None
    inner: float | None  # of a width
    is_logarithmic: bool  # whether the input enters by its logarithm

    @classmethod
    def read(
        cls,
        fitted: FittedRegion,
        input: str | None,
        probability: Any,
        at: Any,
        *,
        relative_to: Any = None,
        compare: Any = None,
        inner: Any = None,
    ) -> ThresholdPlan:
        """Check input, probability, places and comparison."""
        _check_share(probability, "probability")
        _check_share(inner, "inner")
        inputs, name, given, held = read_place(fitted, input, at)
        others = inputs.drop(columns=name)
        if probability is None and not isinstance(fitted.model, Psychometric):
            probability = 0.5
        base, how = None, None
        # checks the input, on the region itself
        curves = Curves.along(fitted, inputs, name, held)
        scale = curves.scale
        if relative_to is not None:
            base = {**held, **read_at(others, relative_to, "relative_to")}
            how = _read_compare(compare, logarithmic=scale.is_logarithm)
            if base == held:
                raise InvalidValueError(
                    f"must differ from 'at'. Got {dict(relative_to)!r} for both instead.",
                    parameter="relative_to",
                )
        elif compare is not None:
            raise InvalidValueError(
                "goes with 'relative_to', the inputs to compare with. Got none instead.",
                parameter="compare",
            )
        if inner is not None:
            how = "ratio" if scale.is_logarithm else "difference"
            if scale.name not in ("identity", "log"):
                raise InvalidValueError(
                    "must be an input that the family takes as it is or by its logarithm. "
                    f"{name!r} enters by its {scale.name}.",
                    parameter="input",
                )
        else:
            curves.crossing(probability)
        return cls(
            fitted,
            inputs,
            name,
            probability,
            given,
            held,
            base,
            how,
            inner,
            scale.is_logarithm,
        )

    @property
    def name(self) -> str:
        """What it is, in words."""
        where = f", {values_text(self.given)}" if self.given else ""
        if self.inner is not None:
            ends = (f"{50 * (1 + sign * self.inner):.4g}%" for sign in (-1, 1))
            kind = "ratio" if self.compare == "ratio" else "width"
            return f"{self.input}, {kind} of {' to '.join(ends)} of the rise{where}"
        words = f"{self.input} {_level_text(self.probability)}"
        if self.relative_to is None:
            return words + where
        changed = [key for key, value in self.held.items() if self.relative_to[key] != value]
        mine, its = (_places_text(place, changed) for place in (self.held, self.relative_to))
        return f"{words}, {mine} {'/' if self.compare == 'ratio' else '-'} {its}"

    def find(self, *, joint: bool = False, certify: bool | None = None) -> Threshold:
        """Find the interval: bound the crossing on its scale, where it may be a ratio."""
        space, crossing = self._crossing(certify)
        estimate = crossing.x(estimate_of(space)[0][None])[0, 0]
        bounds = functional_bounds(
            space, crossing.values, crossing.ratio, joint=joint, certify=certify
        )
        if self.inner is not None and bounds.lower[0] < 0:  # members may fall where others rise
            widest = np.maximum(bounds.upper, -bounds.lower)
            bounds = replace(bounds, lower=np.zeros(1), upper=widest)
        found = interval_of(self.fitted, self.name, estimate, bounds)
        with np.errstate(over="ignore"):
            ends = bounds.mapped(crossing.scale.inverse)
        column = self.inputs[self.input]
        in_units = {key: float(getattr(ends, key)[0]) for key in ("lower", "upper", "gap")}
        return Threshold(
            **vars(found) | in_units,
            input=self.input,
            probability=self.probability,
            at=dict(self.held),
            assumed=tuple(name for name in self.held if name not in self.given),
            relative_to=None if self.relative_to is None else dict(self.relative_to),
            compare=self.compare,
            data_range=(float(column.min()), float(column.max())),
        )

    def estimate(self) -> float:
        """Compute the value at the estimate, without its interval."""
        space, crossing = self._crossing(False)
        return float(crossing.x(estimate_of(space)[0][None])[0, 0])

    def _crossing(self, certify: bool | None) -> tuple[FittedRegion, Crossing]:
        """Return the number to bound, and the region whose parameters it is of."""
        space, curves = self._curves(self.held, certify)
        if self.inner is not None:
            width = curves.width(self.inner)
            is_falling = width.values(estimate_of(space)[0][None])[0, 0] < 0
            return space, width.negative() if is_falling else width
        crossing = curves.crossing(self.probability)
        if self.relative_to is None:
            return space, crossing
        second = self._curves(self.relative_to, certify)[1].crossing(self.probability)
        is_ratio = self.compare == "ratio"
        return space, crossing.over(second) if is_ratio else crossing.minus(second)

    def _curves(self, held: dict[str, Any], certify: bool | None) -> tuple[FittedRegion, Curves]:
        """Return the curves along the input, and the region whose parameters they are of."""
        natural = natural_region(self.fitted, certify)
        if natural is not None:
            try:  # ends can be proven there, if the input enters the predictor linearly
                return natural, Curves.along(natural, self.inputs, self.input, held)
            except InvalidValueError:
                pass
        return self.fitted, Curves.along(self.fitted, self.inputs, self.input, held)


def _check_share(share: Any, parameter: str) -> None:
    if share is None:
        return
    if not isinstance(share, Real) or not 0 < float(share) < 1:
        percent = isinstance(share, Real) and 1 < float(share) < 100
        hint = f" Did you mean {float(share) / 100:g}?" if percent else ""
        raise InvalidValueError(
            f"must be between 0 and 1. Got {share!r} instead.{hint}", parameter=parameter
        )


def _read_compare(compare: Any, *, logarithmic: bool) -> Comparison:
    """Read how thresholds are compared: by a ratio where the logarithm of the input counts."""
    if compare is None:
        return "ratio" if logarithmic else "difference"
    if compare not in ("ratio", "difference"):
        raise InvalidValueError(
            f"must be 'ratio' or 'difference'. Got {compare!r} instead.", parameter="compare"
        )
    how: Comparison = compare
    return how


def _places_text(place: dict[str, Any], names: list[str]) -> str:
    """Write values; a level alone says which input it is of."""
    values = {name: place[name] for name in names}
    is_level = len(values) == 1 and isinstance(values[names[0]], str)
    return str(values[names[0]]) if is_level else values_text(values)


def _level_text(probability: float | None) -> str:
    if probability is None:
        return "at 50% of the rise"
    return f"at P = {probability:g}"
