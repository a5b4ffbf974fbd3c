"""For the page of evidence: tables of the study, read from validation/results, as Markdown."""

import json
from pathlib import Path

import pandas as pd

__all__ = ["RESULTS", "ROOT", "folded", "read", "shown", "with_limits"]

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


def with_limits(table, rate="rate", low="low", high="high", digits=2):
    """Write a rate and its limits in one column."""
    pairs = zip(table[rate], table[low], table[high], strict=True)
    written = [
        None if pd.isna(value) else f"{value:.{digits}f} [{down:.{digits}f}, {up:.{digits}f}]"
        for value, down, up in pairs
    ]
    return table.assign(**{rate: written})


def folded(title, text):
    """Fold text away under a title, until somebody wants to see it."""
    return f'??? note "{title}"\n\n' + "\n".join(f"    {line}" for line in text.splitlines())


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
