"""Fisher scoring where rows are many: score and information are sums over chunks of rows.

It starts at the estimate of a few thousand rows, from where two or three steps are enough. It uses
the outcomes, as any search may: it decides where ranks are evaluated, never which θ are members.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.sample import CHUNK_ROWS, Sample
from exactregion.data.sources import release
from exactregion.engine.information import information_of_block
from exactregion.features.landmarks import sample_rows
from exactregion.models.base import Model

__all__ = ["few_rows", "goes_by_chunks", "maximise_by_chunks", "score_and_information"]

MAX_STEPS = 25
"""Steps before scoring is given up: near its maximum a likelihood takes three."""


def goes_by_chunks(model: Model, sample: Sample) -> bool:
    """Return whether rows are many, and the family is one that goes through them in chunks."""
    inputs = sample.inputs
    return inputs.extent.is_large and inputs.levels == 1 and model.has_known_link


def few_rows(sample: Sample) -> Sample:
    """Return the sample of some thousand rows, spread over all; all rows without trials are left.

    Where these have no trial or one class alone, the sample is as good a start as any other.
    """
    places = sample_rows(len(sample))
    if not np.asarray(sample.inputs.trials[places]).any():
        places = np.flatnonzero(sample.inputs.trials)[: len(places)]
    return sample.at(places, np.arange(len(places)))


def score_and_information(
    model: Model, sample: Sample, theta: FloatArray, units: FloatArray | float, added: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Sum score (d,) and information (d, d) at one θ (d,), of parameters in these units.

    The score is that of the data and of `added` trials, half of them successes, spread over rows.
    """
    inputs, share = sample.inputs, added / sample.inputs.total
    score: Any = 0.0
    information: Any = 0.0
    for start in range(0, len(inputs), CHUNK_ROWS):
        rows = slice(start, start + CHUNK_ROWS)
        X = np.asarray(inputs.X[rows])
        trials = inputs.trials[rows]
        on_rows: Any = model.on_rows(X)
        P = on_rows(theta[None])
        gradient = model.logit_gradient(theta, X) * units
        gradient = np.ascontiguousarray(np.where(np.isfinite(gradient), gradient, 0.0).T)
        residual = (
            np.asarray(sample.successes[rows]) - trials * P[0] + share * trials * (0.5 - P[0])
        )
        score = score + gradient @ residual
        information = information + information_of_block(gradient[None], P, trials)[0]
        release(inputs.X)
    return score, information


def maximise_by_chunks(
    model: Model,
    sample: Sample,
    theta: FloatArray,
    units: FloatArray,
    *,
    added: int,
    least_gain: float,
) -> FloatArray | None:
    """Maximise the likelihood of the data and of added trials; None where steps do not shrink."""
    before = np.inf
    for _ in range(MAX_STEPS):
        score, information = score_and_information(model, sample, theta, units, added)
        try:
            step = np.linalg.solve(information, score)
        except np.linalg.LinAlgError:
            return None
        gain = float(step @ score) / 2
        if not np.isfinite(gain) or not gain <= 4 * before:
            return None
        theta, before = theta + units * step, gain
        # the last step is taken: scoring converges quadratically, so that what is left is less
        if gain < least_gain:
            return theta
    return None
