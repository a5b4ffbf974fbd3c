"""Every error of the library is an ExactRegionError and the built-in that fits."""

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
