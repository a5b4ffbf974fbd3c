"""Observed shares beside predicted probabilities, in groups: a description, not a test."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from exactregion._typing import FloatArray, IntArray
from exactregion.report.figures import add_diagonal, add_glyph, new_figure
from exactregion.report.page import Figure, Key, Pointer, Section, Table

__all__ = ["group_by_prediction", "groups_section"]


def group_by_prediction(
    probabilities: FloatArray, successes: IntArray, trials: IntArray, most: int = 10
) -> pd.DataFrame:
    """Divide outcomes into groups of about equal size; equal predictions stay together.

    One row per group, in ascending order: smallest, largest and mean prediction, share of
    successes, and the outcomes behind it.
    """
    rows = pd.DataFrame({"p": probabilities, "successes": successes, "trials": trials})
    rows = rows[rows["trials"] > 0].assign(expected=lambda rows: rows["p"] * rows["trials"])
    totals = rows.groupby("p")["trials"].sum()
    middles = totals.cumsum() - totals / 2
    group_of_value = (most * middles / totals.sum()).astype(int).clip(upper=most - 1)
    grouped = rows.groupby(rows["p"].map(group_of_value))
    sums, p = grouped[["expected", "successes", "trials"]].sum(), grouped["p"]
    return pd.DataFrame(
        {
            "low": p.min(),
            "high": p.max(),
            "predicted": sums["expected"] / sums["trials"],
            "observed": sums["successes"] / sums["trials"],
            "successes": sums["successes"],
            "trials": sums["trials"],
        }
    )


def groups_section(probabilities: FloatArray, successes: IntArray, trials: IntArray) -> Section:
    """Draw and list the outcomes in groups."""
    groups = group_by_prediction(probabilities, successes, trials)
    return Section("The outcomes in groups", [_figure(groups), _table(groups)], beside=True)


def _figure(groups: pd.DataFrame) -> Figure:
    """Draw observed shares against mean predictions, with the diagonal."""
    plot = new_figure(
        "groups",
        x=("mean predicted probability", (-0.03, 1.03)),
        y=("observed share", (-0.05, 1.05)),
        height=420,
    )
    add_diagonal(plot)
    predicted, observed, trials = groups[["predicted", "observed", "trials"]].to_numpy().T
    shares = {"x": predicted, "y": observed, "size": 8 + 10 * np.sqrt(trials / trials.max())}
    roles = {"line_color": "blue", "fill_color": "blue"}
    add_glyph(plot, "scatter", shares, roles, fill_alpha=0.35, line_width=1.6)
    ends = [-1.0, *((predicted[:-1] + predicted[1:]) / 2).tolist(), 2.0]
    rows: Any = groups.itertuples(index=False)
    texts = [
        f"{row.trials:,} outcomes, predictions {_between(row.low, row.high)}\n"
        f"observed {row.observed:.2f} ({row.successes:,} positive)\n"
        f"predicted {row.predicted:.2f} ({row.predicted * row.trials:.1f} expected)"
        for row in rows
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


def _table(groups: pd.DataFrame) -> Table:
    rows: Any = groups.itertuples(index=False)
    cells = [
        [
            _between(row.low, row.high),
            f"{row.trials:,}",
            f"{row.successes:,}",
            f"{row.predicted * row.trials:.1f}",
            f"{row.observed:.2f}",
        ]
        for row in rows
    ]
    heads = ["Predictions", "Outcomes", "Positive", "Expected", "Share"]
    return Table("The groups in numbers", heads, cells)


def _between(low: float, high: float) -> str:
    return f"{low:.3g}" if low == high else f"{low:.3g}–{high:.3g}"
