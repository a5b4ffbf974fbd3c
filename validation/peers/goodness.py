"""Tests of the fit of a family that people use today, each as a function of a fitted `Linear`.

A test gives its p-value for a linear model fitted on the same outcomes. What fails raises, or gives
NaN; `validation.rejections` counts both.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.special import expit, ndtr
from scipy.stats import chi2

from validation.peers.likelihood import Linear, maximise_logistic, slopes_and_weights

__all__ = ["TESTS", "hosmer_lemeshow", "hosmer_lemeshow_bootstrap", "le_cessie", "quadratic_ratio"]


RESAMPLES = 199


def _fitted(model: Linear) -> np.ndarray:
    """P(Y=1|x) at the maximum of the likelihood; an error where there is none."""
    if not model.exists:
        raise ValueError("the likelihood has no finite maximum")
    eta = model.design @ model.theta
    return np.asarray(expit(eta) if model.family == "logistic" else ndtr(eta))


def hosmer_lemeshow(model: Linear, groups: int = 10) -> float:
    """Hosmer and Lemeshow's χ² over groups of equal size, with groups - 2 degrees of freedom."""
    p = _fitted(model)
    parts = np.array_split(np.argsort(p, kind="stable"), groups)
    size = np.array([len(part) for part in parts])
    observed = np.array([model.y[part].sum() for part in parts])
    expected = np.array([p[part].sum() for part in parts])
    variance = expected * (1 - expected / size)
    return float(chi2.sf(((observed - expected) ** 2 / variance).sum(), groups - 2))


def hosmer_lemeshow_bootstrap(model: Linear, groups: int = 10) -> float:
    """The same χ² ranked among those of outcomes drawn from the fitted model, each fitted anew.

    For the logistic family, whose many fits are made at once. The draws depend on the data alone.
    """
    if model.family != "logistic":
        raise ValueError("only for the logistic family")
    p = _fitted(model)
    rng = np.random.default_rng([len(p), int(model.y.sum())])
    Y = np.vstack([model.y, rng.uniform(size=(RESAMPLES, len(p))) < p]).astype(float)
    P = expit(maximise_logistic(model.design, Y) @ model.design.T)
    order = np.argsort(P, axis=1, kind="stable")
    size = np.array([len(part) for part in np.array_split(order[0], groups)])
    starts = np.r_[0, np.cumsum(size)[:-1]]
    observed, expected = (
        np.add.reduceat(np.take_along_axis(values, order, axis=1), starts, axis=1)
        for values in (Y, P)
    )
    variance = np.maximum(expected * (1 - expected / size), 1e-12)
    values = ((observed - expected) ** 2 / variance).sum(axis=1)
    return float((values >= values[0] * (1 - 1e-9)).mean())


def le_cessie(model: Linear) -> float:
    """Le Cessie and van Houwelingen's test (1991) of smoothed residuals, with a Gaussian kernel.

    Q = rᵀKr for residuals r = (I - H) e of the fit, H = W G I⁻¹ Gᵀ, against the multiple of a χ²
    that has its mean and variance. The bandwidth is half the median distance of the inputs scaled
    by their spread, as that of our kernels.
    """
    p = _fitted(model)
    scaled = model.X / model.X.std(axis=0)
    width = np.median(pdist(scaled)) / 2
    K = np.exp(-cdist(scaled, scaled, "sqeuclidean") / (2 * width**2))
    _, information = slopes_and_weights(model.family, model.design @ model.theta, model.y)
    W = p * (1 - p)
    # ∂p/∂η: the information is (∂p/∂η)² / W
    slope = np.sqrt(information * W)
    G = model.design * slope[:, None]
    H = G @ np.linalg.solve(G.T @ (G / W[:, None]), (G / W[:, None]).T)
    left = np.eye(len(p)) - H
    A = left.T @ K @ left
    residual = model.y - p
    Q = residual @ K @ residual
    AW = A * W
    mean = np.trace(AW)
    kurtosis = (np.diag(A) ** 2 * W * (1 - 6 * W)).sum()
    variance = 2 * (AW * AW.T).sum() + kurtosis
    return float(chi2.sf(Q * 2 * mean / variance, 2 * mean**2 / variance))


def quadratic_ratio(model: Linear) -> float:
    """Likelihood ratio against the model with all squares and products of two inputs."""
    if not model.exists:
        raise ValueError("the likelihood has no finite maximum")
    pairs = list(combinations_with_replacement(range(model.X.shape[1]), 2))
    added = [model.X[:, a] * model.X[:, b] for a, b in pairs]
    wider = Linear(model.family, np.column_stack([model.X, *added]), model.y)
    return float(chi2.sf(2 * (wider.top - model.top), len(pairs)))


TESTS: dict[str, Callable[[Linear], float]] = {
    "Hosmer-Lemeshow": hosmer_lemeshow,
    "Hosmer-Lemeshow, bootstrap": hosmer_lemeshow_bootstrap,
    "le Cessie-van Houwelingen": le_cessie,
    "likelihood ratio, all quadratic terms": quadratic_ratio,
}
"""The tests by the names they have in tables."""
