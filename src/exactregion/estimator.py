"""RegionClassifier: a confidence region as an estimator of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from exactregion._typing import BoolArray, FloatArray
from exactregion.errors import InvalidTypeError, InvalidValueError, with_named_seed
from exactregion.models import ClassModel, Model, as_model
from exactregion.region import ConfidenceRegion
from exactregion.resampling import RNGLike
from exactregion.statistics import Statistic

__all__ = ["RegionClassifier"]


class RegionClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose probabilities have confidence intervals that are valid at every n.

    `predict` and `predict_proba` are those of the estimate of a `ConfidenceRegion`;
    `predict_proba_interval` and `predict_set` are over all members. If the truth belongs to the
    family, then with probability ``region_.coverage_`` at least all intervals contain the true
    P(Y=1|x), and all sets the likelier class, for all x at once. That probability is over all data,
    those of a single class included, which `fit` must refuse: where they are not rare, use
    `ConfidenceRegion` itself.

    Parameters
    ----------
    model : Model or {"logistic", "probit", "cloglog"}
        The family. It is passed X with shape (n, n_features).
    statistic : str, Statistic or callable
        As for `ConfidenceRegion`, like the other settings.
    confidence_level : float
        Level required.
    n_resamples, n_jobs : int
        Number of alternatives, and of joblib workers.
    random_state : int, "data", RandomState, Generator, SeedSequence or None
        What `ConfidenceRegion` calls `rng`: the same data and integer give the same region. A
        RandomState or Generator is advanced by each fit. None draws a new seed, independent of
        NumPy's global state.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The two classes, sorted; the second is the positive one.
    n_features_in_, feature_names_in_ : int and ndarray of shape (n_features_in_,)
        Number of columns of X, and their names if X was a frame with strings as names.
    region_ : ConfidenceRegion
        The region, for all else: intervals, functionals, risk.

    See Also
    --------
    ConfidenceRegion : Takes counts and labels of a single class too, which this does not.

    Examples
    --------
    >>> import pandas as pd
    >>> import exactregion as er
    >>> flights = er.datasets.oring()
    >>> classifier = er.RegionClassifier(n_resamples=199, random_state=0)
    >>> weather = pd.DataFrame({"temp": [50, 80]})
    >>> classifier.fit(flights[["temp"]], flights["y"]).predict(weather)
    array([1, 0])

    Of the two decisions the data support only the second:

    >>> classifier.predict_set(weather)
    array([[ True,  True],
           [ True, False]])
    """

    @with_named_seed
    def __init__(
        self,
        model: Model | str = "logistic",
        *,
        statistic: str | Statistic | Any | None = None,
        confidence_level: float = 0.95,
        n_resamples: int = 999,
        random_state: RNGLike | np.random.RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.model = model
        self.statistic = statistic
        self.confidence_level = confidence_level
        self.n_resamples = n_resamples
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any) -> Self:
        """Find the region of the parameters that are compatible with the data.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Inputs.
        y : array-like of shape (n,)
            Labels of two classes, of any type.
        """
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        classes = _two_classes(y)
        if isinstance(as_model(self.model), ClassModel):
            raise InvalidValueError(
                f"must be a family of two classes. Got {self.model!r} instead: use "
                "ConfidenceRegion, whose predict has the probability of each class.",
                parameter="model",
            )
        region = ConfidenceRegion(
            self.model,
            statistic=self.statistic,
            confidence_level=self.confidence_level,
            n_resamples=self.n_resamples,
            rng=_as_rng(self.random_state),
            pos_label=classes.tolist()[1],
            n_jobs=self.n_jobs,
        )
        region.fit(self._named(X), y).outline()  # here, so that predict takes little time
        self.classes_, self.region_ = classes, region
        return self

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the likelier class by the estimate."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each of `classes_` by the estimate: (n, 2)."""
        inputs = self._inputs(X)
        P = self.region_.model_.probabilities(self.region_.estimate_, inputs)
        return np.column_stack([1 - P, P])

    def decision_function(self, X: Any) -> FloatArray:
        """Compute f(x) = 2 P(Y=1|x) - 1 of the estimate, from -1 to 1."""
        return np.asarray(2 * self.predict_proba(X)[:, 1] - 1)

    def predict_proba_interval(self, X: Any, *, joint: bool = True) -> FloatArray:
        """Bound the probability of the positive class, ``classes_[1]``.

        Parameters
        ----------
        X : array-like or frame of shape (n, n_features)
            Inputs.
        joint : bool
            True: simultaneous, all intervals hold at once with probability at least
            ``region_.coverage_``. False: each holds on its own, and is narrower.

        Returns
        -------
        ndarray of shape (n, 2)
            Lower and upper bounds; NaN where no member of the family fits the data. One search
            finds them for all rows, so that they may change a little with the other rows.
        """
        inputs = self._inputs(X)  # first, since it checks that there is a region
        band = self.region_.band(inputs, joint=joint)
        return np.column_stack([band.lower, band.upper])

    def predict_set(self, X: Any) -> BoolArray:
        """Return which classes the region allows as the likelier one.

        With probability ``region_.coverage_`` at least, all sets contain the class that the Bayes
        classifier of the truth decides for. They are about the probabilities, not about the next
        label, which may differ from the likelier class as often as the probabilities say.

        Returns
        -------
        ndarray of shape (n, 2)
            Whether some member makes each of `classes_` at least as likely as the other: both
            where the region leaves it open, neither where no member of the family fits the data.
        """
        lower, upper = self.predict_proba_interval(X).T
        return np.column_stack([lower <= 0.5, upper >= 0.5])

    def __sklearn_tags__(self) -> Any:
        """Declare that there must be two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _inputs(self, X: Any) -> Any:
        check_is_fitted(self)
        return self._named(validate_data(self, X, dtype=np.float64, reset=False))

    def _named(self, X: FloatArray) -> Any:
        """Name the columns as the user's frame did, for the names of the parameters."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return X
        import pandas as pd

        return pd.DataFrame(X, columns=names)


def _two_classes(y: npt.NDArray[Any]) -> npt.NDArray[Any]:
    classes = np.unique(y)
    if len(classes) == 2:
        return classes
    got = f"Got one class instead: {classes.tolist()}. "
    advice = "(ConfidenceRegion takes labels of one class, with pos_label.)"
    if len(classes) > 2:
        shown = ", ".join(map(repr, classes.tolist()[:5])) + (", …" if len(classes) > 5 else "")
        got = f"Got {len(classes)} instead: {shown}. "
        advice = "Only binary classification is supported."
    raise InvalidValueError(f"must have two classes. {got}{advice}", parameter="y")


def _as_rng(random_state: RNGLike | np.random.RandomState) -> RNGLike:
    """Convert random_state, as scikit-learn calls it, to rng, as NumPy does."""
    if isinstance(random_state, np.random.RandomState):
        return int.from_bytes(random_state.bytes(16), "little")
    if isinstance(random_state, str) and random_state == "data":
        return "data"
    try:
        np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        kind = InvalidTypeError if isinstance(error, TypeError) else InvalidValueError
        raise kind(
            "The 'random_state' parameter must be None, a non-negative integer, 'data', a "
            "RandomState, a SeedSequence or a numpy.random.Generator. "
            f"Got {random_state!r} instead."
        ) from error
    return random_state
