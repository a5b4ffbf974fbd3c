"""Regions of a formula keep it, and the columns that it uses."""

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion import models
from exactregion.data.files import pack, unpack
from exactregion.errors import FileFormatError, InvalidTypeError, MissingDependencyError
from exactregion.save.values import decode_frame, encode_frame

RNG = np.random.default_rng(5)
N = 30
DATA = pd.DataFrame(
    {
        "ill": RNG.integers(0, 2, N),
        "verdict": RNG.choice(["guilty", "not"], N),
        "well": RNG.integers(0, 4, N),
        "dose": RNG.uniform(1, 8, N),
        "visits": RNG.integers(1, 5, N).astype(np.int32),
        "smokes": RNG.integers(0, 2, N).astype(bool),
        "sex": RNG.choice(["f", "m", "größe"], N),
        "grade": pd.Categorical(
            RNG.choice(["low", "mid", "high"], N), ["low", "mid", "high", "never"], ordered=True
        ),
        "arm": pd.Categorical(RNG.choice([3, 1, 2], N), [3, 1, 2]),
        "odd name": RNG.normal(size=N),
        "unused": [object()] * N,
    }
)
NEW = DATA.iloc[[4, 2, 9]].drop(columns=["ill", "well", "unused"])

FORMULAS = [
    ("ill ~ dose", {}),
    ("ill ~ dose - 1", {"model": "probit"}),
    ("ill + well ~ np.log2(dose)", {"model": models.CLogLog()}),
    ("verdict ~ sex + smokes", {"pos_label": "guilty"}),
    ("I(well > 1) ~ grade", {}),
    ("ill ~ arm", {}),
    ("ill ~ C(visits) + `odd name`", {}),
    ("ill ~ scale(dose) * smokes", {}),
    ("ill ~ bs(dose, df=4)", {}),
    ("ill ~ dose", {"model": models.Psychometric(models.Logistic(), 0.1, 0.1)}),
    ("ill ~ dose", {"model": models.LaplaceMixture((5.0, 2.0))}),
]


def from_formula(formula, data=DATA, **settings):
    return er.ConfidenceRegion.from_formula(
        formula, data, **{"n_resamples": 19, "confidence_level": 0.8, "rng": 1, **settings}
    )


@pytest.mark.parametrize(("formula", "settings"), FORMULAS)
def test_a_region_of_a_formula_comes_back(formula, settings, tmp_path):
    fitted = from_formula(formula, **settings)
    loaded = er.load(fitted.save(tmp_path / "region.npz"))
    low, high = np.clip(np.array(fitted.model_.bounds, dtype=float), -1, 1).T
    thetas = RNG.uniform(low, high, size=(20, len(low)))
    np.testing.assert_array_equal(loaded.rank(thetas), fitted.rank(thetas))
    assert loaded.evaluate(thetas[0]).Z.tobytes() == fitted.evaluate(thetas[0]).Z.tobytes()
    assert repr(loaded) == repr(fitted)
    assert loaded.parameter_names_ == fitted.parameter_names_
    assert loaded.fitted_.sample.classes == fitted.fitted_.sample.classes
    one, other = loaded.design_, fitted.design_
    assert (one.formula, one.columns, one.names) == (other.formula, other.columns, other.names)
    pd.testing.assert_frame_equal(one.data, other.data)
    pd.testing.assert_frame_equal(one.transform(NEW), other.transform(NEW))


def test_bands_of_new_frames_are_the_same(tmp_path):
    fitted = from_formula("ill ~ sex")
    loaded = er.load(fitted.save(tmp_path / "region.npz"))
    one, other = loaded.band(NEW), fitted.band(NEW)
    np.testing.assert_array_equal(one.lower, other.lower)
    np.testing.assert_array_equal(one.upper, other.upper)


def test_saving_what_was_loaded_gives_the_same_bytes(tmp_path):
    first = from_formula("ill ~ grade + sex + dose").save(tmp_path / "one.npz")
    second = er.load(first).save(tmp_path / "two.npz")
    assert first.read_bytes() == second.read_bytes()


def test_fitted_again_without_the_formula_it_is_gone(tmp_path):
    fitted = from_formula("ill ~ dose").fit(DATA["dose"], DATA["ill"])
    assert er.load(fitted.save(tmp_path / "region.npz")).design_ is None


def test_a_model_of_ones_own_is_passed_again(tmp_path):
    model = models.Function(lambda theta, X: 1 / (1 + np.exp(theta[0] * X[:, 0])), names=("slope",))
    fitted = from_formula("ill ~ dose - 1", model=model)
    loaded = er.load(fitted.save(tmp_path / "region.npz"), model=model)
    np.testing.assert_array_equal(loaded.rank([[0.1], [0.5]]), fitted.rank([[0.1], [0.5]]))
    pd.testing.assert_frame_equal(loaded.design_.transform(NEW), fitted.design_.transform(NEW))


@pytest.mark.parametrize("kind", ["category", object, "datetime64[us]"])
def test_columns_of_other_kinds_are_refused(kind):
    days = pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"])).astype(kind)
    with pytest.raises(InvalidTypeError, match=r"column 'day' of the formula must .*Got Timestamp"):
        encode_frame(pd.DataFrame({"day": days}), {})


@pytest.mark.parametrize(
    "column",
    [
        [1, 2],
        np.array([1.5, np.nan], dtype=np.float32),
        [True, False],
        ["a", "größe\0"],
        pd.Series([1, "a"], dtype=object),
        pd.Categorical(["b", "a"], ["b", "a", "c"], ordered=True),
        pd.Categorical([2.5, None]),
        pd.Categorical([True, False]),
    ],
    ids=repr,
)
def test_columns_come_back(column):
    frame = pd.DataFrame({"name": column})
    arrays = {}
    nodes = json.loads(json.dumps(encode_frame(frame, arrays)))
    pd.testing.assert_frame_equal(decode_frame(nodes, arrays), frame)


def test_without_formulaic_the_error_is_the_install_line(tmp_path, monkeypatch):
    path = from_formula("ill ~ dose").save(tmp_path / "region.npz")
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(MissingDependencyError, match=r"pip install exactregion\[formula\]"):
        er.load(path)


def damaged(path, edit):
    header, arrays = unpack(io.BytesIO(path.read_bytes()), lambda header: None)
    edit(header, arrays)
    path.write_bytes(pack(header, arrays))
    return path


def test_a_formula_that_gives_other_inputs_is_told(tmp_path):
    path = from_formula("ill ~ dose + sex").save(tmp_path / "region.npz")

    def edit(header, arrays):
        header["formula"]["formula"] = "ill ~ np.sqrt(dose) + sex"

    with pytest.raises(FileFormatError, match=r"cannot be loaded: the formula .* does not give"):
        er.load(damaged(path, edit))


def test_a_last_bit_of_a_formula_changes_nothing(tmp_path):
    fitted = from_formula("ill ~ dose")
    path = fitted.save(tmp_path / "region.npz")

    def edit(header, arrays):
        arrays["columns.1"] = arrays["columns.1"] * (1 + 1e-15)

    thetas = RNG.normal(size=(20, 2))
    loaded = er.load(damaged(path, edit))
    np.testing.assert_array_equal(loaded.rank(thetas), fitted.rank(thetas))


@pytest.mark.parametrize(
    "node",
    [
        3,
        {},
        {"formula": "ill ~ dose"},
        {"formula": 3, "columns": []},
        {"formula": "ill ~ dose", "columns": []},
        {"formula": "ill ~ dose", "columns": [{"name": "ill"}]},
        {"formula": "ill ~ dose", "columns": [{"name": "dose", "array": "inputs"}]},
        {"formula": "ill ~ dose", "columns": [{"name": "dose", "array": "nowhere"}]},
        {"formula": "ill ~ dose", "columns": [{"name": "dose", "entries": 3}]},
        {
            "formula": "ill ~ dose",
            "columns": [
                {"name": "ill", "array": "successes"},
                {"name": "dose", "array": "trials", "levels": ["a"], "ordered": False},
            ],
        },
        {
            "formula": "ill ~ __import__('os').getcwd()",
            "columns": [{"name": "ill", "array": "successes"}],
        },
    ],
)
def test_a_formula_that_cannot_be_is_told(node, tmp_path):
    path = from_formula("ill ~ dose").save(tmp_path / "region.npz")

    def edit(header, arrays):
        header["formula"] = node

    with pytest.raises(er.ExactRegionError):
        er.load(damaged(path, edit))
