"""Z for any candidates: labels of a block of them, one matrix product, points to numbers."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from exactregion._typing import FloatArray
from exactregion.engine.certainty import Certainties
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.features.grid import Projection
from exactregion.resampling import BLOCK_ROWS, Resampling, blocks
from exactregion.statistics.base import Candidates, PreparedStatistic, Rule

__all__ = ["DEFAULT_BATCH", "check_batch", "check_numbers", "fitting", "statistics_of"]

DEFAULT_BATCH = 2**28
"""Bytes that the candidates worked on at once may take: 256 MiB."""


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
    rule = statistic.rule(candidates)
    certainties = Certainties.of(candidates, resampling.m)
    projections: list[Projection] = list(rule.projections)
    if certainties is not None:
        projections.append(certainties.features)
    shape = (len(candidates), resampling.m)
    points = [np.zeros((projection.width, *shape)) for projection in projections]
    for rows in blocks(len(candidates.inputs)):
        K = resampling.successes(candidates.probabilities[:, rows], rows)
        for projection, sums in zip(projections, points, strict=True):
            projection.add(sums, K, rows)
    with np.errstate(over="ignore"):
        Z = rule.values(points[: len(rule.projections)])
    check_numbers(Z, candidates)
    if certainties is not None:
        return certainties.infinite_where_contradicted(Z, points[-1])
    return Z


def check_numbers(Z: FloatArray, candidates: Candidates) -> None:
    """Check that a statistic gave numbers, and name θ where it did not."""
    wrong = np.flatnonzero(np.isnan(Z).any(axis=1))
    if not len(wrong):
        return
    where = "" if candidates.theta is None else f" at theta = {candidates.theta[wrong[0]].tolist()}"
    raise InvalidValueError(f"The statistic must give numbers. Got NaN{where} instead.")


def fitting(rule: Rule, n: int, d: int, m: int, batch: int) -> int:
    """Count how many θ fit into `batch` bytes: their labels in a block of rows, points, gradients.

    At least one: less than that cannot be worked on.
    """
    width = sum(projection.width for projection in rule.projections)
    labels = 2 * m * min(n, BLOCK_ROWS)
    numbers = labels + 3 * m * width + (6 + 4 * d) * n
    return max(1, int(batch // (8 * numbers)))
