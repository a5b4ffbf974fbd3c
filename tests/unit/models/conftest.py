"""Every family, with inputs and a batch of parameters within its bounds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from exactregion import models


@dataclass(frozen=True)
class Family:
    model: models.Model
    X: np.ndarray
    theta: np.ndarray
    names: tuple[str, ...]


N_ROWS, N_THETAS = 33, 40
_rng = np.random.default_rng(20)
_x = _rng.normal(size=N_ROWS)
_x2 = _rng.normal(size=(N_ROWS, 2))
_predicted = _rng.uniform(0.02, 0.98, N_ROWS)


def _draw(*ranges: tuple[float, float]) -> np.ndarray:
    return np.column_stack([_rng.uniform(low, high, N_THETAS) for low, high in ranges])


REAL, PRIOR, SCALE, RATE = (-1.0, 1.0), (0.1, 0.9), (0.7, 2.0), (0.05, 0.4)


def _hill(theta: Any, X: Any) -> Any:
    return expit(theta[..., 1:] * (X - theta[..., :1]))


def _families() -> dict[str, Family]:
    normals = models.Mixture(stats.norm, stats.norm, shared=("scale",))
    students = models.Mixture(stats.t, stats.t, {"loc": 1.0}, {"loc": -1.0, "df": 3.0})
    laplace = models.LaplaceMixture()
    names = ("level", "age")
    coefficients = ("intercept", *names)
    free = models.Psychometric(models.Probit(), guess="free", lapse="free")
    known = models.Psychometric(models.CLogLog(), guess=0.25, lapse=0.02)
    mixed = models.Psychometric(laplace, guess=0.5, lapse="free")
    slopes = models.Logistic(intercept=False)
    one, two = _draw(REAL, REAL), _draw(REAL, REAL, REAL)
    prior_and_scale = _draw(PRIOR, SCALE)
    bound = {
        "logistic": (models.Logistic(), _x2, two, coefficients),
        "logistic-slopes": (slopes, _x2, one, names),
        "probit": (models.Probit(), _x2, two, coefficients),
        "cloglog": (models.CLogLog(), _x2, two, coefficients),
        "psychometric-free": (
            free,
            _x2,
            np.hstack([two, _draw(RATE, RATE)]),
            (*coefficients, "guess", "lapse"),
        ),
        "psychometric-known": (known, _x2, two, coefficients),
        "psychometric-mixture": (
            mixed,
            _x,
            np.hstack([prior_and_scale, _draw(RATE)]),
            ("p", "scale", "lapse"),
        ),
        "laplace": (laplace, _x, prior_and_scale, ("p", "scale")),
        "gaussian": (models.GaussianMixture((0.5, -1.0)), _x, prior_and_scale, ("p", "scale")),
        "mixture-norm": (
            normals,
            _x,
            _draw(PRIOR, SCALE, REAL, REAL),
            ("p", "scale", "positive_loc", "negative_loc"),
        ),
        "mixture-t": (
            students,
            _x,
            _draw(PRIOR, (1.0, 5.0), SCALE, SCALE),
            ("p", "positive_df", "positive_scale", "negative_scale"),
        ),
        "recalibration": (models.Recalibration(), _predicted, one, ("intercept", "slope")),
        "recalibration-3": (
            models.Recalibration(degree=3),
            _predicted,
            _draw(REAL, REAL, REAL, REAL),
            ("intercept", "slope", "square", "cube"),
        ),
        "function": (models.Function(_hill, ("ec50", "slope")), _x, one, ("ec50", "slope")),
        "function-vectorized": (
            models.Function(_hill, ("ec50", "slope"), vectorized=True),
            _x,
            one,
            ("ec50", "slope"),
        ),
    }
    return {
        key: Family(model.bind(names), X, theta, parameters)
        for key, (model, X, theta, parameters) in bound.items()
    }


FAMILIES = _families()
NUMERIC = {key: family for key, family in FAMILIES.items() if not key.startswith("function")}


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES.keys())
def family(request):
    return request.param


@pytest.fixture(params=NUMERIC.values(), ids=NUMERIC.keys())
def numeric_family(request):
    """A family that reads its inputs as numbers itself; a Function leaves that to its f."""
    return request.param
