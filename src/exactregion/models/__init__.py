"""Families of probability models, P_θ(Y=+1|x) or P_θ(Y=c|x), and fixed candidates."""

from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.models.base import Model
from exactregion.models.classes import ClassModel, Multinomial, ProportionalOdds
from exactregion.models.fixed import fixed_probabilities, needs_evaluation
from exactregion.models.linear import CLogLog, LinearModel, Logistic, Probit, Recalibration
from exactregion.models.mixture import GaussianMixture, LaplaceMixture, Mixture
from exactregion.models.own import Function, check_model
from exactregion.models.psychometric import Psychometric

__all__ = [
    "MODELS",
    "CLogLog",
    "ClassModel",
    "Function",
    "GaussianMixture",
    "LaplaceMixture",
    "LinearModel",
    "Logistic",
    "Mixture",
    "Model",
    "Multinomial",
    "Probit",
    "ProportionalOdds",
    "Psychometric",
    "Recalibration",
    "as_model",
    "check_model",
    "fixed_probabilities",
    "needs_evaluation",
]

MODELS: dict[str, type[Model]] = {
    "cloglog": CLogLog,
    "gaussian": GaussianMixture,
    "laplace": LaplaceMixture,
    "logistic": Logistic,
    "multinomial": Multinomial,
    "probit": Probit,
    "proportional-odds": ProportionalOdds,
    "psychometric": Psychometric,
    "recalibration": Recalibration,
}
"""The families that have a name; each can be made without arguments."""


def as_model(model: object) -> Model:
    """Turn a name of `MODELS`, or a model, into a model.

    Examples
    --------
    >>> as_model("probit")
    Probit(intercept=True, feature_names=None)
    >>> as_model("laplace")
    LaplaceMixture(locations=(1.0, -1.0))
    """
    if isinstance(model, Model):
        return model
    if isinstance(model, str):
        if model in MODELS:
            return MODELS[model]()
        raise InvalidValueError(
            f"must be one of {list(MODELS)}, or a model object such as Mixture(positive, negative) "
            f"or Function(f, names). Got {model!r} instead.",
            parameter="model",
        )
    raise InvalidTypeError(
        "must be a name or a model, such as exactregion.models.Logistic(). "
        f"Got {model!r} instead: a function becomes a model by exactregion.models.Function.",
        parameter="model",
    )


def default_statistic(model: object) -> str:
    """Return the name of the statistic of regions of this family, if none is asked for.

    Examples
    --------
    >>> default_statistic("logistic"), default_statistic("psychometric")
    ('combined', 'ratio')
    """
    family = MODELS[model]() if isinstance(model, str) and model in MODELS else model
    return family.default_statistic if isinstance(family, Model) else "combined"
