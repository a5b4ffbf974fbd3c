"""Thresholds: the value of an input at which the curve has a probability, such as an ED50."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from itertools import product
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exactregion.data.table import did_you_mean, shown_names
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models import Psychometric
from exactregion.region.crossings import Crossing, Path
from exactregion.region.fitted import FittedRegion
from exactregion.region.intervals import Interval, functional_bounds, interval_of
from exactregion.region.natural import natural_region
from exactregion.region.places import (
    input_frame,
    is_number,
    levels_of,
    read_at,
    usual_values,
    values_text,
)
from exactregion.region.summary import best_estimate

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Comparison", "Threshold", "threshold_at", "threshold_table", "width_at"]

Comparison = Literal["ratio", "difference"]

MOST_ROWS = 60
"""Most thresholds of one table: each is searched on its own, for a second or more."""


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
        Those of them that nobody gave: numbers at their median.
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
        found = {one.name: getattr(self, one.name) for one in fields(self)}
        found |= {"extrapolates": self.extrapolates, "assumed": list(self.assumed)}
        return found | {"data_range": list(self.data_range)}

    def __repr__(self) -> str:
        """Say what it is, the estimate, the interval, and how that was found."""
        lines = [f"{self.name}", f"  estimate  {_number(self.estimate)}{self._warning()}"]
        level = f"{100 * self.coverage:.4g}%"
        how = "proven" if self.certified else "searched"
        text = f"[{_number(self.lower)}, {_number(self.upper)}]"
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
        return f", outside the data, which go from {_number(low)} to {_number(high)}"


def threshold_at(
    fitted: FittedRegion,
    input: str | None = None,
    probability: float | None = None,
    *,
    at: Any = None,
    relative_to: Any = None,
    compare: str | None = None,
    joint: bool = False,
    certify: bool | None = None,
) -> Threshold:
    """Find the interval of a threshold; see `ConfidenceRegion.threshold`."""
    inputs = input_frame(fitted)
    name = _read_input(inputs, input)
    _check_probability(probability)
    others = inputs.drop(columns=name)
    given = read_at(others, at)
    held, assumed = _held(others, given, name)
    if probability is None and not isinstance(fitted.model, Psychometric):
        probability = 0.5
    space, path = _path(fitted, inputs, name, held, certify)
    crossing = path.crossing(probability)
    words = f"{name} {_level_text(probability)}"
    where = f", {values_text(given)}" if given else ""
    base, how = None, None
    if relative_to is not None:
        base = {**given, **read_at(others, relative_to, "relative_to")}
        how = _read_compare(compare, logarithmic=path.scale.is_logarithm)
        _, other = _path(fitted, inputs, name, {**held, **base}, certify)
        second = other.crossing(probability)
        crossing = crossing.over(second) if how == "ratio" else crossing.minus(second)
        differing = {key: held[key] for key in base if base[key] != held[key]}
        if not differing:
            raise InvalidValueError(
                f"must differ from 'at'. Got {dict(relative_to)!r} for both instead.",
                parameter="relative_to",
            )
        against = values_text({key: base[key] for key in differing})
        sign = "over" if how == "ratio" else "minus"
        where = f", {values_text(differing)} {sign} {against}"
        words = f"{how.capitalize()} of {words}"
    elif compare is not None:
        raise InvalidValueError(
            "goes with 'relative_to', the inputs to compare with. Got no such instead.",
            parameter="compare",
        )
    return _threshold(
        fitted,
        space,
        crossing,
        joint=joint,
        certify=certify,
        name=words + where,
        input=name,
        probability=probability,
        at=held,
        assumed=assumed,
        relative_to=base,
        compare=how,
        data_range=_range(inputs, name),
    )


def width_at(
    fitted: FittedRegion,
    input: str | None = None,
    inner: float = 0.9,
    *,
    at: Any = None,
    joint: bool = False,
    certify: bool | None = None,
) -> Threshold:
    """Find the interval of the width of a curve; see `ConfidenceRegion.width`."""
    inputs = input_frame(fitted)
    name = _read_input(inputs, input)
    if not (isinstance(inner, Real) and 0 < float(inner) < 1):
        raise InvalidValueError(
            f"must be a share between 0 and 1. Got {inner!r} instead.", parameter="inner"
        )
    others = inputs.drop(columns=name)
    given = read_at(others, at)
    held, assumed = _held(others, given, name)
    space, path = _path(fitted, inputs, name, held, certify)
    if path.scale.name not in ("identity", "log"):
        raise InvalidValueError(
            f"must be an input that the formula takes as it is or by its logarithm. {name!r} "
            f"enters by its {path.scale.name}.",
            parameter="input",
        )
    crossing = path.width(float(inner))
    if crossing.values(best_estimate(space)[None])[0, 0] < 0:  # a falling curve
        crossing = crossing.negative()
    ends = f"{100 * (1 - inner) / 2:.4g}% to {100 * (1 + inner) / 2:.4g}%"
    how: Comparison = "ratio" if path.scale.is_logarithm else "difference"
    kind = "Width" if how == "difference" else "Width, as a ratio"
    where = f", {values_text(given)}" if given else ""
    return _threshold(
        fitted,
        space,
        crossing,
        joint=joint,
        certify=certify,
        is_length=True,
        name=f"{kind}: {name} from {ends} of the rise{where}",
        input=name,
        probability=None,
        at=held,
        assumed=assumed,
        relative_to=None,
        compare=how,
        data_range=_range(inputs, name),
    )


def threshold_table(
    fitted: FittedRegion,
    input: str | None = None,
    probabilities: Any = (0.5,),
    *,
    at: Any = None,
    joint: bool = False,
    certify: bool | None = None,
) -> pd.DataFrame:
    """Find several thresholds; see `ConfidenceRegion.thresholds`."""
    import pandas as pd

    found = all_thresholds(fitted, input, probabilities, at=at, joint=joint, certify=certify)
    columns = ["probability", "estimate", "lower", "upper", "status", "gap", "certified"]
    rows = [
        {**one.at, **{column: getattr(one, column) for column in [*columns, "extrapolates"]}}
        for one in found
    ]
    return pd.DataFrame(rows)


def all_thresholds(
    fitted: FittedRegion,
    input: str | None = None,
    probabilities: Any = (0.5,),
    *,
    at: Any = None,
    joint: bool = False,
    certify: bool | None = None,
) -> list[Threshold]:
    """Find a threshold for each probability, at each level of inputs that `at` leaves out."""
    inputs = input_frame(fitted)
    name = _read_input(inputs, input)
    if isinstance(probabilities, (Real, str)) or probabilities is None:
        probabilities = (probabilities,)
    for probability in probabilities:
        _check_probability(probability, "probabilities")
    others = inputs.drop(columns=name)
    given = read_at(others, at)
    free = {
        str(column): levels_of(others[column])
        for column in others
        if column not in given and not is_number(others[column])
    }
    number = int(np.prod([len(levels) for levels in free.values()], initial=1))
    if number * len(probabilities) > MOST_ROWS:
        raise InvalidValueError(
            f"must give the levels of some of {list(free)}: all of them would be "
            f"{number * len(probabilities)} thresholds, and {MOST_ROWS} are the most.",
            parameter="at",
        )
    return [
        threshold_at(
            fitted,
            name,
            probability,
            at={**given, **dict(zip(free, levels, strict=True))},
            joint=joint,
            certify=certify,
        )
        for levels in product(*free.values())
        for probability in probabilities
    ]


def _threshold(
    fitted: FittedRegion,
    space: FittedRegion,
    crossing: Crossing,
    *,
    joint: bool,
    certify: bool | None,
    is_length: bool = False,
    **facts: Any,
) -> Threshold:
    """Bound a crossing on its scale, where it may be a ratio, and return its ends as x."""
    estimate = crossing.x(best_estimate(space)[None])[0, 0]
    bounds = functional_bounds(space, crossing.values, crossing.ratio, joint=joint, certify=certify)
    if is_length and bounds.lower[0] < 0:  # members may fall where others rise
        widest = np.maximum(bounds.upper, -bounds.lower)
        bounds = replace(bounds, lower=np.zeros(1), upper=widest)
    found = interval_of(fitted, facts.pop("name"), estimate, bounds)
    with np.errstate(over="ignore"):
        ends = bounds.mapped(crossing.scale.inverse)
    values = {one.name: getattr(found, one.name) for one in fields(Interval)}
    values |= {
        "lower": float(ends.lower[0]),
        "upper": float(ends.upper[0]),
        "gap": float(ends.gap[0]),
    }
    return Threshold(**values, **facts)


def _path(
    fitted: FittedRegion,
    inputs: pd.DataFrame,
    name: str,
    held: dict[str, Any],
    certify: bool | None,
) -> tuple[FittedRegion, Path]:
    """Return the region whose parameters the numbers are of, and the curves along the input.

    Families that are linear in other parameters are taken by these, where the input is linear.
    """
    natural = natural_region(fitted, certify)
    if natural is not None:
        try:
            return natural, Path.along(natural, inputs, name, held)
        except InvalidValueError:
            pass
    return fitted, Path.along(fitted, inputs, name, held)


def _read_input(inputs: pd.DataFrame, input: Any) -> str:
    """Return the input that is meant; the only number if none is named."""
    names = [str(name) for name in inputs.columns]
    if input is None:
        numbers = [name for name in names if is_number(inputs[name])]
        if len(numbers) != 1:
            raise InvalidValueError(
                f"must name the input, one of {shown_names(numbers or names)}. Got none instead.",
                parameter="input",
            )
        return numbers[0]
    if not isinstance(input, str):
        raise InvalidTypeError(
            f"must be the name of an input. Got {type(input).__name__} instead.",
            parameter="input",
        )
    if input not in names:
        raise InvalidValueError(
            f"must be one of {shown_names(names)}. Got {input!r} instead."
            f"{did_you_mean(input, names)}",
            parameter="input",
        )
    return input


def _check_probability(probability: Any, parameter: str = "probability") -> None:
    if probability is None:
        return
    if not isinstance(probability, Real) or not 0 < float(probability) < 1:
        percent = isinstance(probability, Real) and 1 < float(probability) < 100
        hint = f" Did you mean {float(probability) / 100:g}?" if percent else ""
        raise InvalidValueError(
            f"must be between 0 and 1. Got {probability!r} instead.{hint}",
            parameter=parameter,
        )


def _read_compare(compare: Any, *, logarithmic: bool) -> Comparison:
    """Read how thresholds are compared: by a ratio where the logarithm of the input counts."""
    if compare is None:
        return "ratio" if logarithmic else "difference"
    if compare == "ratio":
        return "ratio"
    if compare == "difference":
        return "difference"
    raise InvalidValueError(
        f"must be 'ratio' or 'difference'. Got {compare!r} instead.", parameter="compare"
    )


def _held(
    others: pd.DataFrame, given: dict[str, Any], name: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the values of all other inputs, and the names of those that nobody gave."""
    usual = usual_values(others)
    for column, values in others.items():
        levels = levels_of(values)
        if column not in given and not is_number(values) and len(levels) > 1:
            raise InvalidValueError(
                f"must have a level of {column!r}, one of {shown_names(levels)}, on which the "
                f"threshold depends: at={{{column!r}: {levels[0]!r}}}; "
                f"region.thresholds({name!r}) has them all.",
                parameter="at",
            )
    return usual | given, tuple(one for one in usual if one not in given)


def _range(inputs: pd.DataFrame, name: str) -> tuple[float, float]:
    return float(inputs[name].min()), float(inputs[name].max())


def _level_text(probability: float | None) -> str:
    if probability is None:
        return "half way between guess and lapse levels"
    return f"at P = {probability:g}"


def _number(value: float) -> str:
    if np.isnan(value):
        return "none"
    if np.isinf(value):
        return "∞" if value > 0 else "-∞"
    value += 0.0  # no negative zero
    return f"{value:.4g}" if abs(value) < 1e5 else f"{value:.3e}"
