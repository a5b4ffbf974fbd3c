"""The design that a formula gives for a frame, and again for new rows."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion.data.formula import (
    MAX_COLUMNS,
    columns_of,
    columns_of_terms,
    formulaic_module,
    parse_formula,
    requested_columns,
    too_many,
    unreadable,
)
from exactregion.data.frames import as_pandas, check_present
from exactregion.data.reading import from_native
from exactregion.errors import ExactRegionError, InvalidTypeError, InvalidValueError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Design:
    """The outcomes and the matrix of inputs that a formula gives for a frame.

    `exactregion.ConfidenceRegion.from_formula` describes the grammar.

    Examples
    --------
    >>> import pandas as pd
    >>> data = pd.DataFrame({"ill": [0, 1, 1], "sex": ["f", "m", "f"], "dose": [1, 2, 8]})
    >>> design = Design.from_formula("ill ~ sex + np.log2(dose)", data)
    >>> design.names
    ('sex[T.m]', 'np.log2(dose)')
    >>> design.transform(pd.DataFrame({"sex": ["m"], "dose": [4]}))
       sex[T.m]  np.log2(dose)
    0       1.0            2.0
    """

    formula: str
    data: pd.DataFrame = field(repr=False)  # the columns used: they give an equal design again
    columns: tuple[str, ...]  # those that the right side uses: what new data must have
    names: tuple[str, ...]  # the columns of the matrix, such as "temp" or "sex[T.male]"
    intercept: bool  # the matrix never has a column for it
    matrix: pd.DataFrame = field(repr=False)
    outcomes: pd.Series[Any] | pd.DataFrame = field(repr=False)  # labels, or two columns of counts
    outcome: str  # the left side of the formula
    _spec: Any = field(repr=False)

    @classmethod
    def from_formula(cls, formula: str, data: Any, sides: Any = None) -> Design:
        """Evaluate a formula, parsed into `sides` or not yet, on a pandas or polars frame."""
        frame = as_pandas(data, "data")
        if len(frame) == 0:
            raise InvalidValueError("must have at least one row. Got 0 instead.", parameter="data")
        left, right = sides or parse_formula(formula, list(frame.columns))
        outputs, inputs = (set(columns_of_terms(side, frame.columns)) for side in (left, right))
        if inputs & outputs:
            both = sorted(inputs & outputs)
            raise InvalidValueError(
                "must not use the outcome on the right side: inputs must not "
                f"depend on it. Got {formula!r} with {both} on both sides instead.",
                parameter="formula",
            )
        used = frame[[name for name in frame.columns if name in inputs | outputs]]
        check_present(used, "data")
        for name in used.columns:
            if used[name].dtype.kind not in "biufOUT":
                raise InvalidTypeError(
                    "The columns that a formula uses must hold numbers, text or categories. "
                    f"Got {name!r} ({used[name].dtype}) instead: turn it into numbers first."
                )
        intercept = any(str(term) == "1" for term in right)
        if intercept and "Intercept" in inputs:
            raise InvalidValueError(
                "The columns of a formula must not be called 'Intercept', which is the name that "
                f"it gives to its own. Got {formula!r} instead: rename the column, or write - 1."
            )
        matrix, spec = _evaluate(_new_spec(right), used, formula)
        matrix = matrix.drop(columns="Intercept" if intercept else [])
        return cls(
            formula=formula,
            data=used,
            columns=tuple(name for name in frame.columns if name in inputs),
            names=tuple(matrix.columns),
            intercept=intercept,
            matrix=matrix,
            outcomes=_outcomes(left, used, formula),
            outcome=" + ".join(str(term) for term in left),
            _spec=spec,
        )

    @classmethod
    def of_columns(
        cls, data: pd.DataFrame, outcome: str, trials: str | None, inputs: Sequence[str]
    ) -> Design:
        """Code columns as the formula ``outcome ~ inputs`` does, with counts where trials are."""
        for name in data.columns:
            if "`" in name:
                raise InvalidValueError(
                    f"Column {name!r} must be renamed: a formula cannot hold a `."
                )
        counts = "" if trials is None else f" + I(`{trials}` - `{outcome}`)"
        right = " + ".join(f"`{name}`" for name in inputs)
        return cls.from_formula(f"`{outcome}`{counts} ~ {right}", data)

    def transform(self, X: Any) -> pd.DataFrame:
        """Make the matrix of new rows, coded as the rows of the fit were."""
        frame = as_pandas(X, "X")
        absent = [name for name in self.columns if name not in frame.columns]
        if absent:
            raise InvalidValueError(
                f"must have the columns {list(self.columns)} of the formula. "
                f"Got {list(frame.columns)} instead, without {absent}.",
                parameter="X",
            )
        frame = frame[list(self.columns)]
        check_present(frame, "X")
        self._check_levels(frame)
        matrix, _ = _evaluate(self._spec, frame.astype(self._kinds(frame)), self.formula)
        return matrix[list(self.names)]

    @property
    def terms(self) -> dict[str, set[str]]:
        """The columns that each term of the right side uses."""
        return {
            str(term).strip("`"): set(columns_of_terms([term], self.columns))
            for term in self._spec.terms
        }

    @property
    def is_coded(self) -> bool:
        """Whether the matrix differs from the columns of the frame."""
        return self.names != self.columns

    def takes(self, X: Any) -> bool:
        """Whether X must be transformed; if not, its columns are those of the matrix."""
        frame = from_native(X, "X")
        if hasattr(frame, "columns"):
            given = {str(name) for name in frame.columns}
            return given >= set(self.columns) or given != set(self.names)
        return getattr(frame, "name", None) is not None and (frame.name,) == self.columns

    def _check_levels(self, frame: pd.DataFrame) -> None:
        """Raise an error for a level that no row of the fit had: nothing is known about it."""
        for factor, state in self._spec.factor_contrasts.items():
            names = list(columns_of(factor, self.columns))
            if len(names) != 1 or not self.data[names[0]].isin(state.levels).all():
                continue  # levels of an expression: formulaic checks them
            unknown = np.flatnonzero(~frame[names[0]].isin(state.levels))
            if len(unknown):
                raise InvalidValueError(
                    f"must have levels of {names[0]!r} that the fit had, "
                    f"{state.levels}. Got {frame[names[0]].iloc[unknown[0]]!r}",
                    parameter="X",
                    row=int(unknown[0]),
                    rest=" instead.",
                )

    def _kinds(self, frame: pd.DataFrame) -> dict[str, Any]:
        """Return the categories of the fit; an error where it had numbers and X has none."""
        for name in self.columns:
            if self.data[name].dtype.kind in "biuf" and frame[name].dtype.kind not in "biuf":
                raise InvalidTypeError(
                    f"must hold numbers in column {name!r}, as the fit had. "
                    f"Got {frame[name].dtype} instead.",
                    parameter="X",
                )
        categories = self.data[list(self.columns)].select_dtypes("category")
        return {str(name): categories[name].dtype for name in categories}


def _new_spec(terms: Any) -> Any:
    # missing values were checked before: formulaic would drop their rows
    return formulaic_module().ModelSpec.from_spec(terms, output="pandas", na_action="ignore")


def _evaluate(spec: Any, frame: pd.DataFrame, formula: str) -> tuple[pd.DataFrame, Any]:
    """Make the matrix of finite numbers that a spec gives, and the spec that codes new rows so."""
    import pandas as pd

    try:
        # numbers that are not finite are named by row and column afterwards
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("error", formulaic_module(".errors").DataMismatchWarning)
            materializer = formulaic_module(".materializers").FormulaMaterializer.for_data(frame)(
                frame, context={}
            )
            _check_width(materializer, spec)
            made = materializer.get_model_matrix(spec)
        matrix = pd.DataFrame(made).astype(np.float64)
    except ExactRegionError:
        raise
    except Exception as error:  # whatever an expression of the user's may raise
        raise unreadable(formula, error) from error
    bad = ~np.isfinite(matrix.to_numpy())
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InvalidValueError(
            f"must have terms that are finite. Got {matrix.iloc[row, column]}",
            parameter="formula",
            row=int(row),
            rest=f" of {matrix.columns[column]!r} instead ({int(bad.sum())} such in all).",
        )
    return matrix, made.model_spec


def _check_width(materializer: Any, spec: Any) -> None:
    """Raise an error for a matrix with too many columns, before it is made."""
    # The materializer keeps the factors that are evaluated here.
    total = 0
    for term in spec.formula:
        factors = [materializer._evaluate_factor(one, spec, set()) for one in term.factors]
        total += math.prod(map(_width, factors))
        if total > MAX_COLUMNS:
            raise too_many(f"{total:,} with {str(term)!r}")


def _width(evaluated: Any) -> int:
    """Return the largest number of columns that a factor may have."""
    import pandas as pd

    values = evaluated.values.__wrapped__
    if evaluated.metadata.kind.value == "categorical":
        # two at least: formulaic looks at each factor of a term with and without the others
        counts = requested_columns(evaluated.factor)
        return max(2, int(pd.Series(np.asarray(values)).nunique()), *counts)
    shape = np.shape(values)
    return len(values) if isinstance(values, dict) else int(shape[1]) if len(shape) > 1 else 1


def _outcomes(left: Any, frame: pd.DataFrame, formula: str) -> Any:
    """Return the column of labels, or two columns of successes and failures."""
    sides = [_outcome(term, frame, formula) for term in left]
    if len(sides) == 1 and sides[0] is not None:
        return sides[0]
    if len(sides) != 2 or any(side is None for side in sides):
        raise InvalidValueError(
            "must have one column of labels on the left side, or two, successes + failures. "
            f"Got {formula!r} instead.{_ratio_hint(formula)}",
            parameter="formula",
        )
    import pandas as pd

    return pd.concat(sides, axis=1)


def _ratio_hint(formula: str) -> str:
    """Say how to write "affected/total", which R takes with weights."""
    name = r"\s*([\w.]+|`[^`]+`)\s*"
    ratio = re.fullmatch(f"{name}/{name}", formula.partition("~")[0])
    if ratio is None:
        return ""
    affected, total = ratio.groups()
    counts = f"{affected} + I({total} - {affected})"
    return f" If these are successes and trials, write {counts} on the left side."


def _outcome(term: Any, frame: pd.DataFrame, formula: str) -> Any:
    """Evaluate a term of the left side; None if it is not a column of outcomes."""
    if len(term.factors) != 1 or term.factors[0].eval_method.value == "literal":
        return None
    if term.factors[0].eval_method.value == "lookup":
        return frame[term.factors[0].expr]
    terms = formulaic_module().SimpleFormula([term])
    values, spec = _evaluate(_new_spec(terms), frame, formula)
    is_coded = values.shape[1] != 1 or spec.factor_contrasts
    return None if is_coded else values.iloc[:, 0]
