"""Whether a smaller formula would do: a test of nested families, valid at every n."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import null_space

from exactregion._typing import FloatArray
from exactregion.data.design import Design
from exactregion.errors import InvalidValueError
from exactregion.models import LinearModel, Model
from exactregion.region.hypotheses.equations import Hypothesis
from exactregion.region.hypotheses.linear import HypothesisTest, hypothesis_test
from exactregion.region.region import ConfidenceRegion

__all__ = ["compare_nested"]

EXPLAINED = 1e-9
"""Share of a column that its combination of others may miss. Rounding errors are 1e-16 times the
condition of the columns, which may thus be 1e7; a column that is not explained misses far more."""


def compare_nested(
    small: str,
    large: str,
    data: Any,
    *,
    model: Model | str = "logistic",
    certify: bool | None = None,
    **settings: Any,
) -> HypothesisTest:
    """Test whether a smaller formula explains the outcomes as well as a larger one, at every n.

    Parameters
    ----------
    small, large : str
        Formulas with the same outcomes, as for `ConfidenceRegion.from_formula`. Every column of the
        small one must be a combination of columns of the large one.
    data : pandas or polars frame
        The data.
    model : {"logistic", "probit", "cloglog"} or a family with a linear predictor
        The family.
    certify : bool, optional
        As for `ConfidenceRegion.test`.
    **settings
        As for `ConfidenceRegion`.

    Returns
    -------
    HypothesisTest
        Its p-value is small if the small formula is not enough.

    Examples
    --------
    >>> import exactregion as er
    >>> flights = er.datasets.oring()
    >>> found = er.compare_nested("y ~ 1", "y ~ temp", flights, rng=0)
    >>> found.pvalue < 0.05, found.df
    (True, 1)
    """
    region = ConfidenceRegion.from_formula(large, data, model=model, **settings)
    if not isinstance(region.model_, LinearModel):
        raise InvalidValueError(
            "must be a family with a linear predictor. "
            f"Got {type(region.model_).__name__} instead.",
            parameter="model",
        )
    part, whole = Design.from_formula(small, data), region.design_
    if whole is None or part.outcome != whole.outcome:
        raise InvalidValueError(
            f"must have the same outcomes as 'large'. Got {small!r} beside {large!r} instead.",
            parameter="small",
        )
    A = _left_out(_columns(part), _columns(whole))
    if A is None:
        raise InvalidValueError(
            f"must have columns that are combinations of those of 'large'. Got {small!r} beside "
            f"{large!r} instead.",
            parameter="small",
        )
    if not len(A):
        raise InvalidValueError(
            f"must leave out something of 'large'. Got {small!r} beside {large!r} instead.",
            parameter="small",
        )
    hypothesis = Hypothesis(A, np.zeros(len(A)), f"{small} instead of {large}")
    return hypothesis_test(region.fitted_, hypothesis, certify)


def _columns(design: Design) -> dict[str, FloatArray]:
    columns = {name: design.matrix[name].to_numpy(np.float64) for name in design.names}
    intercept = {"intercept": np.ones(len(design.matrix))} if design.intercept else {}
    return intercept | columns


def _left_out(small: dict[str, FloatArray], large: dict[str, FloatArray]) -> FloatArray | None:
    """Return A such that A θ = 0 if and only if the predictor of `large` is one of `small`."""
    same = [name in large and np.array_equal(small[name], large[name]) for name in small]
    if all(same):
        extra = [index for index, name in enumerate(large) if name not in small]
        return np.eye(len(large))[extra]
    D, part = np.column_stack([*large.values()]), np.column_stack([*small.values()])
    C = np.linalg.lstsq(D, part, rcond=None)[0]
    missed = np.linalg.norm(D @ C - part, axis=0)
    if (missed > EXPLAINED * np.linalg.norm(part, axis=0)).any():
        return None
    return np.asarray(null_space(C.T).T)
