"""Places where a probability is wanted: ``--at temp=31``, ``--at "sex=male,dose=1,2,4"``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from exactregion.data.tables import did_you_mean, shown_names
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.region import ConfidenceRegion

__all__ = ["Places", "inputs_of", "places_of", "read_place", "shown", "typical"]


@dataclass(frozen=True, eq=False)
class Places:
    """Rows of inputs.

    Attributes
    ----------
    frame : DataFrame
        One row a place, with all inputs.
    given : list of dict
        What was said of each place.
    others : dict
        What is taken for inputs that were not named.
    """

    frame: pd.DataFrame
    given: list[dict[str, Any]]
    others: dict[str, Any]

    @property
    def labels(self) -> list[str]:
        """Each place in words."""
        return [shown(place) for place in self.given]


def inputs_of(region: ConfidenceRegion) -> pd.DataFrame:
    """Give the inputs of a region as columns of the file.

    Parameters
    ----------
    region : ConfidenceRegion
        Fitted.
    """
    import pandas as pd

    if region.design_ is not None:
        return region.design_.data[list(region.design_.columns)]
    inputs = region.fitted_.sample.inputs
    return pd.DataFrame(inputs.matrix, columns=list(inputs.names))


def typical(column: pd.Series[Any]) -> Any:
    """Take the median of numbers, and the most frequent of words.

    Parameters
    ----------
    column : Series
        An input.
    """
    if column.dtype.kind in "iuf":
        return float(column.median())
    return column.mode().iloc[0]


def shown(values: dict[str, Any]) -> str:
    """Write values with their names.

    Parameters
    ----------
    values : dict
        Name and value.
    """
    parts = [
        f"{name} = {value:g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in values.items()
    ]
    return ", ".join(parts)


def places_of(region: ConfidenceRegion, texts: Sequence[str]) -> Places | None:
    """Read places; None if there are none.

    Parameters
    ----------
    region : ConfidenceRegion
        Fitted.
    texts : sequence of str
        What was given for --at.
    """
    import pandas as pd

    if not texts:
        return None
    inputs = inputs_of(region)
    given = [place for text in texts for place in _read(text, inputs)]
    usual = {str(name): typical(inputs[name]) for name in inputs.columns}
    frame = pd.DataFrame([{**usual, **place} for place in given])[list(inputs.columns)]
    others = {
        name: value for name, value in usual.items() if not all(name in place for place in given)
    }
    return Places(frame.astype(_kinds(inputs)), given, others)


def _kinds(inputs: pd.DataFrame) -> dict[str, Any]:
    return {str(name): float for name in inputs.columns if inputs[name].dtype.kind in "iuf"}


def read_place(text: str, inputs: pd.DataFrame, option: str) -> dict[str, Any]:
    """Read one place.

    Parameters
    ----------
    text : str
        Such as "sex=male,dose=2".
    inputs : DataFrame
        Inputs that may be named.
    option : str
        The option, for messages.
    """
    places = _read(text, inputs, option)
    if len(places) > 1:
        raise InvalidValueError(f"{option} must have one value for an input. Got {text!r} instead.")
    return places[0]


def _read(text: str, inputs: pd.DataFrame, option: str = "--at") -> list[dict[str, Any]]:
    """Read one place, or as many as one of its inputs has values."""
    values: dict[str, list[Any]] = {}
    name = ""
    for part in text.split(","):
        known = _name_in(part, inputs)
        value = part
        if known is not None:
            name, value = known, part.partition(known)[2].lstrip()[1:]
            values[name] = []
        elif not name or "=" in part:
            _refuse(part, text, inputs, option)
        values[name].append(_value(value.strip(), name, inputs[name], option))
    longest = max(len(several) for several in values.values())
    if sum(len(several) > 1 for several in values.values()) > 1:
        raise InvalidValueError(
            f"{option} must have several values for one input only. Got {text!r}."
        )
    return [
        {name: several[min(row, len(several) - 1)] for name, several in values.items()}
        for row in range(longest)
    ]


def _name_in(part: str, inputs: pd.DataFrame) -> str | None:
    """Find the input that a part begins with; names may hold an = themselves."""
    begun = [
        str(name)
        for name in inputs.columns
        if part.strip().startswith(str(name))
        and part.strip()[len(str(name)) :].lstrip().startswith("=")
    ]
    return max(begun, key=len, default=None)


def _refuse(part: str, text: str, inputs: pd.DataFrame, option: str) -> NoReturn:
    name = part.partition("=")[0].strip()
    names = [str(column) for column in inputs.columns]
    if "=" not in part:
        raise InvalidValueError(
            f"{option} must be input=value, such as {names[0]}={_shown_value(inputs, names[0])}. "
            f"Got {text!r} instead."
        )
    raise InvalidValueError(
        f"{option} must name inputs of the region, {shown_names(names)}. Got {name!r} instead."
        f"{did_you_mean(name, names)}"
    )


def _shown_value(inputs: pd.DataFrame, name: str) -> str:
    value = typical(inputs[name])
    return f"{value:g}" if isinstance(value, float) else str(value)


def _value(text: str, name: str, column: pd.Series[Any], option: str) -> Any:
    if column.dtype.kind in "iuf":
        try:
            return float(text)
        except ValueError as error:
            raise InvalidValueError(
                f"{option} must have a number for {name!r}. Got {text!r} instead."
            ) from error
    if column.dtype.kind == "b":
        text_of = {"true": True, "1": True, "false": False, "0": False}
        if text.lower() in text_of:
            return text_of[text.lower()]
    elif text in set(column):
        return text
    raise InvalidValueError(
        f"{option} must have one of {shown_names(sorted(map(str, set(column))))} for {name!r}. "
        f"Got {text!r} instead."
    )
