"""Fixed candidates: arrays, scikit-learn classifiers, statsmodels results, callables."""

from __future__ import annotations

from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.errors import InvalidTypeError, InvalidValueError, NotFittedError
from exactregion.models.base import check_probabilities

__all__ = ["fixed_probabilities"]


def fixed_probabilities(
    candidate: Any, X: Any, n: int, classes: tuple[object, object] | None = None
) -> FloatArray:
    """Ask a candidate for the probability of the positive class in each of n rows.

    Parameters
    ----------
    candidate : array-like of shape (n,), classifier, statsmodels results, or callable X -> (n,)
        What to ask. A classifier answers by ``predict_proba``, results by ``predict``.
    X : array-like, frame or sequence
        The inputs as the user gave them; handed on untouched.
    n : int
        The number of rows.
    classes : (negative, positive), optional
        The classes of y, to find the positive one among the classifier's.

    Returns
    -------
    ndarray of shape (n,)

    Examples
    --------
    >>> fixed_probabilities(lambda x: x / 10, np.array([1.0, 5.0]), 2)
    array([0.1, 0.5])
    """
    if hasattr(candidate, "predict_proba"):
        values = _ask_classifier(candidate, X, classes)
    elif hasattr(candidate, "predict") and hasattr(candidate, "params"):
        values = candidate.predict(_with_constant(candidate, X))
    elif hasattr(candidate, "predict"):
        raise InvalidTypeError(
            "The 'candidate' parameter must give probabilities. Got "
            f"{type(candidate).__name__}, which has no predict_proba, instead: wrap it in "
            "sklearn.calibration.CalibratedClassifierCV, or pass a callable X -> p."
        )
    else:
        values = candidate(X) if callable(candidate) else candidate
    row: FloatArray = check_probabilities(_as_row(values, n), np.empty((1, 0)), n=n)[0]
    return row


def _as_row(values: Any, n: int) -> FloatArray:
    try:
        row = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(
            "The 'candidate' parameter must be an array of probabilities, a fitted classifier, "
            f"statsmodels results or a callable. Got {type(values).__name__} instead."
        ) from error
    if row.shape == (n, 2):
        raise InvalidValueError(
            "The 'candidate' parameter must give one probability a row, that of the positive "
            f"class. Got shape {row.shape} instead: pass its column [:, 1]."
        )
    if row.shape == (n, 1):
        row = row[:, 0]
    if row.shape != (n,):
        raise InvalidValueError(
            f"The 'candidate' parameter must give one probability a row, shape ({n},). "
            f"Got {row.shape} instead."
        )
    return row[None]


def _ask_classifier(classifier: Any, X: Any, classes: tuple[object, object] | None) -> FloatArray:
    name = type(classifier).__name__
    known = getattr(classifier, "classes_", None)
    if known is None:
        raise NotFittedError(
            f"The 'candidate' parameter must be fitted. Got {name} without classes_ instead: call "
            "its fit first, on other data than X and y."
        )
    found = np.asarray(known).tolist()
    wanted = [label for label in classes or () if label is not None]
    if len(found) != 2 or any(label not in found for label in wanted):
        raise InvalidValueError(
            f"The 'candidate' parameter must have the two classes of y, {wanted or 'two of them'}. "
            f"Got {name} with the classes {found} instead."
        )
    positive = found.index(classes[1]) if classes is not None else 1
    answer = np.asarray(classifier.predict_proba(X))
    if answer.ndim != 2 or answer.shape[1] != 2:
        raise InvalidValueError(
            f"The 'candidate' parameter must give two columns by predict_proba. Got {name} with "
            f"shape {answer.shape} instead."
        )
    return answer[:, positive]


def _with_constant(results: Any, X: Any) -> Any:
    """Add the constant column that a design without a formula has, if X lacks just that."""
    model = getattr(results, "model", None)
    if hasattr(model, "formula") or not getattr(model, "k_constant", 0):
        return X
    exog_names = list(getattr(model, "exog_names", []))
    matrix = np.asarray(X, dtype=np.float64)
    matrix = matrix.reshape(len(matrix), -1)
    if "const" not in exog_names or matrix.shape[1] != len(exog_names) - 1:
        return X
    return np.insert(matrix, exog_names.index("const"), 1.0, axis=1)
