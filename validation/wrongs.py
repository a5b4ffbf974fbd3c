"""What may be wrong with a candidate: errors of the logit, scaled to be equally plain."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit, logit
from scipy.stats import chi2, ncx2

from exactregion.models import LaplaceMixture, Logistic, Recalibration

__all__ = ["LEVEL", "STRENGTH", "wrongs_of"]

LEVEL = 0.05
STRENGTH = 16.0

Wrongs = dict[str, np.ndarray]


def wrongs_of(settings: dict[str, Any], rng: np.random.Generator) -> tuple[Any, ...]:
    """Draw inputs, a candidate (model, θ, p) and what may be wrong with it."""
    asked = {"candidate": _candidate, "family": _family, "calibration": _calibration}
    return asked[settings["question"]](settings, rng)


def _candidate(settings: dict[str, Any], rng: np.random.Generator) -> tuple[Any, ...]:
    X = rng.standard_normal((settings["n"], settings["d"]))
    p = expit(X.sum(axis=1) / np.sqrt(settings["d"]))
    shapes = {"nothing": np.zeros(len(X)), "shift": np.ones(len(X)), "slope": X[:, 0]}
    sign = rng.choice([-1, 1])
    wrongs = {name: _scaled(sign * shape, p) for name, shape in {**shapes, **_shapes(X)}.items()}
    return X, None, None, p, wrongs


def _shapes(X: np.ndarray) -> Wrongs:
    """Shapes of errors along the first input or two."""
    x, last = X[:, 0], X[:, -1]
    top = {1: 1.28, 2: 0.48, 3: 0.48, 5: 0.48}[X.shape[1]]
    return {
        "interaction" if X.shape[1] > 1 else "curve": x * last - (X.shape[1] == 1),
        "wave": np.sin(np.pi * x),
        "ripple": np.sin(2.5 * np.pi * x),
        "bump": np.exp(-((x - 0.5) ** 2) / (2 * 0.25**2)),
        "subgroup": ((x > top) & (last > top)).astype(float),
    }


def _scaled(shape: np.ndarray, p: np.ndarray, strength: float = STRENGTH) -> np.ndarray:
    size = np.sqrt((p * (1 - p) * shape**2).sum())
    return np.clip(shape * np.sqrt(strength) / size, -6, 6) if size > 0 else shape


def _family(settings: dict[str, Any], rng: np.random.Generator) -> tuple[Any, ...]:
    n, d = settings["n"], settings["d"]
    if settings["model"] == "mixture":
        y = np.where(rng.random(n) < 0.5, 1, -1)
        X = (y + rng.laplace(size=n))[:, None]
        model: Any = LaplaceMixture(locations=(1.0, -1.0))
        theta = np.array([[0.5, 1.0]])
    else:
        X = rng.standard_normal((n, d))
        model = Logistic()
        theta = np.array([[0.5, *np.full(d, 1 / np.sqrt(d))]])
    p = model.probabilities(theta[0], X)
    gradient = np.asarray(model.logit_gradient(theta, X))[0]
    eta = logit(p)
    shapes = _shapes(X / X.std())
    shapes["link"] = logit(np.clip(-np.expm1(-np.exp(eta * 0.8 - 0.4)), 1e-6, 1 - 1e-6)) - eta
    shapes["lapse"] = logit(0.1 + 0.8 * expit(2 * eta))
    sign = rng.choice([-1, 1])
    wrongs = {"inside": _nearby(gradient, p, rng)}
    for name, shape in shapes.items():
        wrongs[name] = _scaled(sign * _outside(shape, gradient, p), p)
    return X, model, theta, p, wrongs


def _nearby(gradient: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Change θ in a random direction, so far that the score finds half of such changes."""
    values, vectors = np.linalg.eigh((gradient * (p * (1 - p))[:, None]).T @ gradient)
    direction = rng.standard_normal(len(values))
    step = vectors @ (direction / np.sqrt(values))
    return _scaled(gradient @ step, p, _halfway(len(values)))


@cache
def _halfway(parameters: int) -> float:
    """Find the noncentrality at which a χ² test at the level has power one half."""
    from scipy.optimize import brentq

    limit = chi2.isf(LEVEL, parameters)
    return float(brentq(lambda size: ncx2.sf(limit, parameters, size) - 0.5, 0.1, 50))


def _outside(shape: np.ndarray, gradient: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Take off what the family could follow, by weighted least squares."""
    root = np.sqrt(p * (1 - p))
    follow = np.linalg.lstsq(gradient * root[:, None], shape * root, rcond=None)[0]
    return shape - gradient @ follow


def _calibration(settings: dict[str, Any], rng: np.random.Generator) -> tuple[Any, ...]:
    n = settings["n"]
    p = rng.uniform(size=n) if settings["predictions"] == "uniform" else rng.beta(1, 5, size=n)
    p = np.clip(p, 1e-4, 1 - 1e-4)
    score, place = logit(p), np.argsort(np.argsort(p)) / n
    centred = score - np.average(score, weights=p * (1 - p))
    sign = rng.choice([-1, 1])
    shapes = {
        "nothing": np.zeros(n),
        "over-confident": -centred,
        "under-confident": centred,
        "shifted": sign * np.ones(n),
        "asymmetric": sign * np.maximum(centred, 0),
        "bent": sign * (centred**2 - np.average(centred**2, weights=p * (1 - p))),
        "wavy": sign * np.sin(6 * np.pi * place),
        "ripple": sign * np.sin(12 * np.pi * place),
        "subgroup": sign * ((place > 0.6) & (place < 0.75)).astype(float),
    }
    wrongs = {name: _scaled(shape, p) for name, shape in shapes.items()}
    return p[:, None], Recalibration(), np.array([[0.0, 1.0]]), p, wrongs
