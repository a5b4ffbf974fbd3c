"""For the page of evidence: tables of the study, read from validation/results, as Markdown."""

import json
from pathlib import Path

import pandas as pd

__all__ = ["RESULTS", "ROOT", "read", "shown"]

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "validation" / "results"


def read(part, table):
    """Give a table of a part of the study."""
    tables = json.loads((RESULTS / f"{part}.json").read_text(encoding="utf8"))
    return pd.DataFrame(tables[table])


def shown(table, columns=None, digits=2):
    """Write a table as Markdown, under other names for its columns where they are given."""
    if columns is not None:
        table = table[list(columns)].rename(columns=columns)
    head = [str(column) for column in table.columns]
    lines = [head, ["---"] * len(head)]
    lines += [[_cell(value, digits) for value in row] for row in table.itertuples(index=False)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value, digits):
    if value is None or (isinstance(value, float) and pd.isna(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}f}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
