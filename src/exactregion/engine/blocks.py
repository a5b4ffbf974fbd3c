"""Z by going through the rows in memory block after block: draw outcomes, add their products."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.sample import BLOCK_ROWS, blocks
from exactregion.engine.levels import class_probabilities
from exactregion.engine.terms import PreparedStatistic, StatisticAt
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.features.grid import CandidateFeatures, Features
from exactregion.features.threads import single_thread
from exactregion.resampling import Resampling
from exactregion.statistics.base import Candidates
from exactregion.statistics.measures import FromMean, OfLabels

__all__ = [
    "DEFAULT_BATCH",
    "IMPOSSIBLE",
    "batch_size",
    "check_batch",
    "check_numbers",
    "has_certainties",
    "statistics_of",
    "statistics_with_parts",
    "width_of_changing",
]

DEFAULT_BATCH = 2**28
"""Bytes that the candidates worked on at once may take: 256 MiB."""

MOST_LABELS = 2**18
"""Labels that are drawn at once, 128 MiB: data sets come in parts where there are many of them,
except for measures that look at all of them together."""

IMPOSSIBLE = 2.0**-53
"""Outcomes with a smaller probability count as impossible. Uniforms are multiples of 2⁻⁵³, so that
draws cannot tell such a probability from 0, and 1 - p cannot be smaller without being 0: successes
and failures are treated alike."""


def check_batch(batch: object) -> int:
    """Check the memory of a batch, in bytes."""
    if isinstance(batch, bool) or not isinstance(batch, Integral):
        raise InvalidTypeError(
            f"must be a number of bytes. Got {type(batch).__name__} instead.", parameter="batch"
        )
    if batch < 1:
        raise InvalidValueError(
            f"must be a positive number of bytes. Got {batch} instead.", parameter="batch"
        )
    return int(batch)


def statistics_of(
    candidates: Candidates, resampling: Resampling, statistic: PreparedStatistic
) -> FloatArray:
    """Compute Z of the m data sets of each of T candidates: shape (T, m).

    All m data sets, the original in its seat among them, go through the same products.
    """
    return _statistics(candidates, resampling, statistic, with_parts=False)[0]


def statistics_with_parts(
    candidates: Candidates, resampling: Resampling, statistic: PreparedStatistic
) -> list[FloatArray]:
    """Compute Z as `statistics_of` does, then that of each part of the statistic."""
    return _statistics(candidates, resampling, statistic, with_parts=True)


def _statistics(
    candidates: Candidates,
    resampling: Resampling,
    statistic: PreparedStatistic,
    *,
    with_parts: bool,
) -> list[FloatArray]:
    at = statistic.at(candidates)
    features: list[Features] = [term.features for term in at.terms]
    contradictions = _contradictions(candidates, resampling.m)
    if contradictions is not None:
        features.append(contradictions)
    P, n, m = candidates.probabilities, len(candidates.inputs), resampling.m
    size = m
    if not any(isinstance(term.measure, FromMean | OfLabels) for term in at.terms):
        size = max(1, MOST_LABELS // (len(P) * min(n, BLOCK_ROWS)))
    labels = [(rows, resampling.parts(P[:, rows], rows, size)) for rows in blocks(n)]
    measured, impossible = [], []
    for first in range(0, m, size):
        shape = (len(P), min(size, m - first))
        points = [np.zeros((each.width, *shape)) for each in features]
        with single_thread():  # two threads took up to ten times as long on a busy machine
            for rows, parts in labels:
                K = next(parts)
                for each, sums in zip(features, points, strict=True):
                    each.add(sums, K, rows)
        with np.errstate(over="ignore"):
            pairs = zip(at.terms, points, strict=False)
            measured.append([term.values(cloud) for term, cloud in pairs])
        impossible.append(points[-1][0])
    with np.errstate(over="ignore"):
        joined = [np.concatenate(parts, axis=1) for parts in zip(*measured, strict=True)]
        Zs = at.combine(joined, with_parts=with_parts)
    for Z in Zs:
        check_numbers(Z, candidates)
    if contradictions is None:
        return Zs
    certain = _certain_failures(candidates).sum(axis=-1)
    contradicted = certain[:, None] + np.concatenate(impossible, axis=1) > 0
    return [np.where(contradicted, np.inf, Z) for Z in Zs]


def has_certainties(candidates: Candidates) -> bool:
    """Return whether any candidate holds an outcome impossible."""
    P, levels = candidates.probabilities, candidates.inputs.levels
    if levels > 1:
        return bool(class_probabilities(P, levels).min() < IMPOSSIBLE)
    low, high = candidates.extremes
    return not (low >= IMPOSSIBLE and high < 1)


def _contradictions(candidates: Candidates, m: int) -> CandidateFeatures | None:
    """Make features that count impossible outcomes: a success where p ≈ 0, a failure where p = 1.

    Summed over successes, +1 where p < 2⁻⁵³ and -1 where p = 1, plus the trials where p = 1. An
    alternative has no such outcome, since it is drawn from the candidate. If the original has
    one, the candidate cannot be true: Z = ∞ ranks it last, whatever the statistic sees. Of several
    classes each may be impossible, and a level adds what its class has more than the one below.
    """
    if not has_certainties(candidates):
        return None
    P, levels = candidates.probabilities, candidates.inputs.levels
    if levels > 1:
        impossible = class_probabilities(P, levels) < IMPOSSIBLE
        sign = np.diff(impossible * 1.0, axis=-1).reshape(P.shape)
    else:
        sign = (P < IMPOSSIBLE) * 1.0 - (P == 1) * 1.0
    return CandidateFeatures.rounded(sign[:, None, :], candidates.inputs.extent, m)


def _certain_failures(candidates: Candidates) -> FloatArray:
    """Count the impossible outcomes of data sets without any success: shape (T, rows)."""
    P, inputs = candidates.probabilities, candidates.inputs
    if inputs.levels > 1:
        impossible = class_probabilities(P, inputs.levels)[..., 0] < IMPOSSIBLE
        return impossible.astype(np.float64)
    return np.asarray(inputs.trials * (P == 1))


def check_numbers(Z: FloatArray, candidates: Candidates | None = None) -> None:
    """Check that a statistic gave numbers, and name θ where it did not."""
    if not np.isnan(Z.min(initial=np.inf)):  # the smallest is NaN if any is
        return
    wrong = np.flatnonzero(np.isnan(np.atleast_2d(Z)).any(axis=1))
    theta = None if candidates is None else candidates.theta
    where = "" if theta is None else f" at theta = {theta[wrong[0]].tolist()}"
    raise InvalidValueError(f"The statistic must give numbers. Got NaN{where} instead.")


def batch_size(at: StatisticAt, n: int, d: int, m: int, batch: int) -> int:
    """Count how many θ fit into `batch` bytes: labels in a block of rows, points, columns.

    At least one: less than that cannot be worked on.
    """
    labels = 2 * m * min(n, BLOCK_ROWS)
    numbers = labels + 3 * m * at.width + (6 + 4 * max(d, width_of_changing(at))) * n
    return max(1, int(batch // (8 * numbers)))


def width_of_changing(at: StatisticAt) -> int:
    """Count the columns that each candidate has of its own."""
    features = [term.features for term in at.terms]
    changing = [each for each in features if isinstance(each, CandidateFeatures)]
    return sum(each.width for each in changing if each.rows is None)
