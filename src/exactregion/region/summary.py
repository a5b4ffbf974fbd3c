"""The table that users of statistics packages read first: coefficients, intervals, p-values."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion.models import ClassModel, LinearModel, Logistic, ProportionalOdds
from exactregion.region.fitted import FittedRegion
from exactregion.region.hypotheses.equations import Hypothesis
from exactregion.region.hypotheses.linear import HypothesisTest, hypothesis_test
from exactregion.region.intervals import Interval, number_text, parameter_intervals, status_of
from exactregion.region.search.outline import MAXIMUM_LIKELIHOOD, estimate_of, joint_far_members

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Summary", "summarise", "zero_tests"]

WIDTH = 80
"""Columns of the text, those of a terminal."""

UNUSUAL = {
    "empty": "no value fits, which is evidence against the model.",
    "unsettled": "the interval may be longer, since a search kept missing members.",
}
"""What is said of intervals that are not what they seem."""

TITLES = {
    "pvalue": "p-value",
    "odds_ratio": "odds ratio",
    "odds_lower": "lower",
    "odds_upper": "upper",
}
"""Columns that are headed by other words than their names."""

SHOWN = 4
"""Classes whose numbers of rows are listed, within half the width of the text."""

QUICK = 2
"""Parameters up to which p-values are given unasked in the command and in reports: a hypothesis
then leaves at most one free, and is tested on a line within a second."""


@dataclass(frozen=True, eq=False)
class Summary:
    """Coefficients of a region with their intervals and p-values.

    It prints as text of 80 columns, and as a table in notebooks.

    Attributes
    ----------
    settings : dict
        Model, numbers of rows and events, statistic, draws, seed, level and status.
    table : pandas.DataFrame
        One row per parameter: estimate, lower, upper, pvalue, and for a logistic family, also of
        several classes, odds_ratio, odds_lower and odds_upper; then whether interval and p-value
        are proven.
    notes : tuple of str
        What the numbers are and assume.
    """

    settings: dict[str, Any]
    table: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...] = field(repr=False)

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of the table."""
        return self.table.copy()

    def to_dict(self) -> dict[str, Any]:
        """Return settings, parameters and notes as plain values."""
        rows = {str(name): row for name, row in self.table.to_dict("index").items()}
        return {"settings": dict(self.settings), "parameters": rows, "notes": list(self.notes)}

    def to_markdown(self) -> str:
        """Return the table in Markdown."""
        head, *rows = self._cells()
        lines = [head, ["---", *["---:"] * (len(head) - 1)], *rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def to_latex(self) -> str:
        """Return the table in LaTeX, by pandas: needs Jinja2."""
        return str(self.table[self._numbers()].to_latex(float_format="%.4g", escape=True))

    def _numbers(self) -> list[str]:
        return [name for name in map(str, self.table) if not name.endswith("certified")]

    def _cells(self) -> list[list[str]]:
        """Write the table, titles first."""
        names = self._numbers()
        titles = ["parameter", *(TITLES.get(name, name) for name in names)]
        rows = [
            [str(name), *(_number(row[column], column) for column in names)]
            for name, row in self.table.iterrows()
        ]
        return [titles, *rows]

    def __str__(self) -> str:
        """Return the text, 80 columns wide."""
        pairs = [f"{name}: {value}" for name, value in self.settings.items()]
        left, right = pairs[: (len(pairs) + 1) // 2], pairs[(len(pairs) + 1) // 2 :]
        half = max(WIDTH // 2 - 1, *map(len, left))
        settings = [f"{a:<{half}} {b}".rstrip() for a, b in zip_longest(left, right, fillvalue="")]
        titles, *rows = self._cells()
        widths = [max(map(len, column)) for column in zip(titles, *rows, strict=True)][1:]
        room = WIDTH - sum(width + 2 for width in widths)
        rows = [[_shortened(row[0], room), *row[1:]] for row in rows]
        first = max(len(row[0]) for row in [titles, *rows])
        head, *lines = (
            "  ".join([f"{row[0]:<{first}}", *map(str.rjust, row[1:], widths)])
            for row in [titles, *rows]
        )
        rule = "-" * len(head)
        notes = [textwrap.fill(note, WIDTH) for note in self.notes]
        return "\n".join([*settings, rule, head, rule, *lines, rule, *notes])

    def _repr_html_(self) -> str:
        titles, *rows = [[html.escape(cell) for cell in row] for row in self._cells()]
        head = "".join(f"<th>{title}</th>" for title in titles)
        body = "".join(
            f"<tr><th>{name}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
            for name, *cells in rows
        )
        settings = html.escape(
            " · ".join(f"{name}: {value}" for name, value in self.settings.items())
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        return f"<p>{settings}</p><table><tr>{head}</tr>{body}</table>{notes}"


def zero_tests(
    fitted: FittedRegion, *, certify: bool | None = None, only_quick: bool = False
) -> list[HypothesisTest | None]:
    """Test of each parameter whether it is zero; None where that is not within its bounds.

    With `only_quick` there are tests in linear families with up to two parameters alone, which take
    a second; others are searched for longer.
    """
    names, bounds = fitted.model.parameter_names, fitted.model.bounds
    if only_quick and (len(names) > QUICK or not isinstance(fitted.model, LinearModel)):
        return [None] * len(names)

    def find() -> list[HypothesisTest | None]:
        hypotheses = [
            Hypothesis(row[None], np.zeros(1), f"{name} = 0")
            for name, row in zip(names, np.eye(len(names)), strict=True)
        ]
        return [
            hypothesis_test(fitted, hypothesis, certify) if low < 0 < high else None
            for hypothesis, (low, high) in zip(hypotheses, bounds, strict=True)
        ]

    return fitted.cached(("tests of zero", certify), find)


def summarise(fitted: FittedRegion, *, certify: bool | None = None) -> Summary:
    """Summarise a region; see `ConfidenceRegion.summary`."""
    import pandas as pd

    names = fitted.model.parameter_names
    estimate, kind = estimate_of(fitted)
    intervals = parameter_intervals(fitted, certify=certify)
    tests = zero_tests(fitted, certify=certify)
    table = pd.DataFrame(
        {
            "estimate": estimate,
            "lower": [interval.lower for interval in intervals],
            "upper": [interval.upper for interval in intervals],
            "pvalue": [np.nan if test is None else test.pvalue for test in tests],
        },
        index=pd.Index(names, name="parameter"),
    )
    if isinstance(fitted.model, Logistic | ClassModel):
        with np.errstate(over="ignore"):
            odds: pd.DataFrame = table[["estimate", "lower", "upper"]].apply(np.exp)
        if isinstance(fitted.model, ProportionalOdds):
            odds.iloc[: len(fitted.model.labels) - 1] = np.nan  # cut points are no slopes
        table[["odds_ratio", "odds_lower", "odds_upper"]] = odds
    table["interval_certified"] = [interval.certified for interval in intervals]
    table["pvalue_certified"] = [test is not None and test.certified for test in tests]
    return Summary(_settings(fitted), table, tuple(_notes(fitted, kind, intervals, tests)))


def _settings(fitted: FittedRegion) -> dict[str, Any]:
    sample, status = fitted.sample, status_of(fitted)
    total, events = sample.inputs.total, int(sample.successes.sum())
    rows = f"{len(sample.inputs):,}" + (f" ({total:,} trials)" if sample.is_counts else "")
    model = type(fitted.model).__name__
    outcomes = {"events": f"{events:,}"}
    if isinstance(fitted.model, ClassModel):
        numbers = np.bincount(sample.codes, minlength=len(fitted.model.labels)).tolist()
        shown = ", ".join(f"{number:,}" for number in numbers[:SHOWN])
        more = ", …" if len(numbers) > SHOWN else ""
        rows = f"{len(sample.inputs.original):,}"
        outcomes = {"classes": f"{len(numbers)} ({shown}{more})"}
    return {
        "model": model,
        "rows": rows,
        **outcomes,
        "level": f"{fitted.accepted.coverage:g}",
        "statistic": type(fitted.statistic).__name__.lower(),
        "data sets": f"{fitted.accepted.m:,}",
        "seed": "random" if fitted.seed is None else str(fitted.seed),
        "region": f"{status.kind} ({'proven' if status.certified else 'searched'})",
    }


def _notes(
    fitted: FittedRegion,
    kind: str,
    intervals: tuple[Interval, ...],
    tests: list[HypothesisTest | None],
) -> list[str]:
    """Say what the numbers are, and what they assume."""
    notes = [f"Estimates: {kind}."]
    if kind != MAXIMUM_LIKELIHOOD:
        notes[0] += " The maximum of the likelihood is not finite."
    coverage = f"{fitted.accepted.coverage:.4g}"
    notes.append(
        f"Intervals: each covers its own parameter with at least {coverage}, at every sample size; "
        + _how({each.name: each.certified for each in intervals}, "no member lies outside")
    )
    for status, text in UNUSUAL.items():
        names = [interval.name for interval in intervals if interval.status == status]
        if names:
            notes.append(f"{', '.join(names)}: {text}")
    done = {
        name: test
        for name, test in zip(fitted.model.parameter_names, tests, strict=True)
        if test is not None
    }
    if done:
        least = max(1 / fitted.accepted.m, *(test.spent for test in done.values()))
        notes.append(
            'p-values: of "= 0", valid at every sample size, each for one parameter alone; '
            + _how({name: test.certified for name, test in done.items()}, "none is larger")
            + f" None can be less than {least:.2g}; more resamples (n_resamples) allow less."
        )
    apart = _disagreements(fitted, intervals, done)
    if apart:
        notes.append(
            f"{', '.join(apart)}: interval and p-value disagree about zero, which can happen near "
            "the limit: they rank data sets by different statistics, and each is valid on its own."
        )
    far = joint_far_members(fitted)
    if far is not None and far.members:
        notes.append("The data are separated: in some directions they set no limit.")
    notes.append("All of it assumes independent rows, and that the family contains the truth.")
    return notes


def _disagreements(
    fitted: FittedRegion, intervals: tuple[Interval, ...], tests: dict[str, HypothesisTest]
) -> list[str]:
    """Name the parameters whose interval holds zero although it is rejected, or the reverse."""
    alpha = 1 - fitted.accepted.coverage
    return [
        each.name
        for each in intervals
        if each.name in tests
        and each.status != "empty"
        and (each.lower <= 0 <= each.upper) == (tests[each.name].pvalue <= alpha)
    ]


def _how(certified: dict[str, bool], what: str) -> str:
    """Say of which parameters something is proven."""
    if all(certified.values()):
        return f"it is proven that {what}."
    if not any(certified.values()):
        return "they were searched."
    proven = ", ".join(name for name, is_proven in certified.items() if is_proven)
    return f"proven for {proven}, else searched."


def _number(value: float, column: str) -> str:
    """Write a number in at most eight characters."""
    if np.isnan(value) and column.startswith(("pvalue", "odds")):
        return ""
    return f"{value:.4f}" if column == "pvalue" else number_text(value, digits=1)


def _shortened(name: str, width: int) -> str:
    return name if len(name) <= width else name[: max(width - 1, 8)] + "…"
