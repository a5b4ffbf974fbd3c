"""Settings survive the way to JSON and back, and only classes of the library come out of it."""

import inspect
import json
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from exactregion import kernels, models, statistics
from exactregion.errors import ExactRegionError
from exactregion.save.values import TYPES, UnsaveableError, decode, encode


def there_and_back(value):
    arrays = {}
    node = json.loads(json.dumps(encode(value, "here", arrays), allow_nan=False))
    return decode(node, arrays)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        False,
        0,
        -(2**80),
        0.1,
        -0.0,
        5e-324,
        np.inf,
        -np.inf,
        np.nan,
        "",
        "größe \ud800\0",
        (),
        (1, [2.5, "a", (None,)]),
        {"a": (1,), "array": {"type": "Score"}},
    ],
    ids=repr,
)
def test_plain_values(value):
    assert repr(there_and_back(value)) == repr(value)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float32(0.1), float(np.float32(0.1))),
        (np.int8(3), 3),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (Fraction(1, 4), 0.25),
        (np.longdouble(0.5), 0.5),
    ],
)
def test_numbers_of_other_kinds_become_those_of_python(value, plain):
    found = there_and_back(value)
    assert found == plain
    assert type(found) is type(plain)


@pytest.mark.parametrize(
    "array", [np.arange(6.0).reshape(2, 3).T, np.array(3), np.empty((0, 2)), np.array([True])]
)
def test_arrays_stay_what_they_are(array):
    found = there_and_back({"K": array})["K"]
    assert found.dtype == array.dtype
    np.testing.assert_array_equal(found, array)


WITHOUT_DEFAULTS = {
    "Mixture": lambda: models.Mixture(stats.norm, stats.laplace, {"loc": 1.0}, shared=("scale",)),
    "Precomputed": lambda: kernels.Precomputed(np.eye(2)),
}
WITH_FUNCTIONS = {
    "CallableKernel": lambda: kernels.CallableKernel(min),
    "Custom": lambda: statistics.Custom(min),
    "Function": lambda: models.Function(min, names=("a",)),
}


@pytest.mark.parametrize("name", sorted(TYPES))
def test_every_exported_class_is_saved_or_known_to_hold_a_function(name):
    if inspect.isabstract(TYPES[name]):
        return
    if name in WITH_FUNCTIONS:
        with pytest.raises(UnsaveableError, match="min"):
            encode(WITH_FUNCTIONS[name](), "here", {})
        return
    value = WITHOUT_DEFAULTS.get(name, TYPES[name])()
    assert repr(there_and_back(value)) == repr(value)
    assert type(there_and_back(value)) is TYPES[name]


class Logistic(models.Logistic):
    """A class of the user's with a name of the library's."""


@pytest.mark.parametrize(
    "value",
    [
        Logistic(),
        np.array(["a"]),
        np.array([None]),
        np.ma.array([1.0], mask=[True]),
        {1: 2},
        {1, 2},
        b"bytes",
        1j,
        np.datetime64("2020-01-01"),
        stats.norm(0, 1),
        stats.poisson,
        stats.rv_histogram(np.histogram([1.0, 2.0, 3.0])),
        models.Logistic,
        json,
    ],
    ids=lambda value: repr(value)[:30],
)
def test_other_things_are_refused(value):
    with pytest.raises(UnsaveableError):
        encode(value, "here", {})


@pytest.mark.parametrize(
    "node",
    [
        [],
        {},
        {"unknown": 1},
        {"type": "Candidates", "settings": {}},
        {"type": "as_model", "settings": {}},
        {"type": "Model", "settings": {}},
        {"type": "Function", "settings": {}},
        {"type": "Custom", "settings": {"function": "print"}},
        {"type": "check_model", "settings": {}},
        {"distribution": "rv_continuous"},
        {"distribution": "os"},
        {"array": "nowhere"},
    ],
)
def test_nodes_that_name_anything_else_are_refused(node):
    with pytest.raises((ExactRegionError, KeyError, TypeError)):
        decode(node, {})
