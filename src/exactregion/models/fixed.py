"""Fixed candidates: arrays, scikit-learn classifiers, statsmodels results and callables."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.frames import as_pandas
from exactregion.data.reading import as_real, columns_hint, from_native, is_number
from exactregion.errors import InvalidTypeError, InvalidValueError, NotFittedError
from exactregion.models.base import as_matrix, check_probabilities


def fixed_probabilities(
    candidate: Any,
    X: Any,
    n: int,
    classes: tuple[object, object] | None = None,
    *,
    first_row: int = 0,
) -> FloatArray:
    """Compute the probability of the positive class in each of n rows by a candidate: shape (n,).

    Parameters
    ----------
    candidate : array-like of shape (n,), classifier, statsmodels results, or callable X -> (n,)
        A classifier is used by its ``predict_proba``, results by their ``predict``.
    X : array-like, frame or sequence
        The inputs as the user gave them. A callable gets just these; a classifier or results get
        the columns that they were fitted on, by name where they have names.
    n : int
        The number of rows.
    classes : (negative, positive), optional
        The classes of y, to find the positive one among the classifier's.
    first_row : int
        The user's row that X begins with, where it is a part of all rows.

    Examples
    --------
    >>> fixed_probabilities(lambda x: x / 10, np.array([1.0, 5.0]), 2)
    array([0.1, 0.5])
    """
    _check_usable(candidate)
    X = own_copy(X) if needs_evaluation(candidate) else X
    if hasattr(candidate, "predict_proba"):
        values = _by_classifier(candidate, X, classes)
    elif hasattr(candidate, "predict"):
        values = _by_results(candidate, X)
    else:
        values = candidate(X) if callable(candidate) else candidate
    row = _as_row(values, n)[None]
    return np.array(check_probabilities(row, np.empty((1, 0)), n=n, first_row=first_row)[0])


def class_values(candidate: Any, X: Any) -> Any:
    """Compute the probabilities of several classes (n, C) by a candidate, not checked yet.

    Examples
    --------
    >>> class_values(lambda x: np.stack([x, 1 - x], axis=1), np.array([0.2, 0.3]))
    array([[0.2, 0.8],
           [0.3, 0.7]])
    """
    _check_usable(candidate)
    X = own_copy(X)
    if hasattr(candidate, "predict_proba"):
        _known_classes(candidate)
        return candidate.predict_proba(_columns_known_to(candidate, X))
    return _by_results(candidate, X) if hasattr(candidate, "predict") else candidate(X)


def own_copy(X: Any) -> Any:
    """Return a copy of an array, a frame or a list: a user's function may change it."""
    copy = getattr(X, "copy", None) or getattr(X, "clone", None)  # of polars
    return X if copy is None else copy()


def needs_evaluation(candidate: Any) -> bool:
    """Whether a candidate computes probabilities from X, and is not an array of them."""
    return hasattr(candidate, "predict") or callable(candidate)


def _check_usable(candidate: Any) -> None:
    """Raise an error that says what to pass instead, for objects known not to be candidates."""
    name = type(candidate).__name__
    if isinstance(candidate, type):
        raise InvalidTypeError(
            "must be a fitted object, not its class. Got the class "
            f"{candidate.__name__} instead: make one, and fit it on other data than X and y.",
            parameter="candidate",
        )
    if not hasattr(candidate, "predict") or hasattr(candidate, "predict_proba"):
        return
    if name == "Booster":
        package = type(candidate).__module__.partition(".")[0]
        function = "booster.predict"
        if package == "xgboost":
            function = "lambda X: booster.predict(xgboost.DMatrix(X))"
        raise InvalidTypeError(
            f"must give probabilities for X. Got a Booster of {package}, which has no "
            f"predict_proba, instead: pass a function, such as {function}.",
            parameter="candidate",
        )
    if hasattr(candidate, "endog") and hasattr(candidate, "exog"):
        raise NotFittedError(
            f"The 'candidate' parameter must be fitted. Got a model, {name}, instead: pass the "
            "results that its fit returns, on other data than X and y."
        )
    if not hasattr(candidate, "params"):
        raise InvalidTypeError(
            f"must give probabilities. Got {name}, which has no "
            "predict_proba, instead: wrap it in sklearn.calibration.CalibratedClassifierCV, or "
            "pass a callable X -> p.",
            parameter="candidate",
        )


def _as_row(values: Any, n: int) -> FloatArray:
    if hasattr(values, "detach"):  # a tensor of PyTorch, on any device, with its gradient
        values = values.detach().cpu().numpy()
    try:
        row = as_real(values)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(
            "must be an array of probabilities, a fitted classifier, "
            f"statsmodels results or a callable. Got {type(values).__name__} instead.",
            parameter="candidate",
        ) from error
    if row.shape == (n, 1):
        row = row[:, 0]
    if row.shape != (n,):
        raise InvalidValueError(
            f"must give one probability per row, shape ({n},). "
            f"Got {row.shape} instead{columns_hint(row.shape)}.",
            parameter="candidate",
        )
    return row


def _by_classifier(classifier: Any, X: Any, classes: tuple[object, object] | None) -> FloatArray:
    name = type(classifier).__name__
    found = _known_classes(classifier)
    wanted = [label for label in classes or () if label is not None]
    if len(found) != 2 or any(label not in found for label in wanted):
        raise InvalidValueError(
            f"must have the two classes of y, {wanted or 'two of them'}. "
            f"Got {name} with the classes {found} instead.",
            parameter="candidate",
        )
    positive = found.index(classes[1]) if classes is not None else 1
    values = np.asarray(classifier.predict_proba(_columns_known_to(classifier, X)))
    if values.ndim != 2 or values.shape[1] != 2:
        raise InvalidValueError(
            f"must give two columns by predict_proba. Got {name} with "
            f"shape {values.shape} instead.",
            parameter="candidate",
        )
    return values[:, positive]


def _known_classes(classifier: Any) -> list[Any]:
    """Return the classes that a classifier was fitted on."""
    known = getattr(classifier, "classes_", None)
    if known is None:
        raise NotFittedError(
            f"The 'candidate' parameter must be fitted. Got {type(classifier).__name__} without "
            "classes_ instead: call its fit first, on other data than X and y."
        )
    return np.asarray(known).tolist()  # type: ignore[no-any-return]


def _columns_known_to(classifier: Any, X: Any) -> Any:
    """Return the columns that a classifier was fitted on: by name where it has names."""
    # X may have more columns than the classifier uses, and in another order: some libraries would
    # take them by position without an error.
    known = getattr(classifier, "feature_names_in_", None)
    width = getattr(classifier, "n_features_in_", None)
    frame = from_native(X, "X")
    if isinstance(frame, nw.Series) and width == 1:
        frame = frame.to_frame() if known is None else frame.alias(known[0]).to_frame()
        X = frame.to_native()
    if not isinstance(frame, nw.DataFrame):
        return _with_names(X, width, known)
    if known is not None:
        names = [str(name) for name in known]
        pick = names != list(frame.columns) and set(names) <= set(frame.columns)
        return frame.select(names).to_native() if pick else X
    if width == len(frame.columns) and all(is_number(frame[name]) for name in frame.columns):
        return as_matrix(X)  # fitted on an array: names would only cause a warning
    return X


def _with_names(X: Any, width: int | None, known: Any) -> Any:
    """Give an array the form that a classifier expects: two dimensions, and its column names."""
    array = np.asarray(X) if isinstance(X, (np.ndarray, list, tuple)) and width else np.empty(0)
    if array.ndim == 1 and width == 1 and array.dtype.kind in "biuf":
        X = array = array[:, None]
    if known is None or array.ndim != 2 or array.shape[1] != len(known):
        return X
    import pandas as pd

    return pd.DataFrame(array, columns=list(known))


def _by_results(results: Any, X: Any) -> Any:
    model: Any = getattr(results, "model", None)
    if hasattr(model, "formula"):
        if not hasattr(X, "columns"):
            raise InvalidTypeError(
                "must be a frame for a candidate that was fitted by a formula, "
                f"{model.formula!r}. Got {type(X).__name__} instead.",
                parameter="X",
            )
        return results.predict(X if hasattr(X, "iloc") else as_pandas(X, "X"))
    if not hasattr(model, "exog_names"):
        return results.predict(X)
    return results.predict(_exog(model, X))


def _exog(model: Any, X: Any) -> FloatArray:
    """Make the design of the fit: columns by name, and the constant if X has none."""
    names = [str(name) for name in model.exog_names]
    constant = model.data.const_idx if getattr(model, "k_constant", 0) else None
    wanted = [name for index, name in enumerate(names) if index != constant]
    if hasattr(X, "columns"):
        frame = as_pandas(X, "X")
        if set(wanted) <= set(frame.columns):
            X = frame[names if set(names) <= set(frame.columns) else wanted]
        elif hasattr(getattr(model.data, "orig_exog", None), "columns"):
            raise InvalidValueError(
                f"must have the columns {wanted} that the candidate was fitted "
                f"on. Got {list(frame.columns)} instead.",
                parameter="X",
            )
    matrix = as_matrix(X)
    if matrix.shape[1] == len(names):
        return matrix
    if constant is None or matrix.shape[1] != len(wanted):
        raise InvalidValueError(
            f"must have the {len(wanted)} columns {wanted} that the candidate "
            f"was fitted on. Got {matrix.shape[1]} instead.",
            parameter="X",
        )
    exog = getattr(model, "exog", None)
    return np.insert(matrix, constant, 1.0 if exog is None else exog[0, constant], axis=1)
