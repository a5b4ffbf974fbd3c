"""Predictions at new inputs: one row each, with what is known of P(Y=1|x) there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.data.frames import as_pandas
from exactregion.region.bands import band_of_inputs, new_inputs
from exactregion.region.fitted import FittedRegion
from exactregion.region.places import is_number
from exactregion.region.search.outline import estimate_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["outside_data", "predictions_at"]


def predictions_at(fitted: FittedRegion, X: Any, certify: bool | None = None) -> pd.DataFrame:
    """Return estimates and limits at new inputs; see `ConfidenceRegion.predict`."""
    import pandas as pd

    inputs = new_inputs(fitted, X)
    # equal rows are bounded once
    distinct, place = np.unique(inputs, axis=0, return_inverse=True)
    rows = np.ascontiguousarray(distinct)
    place = place.reshape(-1)
    alone = band_of_inputs(fitted, rows, joint=False, certify=certify)
    together = band_of_inputs(fitted, rows, certify=certify)
    index = getattr(X, "index", None)
    return pd.DataFrame(
        {
            "estimate": fitted.model.probabilities(estimate_of(fitted)[0], inputs),
            "lower": alone.lower[place],
            "upper": alone.upper[place],
            "simultaneous_lower": together.lower[place],
            "simultaneous_upper": together.upper[place],
            "extrapolates": outside_data(fitted, X, inputs),
            "certified": alone.certified,
            "simultaneous_certified": together.certified,
        },
        index=index if isinstance(index, pd.Index) else None,
    )


def outside_data(fitted: FittedRegion, X: Any, inputs: FloatArray) -> BoolArray:
    """Return which rows have a number below or above all data; `inputs` are X as the family's."""
    design = fitted.design
    outside = np.zeros(len(inputs), dtype=np.bool_)
    if design is not None and design.takes(X):
        new = as_pandas(X, "X")
        names = [name for name in design.columns if is_number(design.data[name])]
        pairs = [(new[name].to_numpy(), design.data[name].to_numpy()) for name in names]
    else:
        columns = fitted.sample.inputs.original.matrix.T
        pairs = list(zip(inputs.reshape(len(inputs), -1).T, columns, strict=True))
    for values, data in pairs:
        outside |= (values < data.min()) | (values > data.max())
    return outside
