"""Tests side by side on the same data: how often each rejects, and which finds more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from scipy.stats import binomtest

from validation.rates import limits

__all__ = ["LEVEL", "answer", "draw_rates", "losses", "power_table", "size_table"]

LEVEL = 0.05
SLACK = 1e-9
"""What rounding may do to a p-value: 10/200 counts as 5 %."""

SURE = 0.999
"""Level of the exact limits behind `size_holds`: with a hundred rates, 95 % would accuse a few
tests of nothing."""

COLOURS = {50: "#7fb8da", 200: "#2b7bba", 1000: "#08306b"}
MARKERS = {50: "o", 200: "s", 1000: "D"}


def answer(test: Callable[..., Any], *data: Any) -> float:
    """Give the p-value of a test, NaN where it fails.

    One that is below 0 by rounding, as 1 - CDF can be, is 0.
    """
    try:
        pvalue = float(test(*data))
    except Exception:  # whatever a peer raises is a failure of it
        return np.nan
    return min(max(pvalue, 0.0), 1.0) if -SLACK <= pvalue <= 1 + SLACK else np.nan


def size_table(
    frame: pd.DataFrame, by: Sequence[str], asked: Callable[[dict[str, Any]], Sequence[str]]
) -> pd.DataFrame:
    """Give the rate of rejections of each test, and whether 5 % is not exceeded.

    Parameters
    ----------
    frame : DataFrame
        A row a data set, a column a test with its p-values.
    by : sequence of str
        Columns of settings.
    asked : callable
        Settings -> names of the tests that were asked there; a p-value missing is a failure. A test
        without any was not asked, as where records are older than the test, and has no row.
    """
    rows = []
    for key, group in frame.groupby(list(by), sort=False):
        settings = dict(zip(by, key, strict=True))
        for test in asked(settings):
            if test not in group or group[test].isna().all():
                continue
            known = group[test].dropna()
            rejected = int((known <= LEVEL + SLACK).sum())
            low, high = limits(rejected, len(known))
            rows.append(
                {
                    **settings,
                    "test": test,
                    "repetitions": len(known),
                    "failed": len(group) - len(known),
                    "rate": rejected / len(known) if len(known) else np.nan,
                    "low": low,
                    "high": high,
                    "size_holds": limits(rejected, len(known), SURE)[0] <= LEVEL,
                }
            )
    return pd.DataFrame(rows)


def power_table(
    frame: pd.DataFrame,
    by: Sequence[str],
    asked: Callable[[dict[str, Any]], Sequence[str]],
    sizes: pd.DataFrame,
    ours: Callable[[str], str],
) -> pd.DataFrame:
    """Give the power of each test, whether its size holds, and how it does beside ours.

    The size is that on true predictions of the same kind and number. Beside ours a test is "more"
    or "less" powerful where the exact sign test on the data sets that only one of the two rejects
    says so at level 5 %; `ours` names the test of ours to compare with.
    """
    table = size_table(frame, by, asked).drop(columns="size_holds")
    shared = [name for name in by if name in sizes.columns and name != "kind"]
    holds = sizes[[*shared, "test", "size_holds"]]
    table = table.merge(holds, how="left", on=[*shared, "test"])
    groups = dict(iter(frame.groupby(list(by), sort=False)))
    table["beside_ours"] = [
        _beside(groups[tuple(row[name] for name in by)], row["test"], ours(row["test"]))
        for row in table.to_dict("records")
    ]
    return table


def _beside(group: pd.DataFrame, test: str, ours: str) -> str:
    if test == ours:
        return "ours"
    both = (group[[test, ours]].dropna() <= LEVEL + SLACK).to_numpy()
    only = int((both[:, 0] & ~both[:, 1]).sum()), int((both[:, 1] & ~both[:, 0]).sum())
    if sum(only) == 0 or binomtest(only[0], sum(only)).pvalue > LEVEL:
        return "as"
    return "more" if only[0] > only[1] else "less"


def losses(power: pd.DataFrame, names: Sequence[str]) -> pd.DataFrame:
    """Give the rows where one of these tests keeps its size and has more power than ours."""
    better = power["size_holds"].fillna(False).astype(bool) & (power["beside_ours"] == "more")
    return power[better & power["test"].isin(names)].reset_index(drop=True)


def draw_rates(
    table: pd.DataFrame, panel: str, *, title: str, power: bool, columns: int = 4
) -> Any:
    """Draw a panel for each value of a column: tests down the side, a mark for each n.

    A hollow mark is a test that rejects true predictions too often at this n.
    """
    panels = list(dict.fromkeys(table[panel]))
    tests = list(dict.fromkeys(table["test"]))[::-1]
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(
        figsize=(2.4 + 2.5 * columns, rows * (0.9 + 0.26 * len(tests))), layout="constrained"
    )
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axis, name in zip(axes.flat, panels, strict=False):
        _panel(axis, table[table[panel] == name], tests, power=power)
        axis.set_title(name, fontsize=10)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis in axes.flat[max(len(panels) - columns, 0) : len(panels)]:
        axis.tick_params(labelbottom=True)
        axis.set_xlabel("share rejected at level 5 %", fontsize=9)
    _legend(figure, sorted(set(table["n"])))
    figure.suptitle(title, fontsize=11)
    return figure


def _panel(axis: Any, table: pd.DataFrame, tests: list[str], *, power: bool) -> None:
    for place, test in enumerate(tests):
        if test.startswith("exactregion"):
            axis.axhspan(place - 0.5, place + 0.5, color="#f3ead7", zorder=0)
    for row in table.to_dict("records"):
        n = row["n"]
        place = tests.index(row["test"]) + 0.22 * (1 - list(COLOURS).index(n))
        axis.plot([row["low"], row["high"]], [place, place], color=COLOURS[n], lw=1)
        face = COLOURS[n] if row["size_holds"] is not False else "white"
        axis.plot(
            row["rate"], place, MARKERS[n], ms=4.5, mfc=face, mec=COLOURS[n], mew=1.1, zorder=3
        )
    axis.axvline(LEVEL, color="#666666", lw=0.8, ls="--", zorder=1)
    axis.set_yticks(range(len(tests)), tests, fontsize=8)
    axis.set_ylim(-0.6, len(tests) - 0.4)
    if power:
        axis.set_xlim(-0.02, 1.02)
    axis.tick_params(axis="x", labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)


def _legend(figure: Any, numbers: Sequence[int]) -> None:
    marks = [
        Line2D([], [], color=COLOURS[n], marker=MARKERS[n], ms=5, lw=1, label=f"n = {n:,}")
        for n in numbers
    ]
    hollow = {"marker": "o", "mfc": "white", "mec": "#444444", "color": "none"}
    marks.append(Line2D([], [], **hollow, label="rejects true predictions too often"))
    marks.append(Line2D([], [], color="#666666", ls="--", lw=0.8, label="5 %"))
    figure.legend(
        handles=marks, loc="outside lower center", ncols=len(marks), fontsize=8, frameon=False
    )
