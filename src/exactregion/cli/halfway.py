"""The value of one input at which P = 1/2: an ED50, a threshold, a point of even odds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion.cli.at import inputs_of, read_place, shown, typical
from exactregion.data.tables import did_you_mean, shown_names
from exactregion.errors import InvalidValueError

if TYPE_CHECKING:
    from exactregion._typing import FloatArray
    from exactregion.region import ConfidenceRegion

__all__ = ["HalfWay", "half_way"]

PREDICTOR = {"Logistic": 0.0, "Probit": 0.0, "CLogLog": float(np.log(np.log(2)))}
"""The linear predictor at which each family has P = 1/2."""


@dataclass(frozen=True, eq=False)
class HalfWay:
    """The value of an input at which P = 1/2, as a function of the parameters.

    Attributes
    ----------
    input : str
        The input, as the parameters have it.
    given : dict
        Values of other inputs that were asked for.
    others : dict
        Values of all other inputs.
    """

    input: str
    given: dict[str, Any]
    others: dict[str, Any]
    _place: int = field(repr=False)
    _intercept: int = field(repr=False)
    _row: FloatArray = field(repr=False)
    _predictor: float = field(repr=False)

    def __call__(self, theta: FloatArray) -> float:
        """Solve the linear predictor for the input.

        Parameters
        ----------
        theta : ndarray of shape (d,)
            Parameters of one member.
        """
        slopes = theta[self._intercept :]
        rest = theta[: self._intercept].sum() + slopes @ self._row
        with np.errstate(divide="ignore", invalid="ignore"):
            return float((self._predictor - rest) / slopes[self._place])

    @property
    def name(self) -> str:
        """What it is called."""
        where = f", {shown(self.given)}" if self.given else ""
        return f"ED50 of {self.input}{where}"

    @property
    def explanation(self) -> str:
        """Say what it is."""
        usual = {name: value for name, value in self.others.items() if name not in self.given}
        where = f"; the median, or most frequent: {shown(usual)}" if usual else ""
        return f"{self.name}: where the probability is 1/2{where}."


def half_way(region: ConfidenceRegion, text: str) -> HalfWay:
    """Read what was given for --ed50: an input, and values of others if wanted.

    Parameters
    ----------
    region : ConfidenceRegion
        Of a linear family.
    text : str
        Such as "dose" or "dose,sex=male".
    """
    family = type(region.model_).__name__
    if family not in PREDICTOR:
        raise InvalidValueError("--ed50 goes with --model logistic, probit and cloglog only.")
    names = region.fitted_.sample.inputs.names
    name = max((known for known in names if _begins(text, known)), key=len, default=None)
    if name is None:
        wrong = text.partition(",")[0]
        raise InvalidValueError(
            f"--ed50 must be one of {shown_names(names)}. Got {wrong!r} instead."
            f"{did_you_mean(wrong, names)}"
        )
    own = _own_columns(region, name)
    inputs = inputs_of(region)
    others = {str(other): typical(inputs[other]) for other in inputs.columns if other not in own}
    given = {}
    if text != name:
        given = read_place(text[len(name) + 1 :], inputs.drop(columns=own), "--ed50")
    others |= given
    place = names.index(name)
    row = _row_of(region, {**{str(c): typical(inputs[c]) for c in own}, **others})
    row[place] = 0.0
    intercept = len(region.parameter_names_) - len(names)
    return HalfWay(name, given, others, place, intercept, row, PREDICTOR[family])


def _begins(text: str, name: str) -> bool:
    return text == name or text.startswith(f"{name},")


def _row_of(region: ConfidenceRegion, values: dict[str, Any]) -> FloatArray:
    import pandas as pd

    frame = pd.DataFrame([values])[list(inputs_of(region).columns)]
    if region.design_ is not None:
        frame = region.design_.transform(frame)
    row: FloatArray = np.array(frame.iloc[0], dtype=np.float64)
    return row


def _own_columns(region: ConfidenceRegion, name: str) -> list[str]:
    """Give the columns that the term is made of; an error if they are in other terms too."""
    design = region.design_
    if design is None:
        return [name]
    from exactregion.data.formula import columns_of, parse_formula

    _, right = parse_formula(design.formula, list(design.data.columns))
    columns = {
        str(term): {c for factor in term.factors for c in columns_of(factor, design.columns)}
        for term in right
    }
    written = name if name in columns else f"`{name}`"
    if written not in columns:
        raise InvalidValueError(
            f"--ed50 must be a number that varies. {name!r} stands for a class instead."
        )
    own = columns[written]
    shared = [term for term, used in columns.items() if term != written and used & own]
    if shared:
        raise InvalidValueError(
            f"--ed50 needs an input that is in one term only. {name!r} is in {shared[0]!r} too."
        )
    return sorted(own)
