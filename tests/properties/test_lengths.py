"""Parts of the data that differ in length are an error that names them, however they are given."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import exactregion as er
from exactregion.data.sample import CHUNK_ROWS
from exactregion.errors import InvalidValueError


def mapped(values):
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "values.npy", values)
        return np.load(Path(folder) / "values.npy", mmap_mode="r")


FORMS = {
    "array": lambda values: values,
    "list": lambda values: values.tolist(),
    "series": lambda values: pd.Series(values, index=np.arange(len(values)) / 2),
    "polars": pl.Series,
    "map": mapped,
}
forms = st.sampled_from(sorted(FORMS))
SETTINGS = {"n_resamples": 9, "rng": 0}


@pytest.mark.parametrize("n", [20, CHUNK_ROWS + 20])
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_lengths_that_differ(n, data):
    role = data.draw(st.sampled_from(["y", "p", "by", "X"]))
    length = data.draw(st.sampled_from([0, 1, n // 2, n - 1, n + 1, 2 * n]))
    values = {"y": np.arange(2 * n) % 2, "p": np.linspace(0.1, 0.9, 2 * n)}
    values |= {"by": np.arange(2 * n) % 3, "X": np.linspace(-1, 1, 2 * n)}
    y, p, by, X = (
        FORMS[data.draw(forms)](values[name][: length if name == role else n])
        for name in ("y", "p", "by", "X")
    )
    is_model = role == "X" or (role != "by" and data.draw(st.booleans()))
    test, arguments = er.calibration_test, {"y_true": y, "y_prob": p, "by": by}
    if is_model:
        test, arguments = er.model_test, {"candidate": p, "X": X, "y": y}
    with pytest.raises(InvalidValueError, match=r"rows?\b|shape"):
        test(**arguments, **SETTINGS)
    if role in ("X", "y") and n == 20:
        with pytest.raises(InvalidValueError, match=r"rows?\b"):
            er.ConfidenceRegion("logistic", confidence_level=0.9, **SETTINGS).fit(X, y)
