"""Observed shares beside predicted probabilities, in groups: a description, not a test."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.report.figures import add_diagonal, add_glyph, new_figure
from exactregion.report.page import Figure, Key, Pointer, Section, Table

__all__ = ["Groups", "group_by_prediction", "groups_section"]


@dataclass(frozen=True, eq=False)
class Groups:
    """Outcomes in groups of the predicted probability, in ascending order.

    Of each group the smallest and largest prediction, the mean prediction, the share of successes,
    and the outcomes behind it.
    """

    low: FloatArray
    high: FloatArray
    predicted: FloatArray
    observed: FloatArray
    successes: IntArray
    trials: IntArray

    def rows(self) -> Iterator[tuple[float, float, float, float, int, int]]:
        """Return low, high, predicted, observed, successes and trials of each group."""
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


def groups_section(probabilities: FloatArray, successes: IntArray, trials: IntArray) -> Section:
    """Draw and list the outcomes in groups."""
    groups = group_by_prediction(probabilities, successes, trials)
    return Section("The outcomes in groups", [_figure(groups), _table(groups)], beside=True)


def _figure(groups: Groups) -> Figure:
    """Draw observed shares against mean predictions, with the diagonal."""
    plot = new_figure(
        "groups",
        x=("mean predicted probability", (-0.03, 1.03)),
        y=("observed share", (-0.05, 1.05)),
        height=420,
    )
    add_diagonal(plot)
    size = 8 + 10 * np.sqrt(groups.trials / groups.trials.max())
    shares = {"x": groups.predicted, "y": groups.observed, "size": size}
    roles = {"line_color": "blue", "fill_color": "blue"}
    add_glyph(plot, "scatter", shares, roles, fill_alpha=0.35, line_width=1.6)
    middles = (groups.predicted[:-1] + groups.predicted[1:]) / 2
    ends = [-1.0, *middles.tolist(), 2.0]
    texts = [
        f"{trials:,} outcomes, predictions {_between(low, high)}\n"
        f"observed {observed:.2f} ({successes:,} positive)\n"
        f"predicted {predicted:.2f} ({predicted * trials:.1f} expected)"
        for low, high, predicted, observed, successes, trials in groups.rows()
    ]
    return Figure(
        "groups",
        "Observed share against mean predicted probability in groups of the prediction; the table "
        "below has the numbers.",
        plot,
        [Key("dot-blue", "a group of outcomes"), Key("dash-muted", "observed as predicted")],
        "Rows are divided into groups of about equal size by their predicted probability. Near the "
        "dashed line outcomes are as frequent as predicted. This figure describes the data; it is "
        "not part of the test.",
        [Pointer("groups", ends[:-1], ends[1:], texts)],
    )


def _table(groups: Groups) -> Table:
    rows = [
        [
            _between(low, high),
            f"{trials:,}",
            f"{successes:,}",
            f"{predicted * trials:.1f}",
            f"{observed:.2f}",
        ]
        for low, high, predicted, observed, successes, trials in groups.rows()
    ]
    heads = ["Predictions", "Outcomes", "Positive", "Expected", "Share"]
    return Table("The groups in numbers", heads, rows)


def _between(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g}–{high:.3g}"
