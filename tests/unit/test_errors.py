"""Every error of the library is an ExactRegionError and the built-in that fits."""

import pickle

import pytest

import exactregion as er


@pytest.mark.parametrize(
    ("name", "builtins"),
    [
        ("FileAccessError", (OSError,)),
        ("FileFormatError", (ValueError,)),
        ("InvalidValueError", (ValueError,)),
        ("InvalidTypeError", (TypeError,)),
        ("MissingDependencyError", (ImportError,)),
        ("ModelError", (ValueError,)),
        ("NotFittedError", (ValueError, AttributeError)),
    ],
)
def test_errors_are_the_builtin_that_fits(name, builtins):
    error = getattr(er.errors, name)
    assert issubclass(error, er.ExactRegionError)
    assert all(issubclass(error, builtin) for builtin in builtins)


def wrong_prediction():
    with pytest.raises(er.errors.InvalidValueError) as caught:
        er.calibration_test([0, 1, 1, 0], [0.5, 0.2, 1.5, 2.0])
    return caught.value


@pytest.mark.parametrize("sent", [False, True])
def test_errors_carry_argument_and_row(sent):
    """Also to another process, as those of a cluster do."""
    error = wrong_prediction()
    error = pickle.loads(pickle.dumps(error)) if sent else error
    assert (error.parameter, error.row) == ("y_prob", 2)
    assert "Got 1.5 in row 2 instead (2 such in all)" in str(error)
    assert "Got 1.5 in line 4 instead (2 such in all)" in error.requirement_in("line 4")


def test_an_error_without_a_row_says_the_same_anywhere():
    error = er.errors.InvalidValueError("must be positive. Got 0 instead.", parameter="k")
    assert error.row is None
    assert error.requirement == error.requirement_in("line 4") == "must be positive. Got 0 instead."
