"""Observed shares beside predicted probabilities, in groups: a description, not a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray, IntArray

__all__ = ["Groups", "group_by_prediction"]


@dataclass(frozen=True, eq=False)
class Groups:
    """Outcomes in groups of the predicted probability, in ascending order.

    Attributes
    ----------
    low, high : ndarrays of shape (g,)
        Least and largest prediction of each group.
    predicted, observed : ndarrays of shape (g,)
        Mean prediction, and share of successes.
    successes, trials : ndarrays of shape (g,)
        Outcomes.
    """

    low: FloatArray
    high: FloatArray
    predicted: FloatArray
    observed: FloatArray
    successes: IntArray
    trials: IntArray

    def rows(self) -> Iterator[tuple[float, float, float, float, int, int]]:
        """Give low, high, predicted, observed, successes and trials of each group."""
        columns = vars(self).values()
        return zip(*(column.tolist() for column in columns), strict=True)


def group_by_prediction(
    probabilities: FloatArray, successes: IntArray, trials: IntArray, most: int = 10
) -> Groups:
    """Divide outcomes into groups of about equal size; equal predictions stay together.

    Examples
    --------
    >>> p = np.array([0.1, 0.9, 0.2, 0.8])
    >>> y = np.array([0, 1, 0, 1])
    >>> groups = group_by_prediction(p, y, np.ones(4, dtype=int), most=2)
    >>> groups.predicted.round(2), groups.observed
    (array([0.15, 0.85]), array([0., 1.]))
    """
    used = trials > 0
    values, place = np.unique(probabilities[used], return_inverse=True)
    totals = np.bincount(place, weights=trials[used])
    middles = np.cumsum(totals) - totals / 2
    wanted = np.minimum((most * middles / totals.sum()).astype(np.int64), most - 1)
    _, group_of_value = np.unique(wanted, return_inverse=True)
    group = group_of_value[place]
    in_group = np.bincount(group, weights=trials[used])
    hits = np.bincount(group, weights=successes[used])
    starts = np.flatnonzero(np.diff(group_of_value, prepend=-1))
    stops = np.append(starts[1:], len(values)) - 1
    return Groups(
        low=values[starts],
        high=values[stops],
        predicted=np.bincount(group, weights=trials[used] * probabilities[used]) / in_group,
        observed=hits / in_group,
        successes=hits.astype(np.int64),
        trials=in_group.astype(np.int64),
    )
