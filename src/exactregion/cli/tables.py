"""Tables of several models, and of groups of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import exactregion as er
from exactregion.cli.output import Page
from exactregion.plotting import wording

if TYPE_CHECKING:
    import pandas as pd


def show_models(table: pd.DataFrame, belts: er.CalibrationBelts | None, page: Page) -> None:
    """Put the tests of several models on the page."""
    names = ["model", "p-value", "adjusted"]
    rows = [[name, f"{p:.4g}", f"{q:.4g}"] for name, p, q in _pvalues(table)]
    if belts is not None:
        names += next(iter(belts.values())).region.parameter_names_
        for cells in rows:
            found = belts[cells[0]].intervals.iterrows()
            cells += [" ".join(wording.estimate_and_interval(row)) for _, row in found]
    page.table(names, rows)
    kinds = kinds_of_groups(table, None)
    if kinds:
        page.paragraph(kinds)


def _pvalues(table: pd.DataFrame) -> list[tuple[str, float, float]]:
    return list(zip(map(str, table.index), table["pvalue"], table["pvalue_holm"], strict=True))


def group_records(groups: pd.DataFrame) -> list[dict[str, Any]]:
    """Describe groups for programs."""
    names = [*list(groups.index.names)[:-1], "group"]
    table = groups.rename(columns={"statistic": "z"}).rename_axis(names).reset_index()
    records: list[Any] = table.to_dict("records")
    return records


def show_groups(groups: pd.DataFrame, page: Page) -> None:
    """Put groups on the page: one table per model and column of groups."""
    *outer, last = range(groups.index.nlevels)
    parts: Any = groups.groupby(level=outer, sort=False) if outer else [((), groups)]
    has_model, has_column = (level in groups.index.names for level in ("model", "by"))
    for key, part in parts:
        column = key[-1] if has_column else str(groups.index.names[last])
        name = f"{column} ({key[0]})" if has_model else column
        page.table(
            [name, "n", "observed", "predicted", "p-value", "adjusted"],
            [
                (
                    str(group),
                    f"{int(row['n']):,}",
                    *(wording.probability(row[key], 3) for key in ("observed", "predicted")),
                    *(f"{row[key]:.4g}" for key in ("pvalue", "pvalue_holm")),
                )
                for group, (_, row) in zip(
                    part.index.get_level_values(last), part.iterrows(), strict=True
                )
            ],
        )
    page.paragraph(
        "Adjusted p-values (Holm) may be looked at together: if all groups are calibrated, one or "
        "more is 0.05 or less at most 5 times in 100."
    )
    kinds = kinds_of_groups(groups, None)
    if kinds:
        page.paragraph(kinds)


def kinds_of_groups(table: pd.DataFrame, alpha: float | None) -> str:
    """Name the kind of misfit of the groups, or models, that are rejected."""
    rejected = table[table["pvalue_holm"] <= (wording.SURPRISE if alpha is None else alpha)]
    named = {
        ", ".join(map(str, key)) if isinstance(key, tuple) else str(key): kind
        for key, kind in rejected["misfit"].items()
    }
    kinds = "; ".join(f"{name}: {kind}" for name, kind in named.items())
    return f"Kinds of misfit: {kinds}." if kinds else ""
