"""The result of a test of outcomes with several classes: one p-value, and a table of classes."""

from __future__ import annotations

import html
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.classes import plain_label
from exactregion.data.files import finite
from exactregion.ranking import pvalue_of, rank_of, ranked, step_down
from exactregion.statistics import Multiscale, Omnibus, Statistic
from exactregion.statistics.classes import (
    ClassStatistic,
    Measured,
    View,
    name_of_class_statistic,
)
from exactregion.statistics.combined import one_over_p
from exactregion.testing.misfit import Part
from exactregion.testing.result import TableResult

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.plotting import ClassesDisplay

TOP_LABEL = "top label"
"""The row of the table for the class with the largest probability."""

TITLES = {"pvalue": "p-value", "pvalue_adjusted": "adjusted"}


@dataclass(frozen=True, eq=False)
class ClassTestResult(TableResult):
    """The outcome of an exact test with more than two classes.

    Attributes
    ----------
    pvalue : float
        Exact p-value of "the probabilities of all classes are right": (m - rank + 1) / m.
    rank : int
        Rank of the original's Z among the m data sets, from 1 (most ordinary) to m.
    statistic : float
        Z of the original.
    null_distribution : ndarray of shape (n_resamples,)
        Z of the alternatives.
    table : pandas.DataFrame
        One row per class, and one for the top label, the class with the largest probability, if the
        statistic looks at it: observed (share of rows), expected (mean probability), difference,
        pvalue (exact for this class alone) and pvalue_adjusted (for all rows of the table
        together).
    parts : tuple of Part
        What each part of the statistic found: a description, `pvalue` decides.
    classes : tuple
        The classes, in order.
    n : int
        Number of rows.
    kind : {"model", "calibration"}
        Whether inputs were given, or the predictions themselves are the input.
    method : str
        The statistic, as it would be written.
    seed : int or None
        ``rng`` where it was an integer, which gives the same draws again.
    probabilities : ndarray of shape (n, C), or None
        The predictions, with columns in the order of the classes; None where rows came in chunks.
    outcomes : ndarray of shape (n,), or None
        The number of the class of each row.

    Notes
    -----
    The hypothesis of a class is that its probability is right in every row, and that of the top
    label that the largest probability is. It fixes the distribution of "this class or not" together
    for all right ones, whatever the other classes do: adjusted p-values (Westfall and Young's
    step-down on the same m data sets) of α or less name a right class with probability at most α,
    also where others are wrong.
    """

    parts: tuple[Part, ...] = field(repr=False)
    classes: tuple[Any, ...]
    n: int
    kind: Literal["model", "calibration"]
    method: str = field(repr=False)
    seed: int | None
    probabilities: FloatArray | None = field(default=None, repr=False)
    outcomes: IntArray | None = field(default=None, repr=False)

    @property
    def clearest(self) -> str:
        """The class, or the top label, with the strongest evidence: a description."""
        evidence = self.table["pvalue_adjusted"].dropna()
        return str(evidence.idxmin()) if len(evidence) else ""

    def plot(self, **kwargs: Any) -> ClassesDisplay:
        """Draw a reliability diagram for each class and for the top label: needs matplotlib.

        Parameters
        ----------
        **kwargs
            For `ClassesDisplay.from_result`: ``belts`` and others.
        """
        from exactregion.plotting import ClassesDisplay

        return ClassesDisplay.from_result(self, **kwargs)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, not finite ones as None.

        The keys are kind, statistic (its name), resamples, seed, n, classes, pvalue, rank, z, parts
        and table.
        """
        found: dict[str, Any] = finite(
            {
                "kind": self.kind,
                "statistic": name_of_class_statistic(self.method),
                "resamples": self.n_resamples,
                "seed": self.seed,
                "n": self.n,
                "classes": [plain_label(label) for label in self.classes],
                "pvalue": self.pvalue,
                "rank": self.rank,
                "z": self.statistic,
                "parts": [part.to_dict() for part in self.parts],
                "table": self.table.reset_index().to_dict("records"),
            }
        )
        return found

    def _head(self) -> str:
        rows = f"{self.n:,} rows, {len(self.classes)} classes"
        return f"{rows}: p = {self.pvalue:.4g} (rank {self.rank} of {self.n_resamples + 1})"

    def _written(self) -> pd.DataFrame:
        """Return the table with numbers as text, for people."""
        import pandas as pd

        formats = {"difference": "{:+.4f}", "pvalue": "{:.4g}", "pvalue_adjusted": "{:.4g}"}
        columns = {
            TITLES.get(name, name): self.table[name].map(formats.get(name, "{:.4f}").format)
            for name in map(str, self.table)
        }
        return pd.DataFrame(columns).rename_axis(index=None, columns="class")

    def __str__(self) -> str:
        """Return the p-value, and the table of classes."""
        return f"{self._head()}\n{self._written().to_string()}"

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self._head())}</p>{self._written().to_html(border=0)}"


def class_result(
    measured: Measured,
    impossible: BoolArray,
    shares: FloatArray,
    seat: int,
    statistic: ClassStatistic,
    **about: Any,
) -> ClassTestResult:
    """Rank the original, in its seat, by a statistic, by its parts, and class by class."""

    def of(each: ClassStatistic) -> FloatArray:
        return np.where(impossible, np.inf, each.combine(measured))

    return ClassTestResult(
        **ranked(of(statistic), seat),
        table=_table(measured, shares, seat, about["classes"], about["n"]),
        parts=tuple(_part(each, of(each), seat) for each in statistic.parts),
        method=repr(statistic),
        **about,
    )


def _part(statistic: ClassStatistic, Z: FloatArray, seat: int) -> Part:
    name = type(statistic).__name__
    kinds = {"Temperature": "spread", "Brier": "spread", "Joint": "pattern"}
    return Part(name.lower(), kinds.get(name, "level, spread and pattern"), **ranked(Z, seat))


def _table(
    measured: Measured, shares: FloatArray, seat: int, classes: Iterable[Any], n: int
) -> pd.DataFrame:
    """Describe classes, and the top label, by shares and p-values."""
    import pandas as pd

    names = [*classes, TOP_LABEL]
    observed, expected = shares / n
    columns = {"observed": observed, "expected": expected, "difference": observed - expected}
    index = pd.Index(names, name="class", dtype=object)
    table = pd.DataFrame(columns, index=index)
    rows = list(dict.fromkeys(_row_of(view, measured.n_classes) for view, _ in measured.views))
    table["pvalue"] = table["pvalue_adjusted"] = np.nan
    if rows:
        Z = np.stack([_scaled(measured, row) for row in rows])
        table.iloc[rows, 3] = pvalue_of(rank_of(Z, seat), Z.shape[1])
        table.iloc[rows, 4] = step_down(Z, seat)
    return table if measured.n_classes in rows else table.iloc[:-1]


def _row_of(view: View, n_classes: int) -> int:
    return n_classes if view.which is None else view.which


def _scaled(measured: Measured, row: int) -> FloatArray:
    """Z (m,) of a class on a scale that is the same for all of them."""
    # The view whose own probability is the input comes first. Statistics that are sums of inverse
    # p-values have such a scale, and are finer than the inverse p-value that others are turned
    # into.
    views = [key for key in measured.views if _row_of(key[0], measured.n_classes) == row]
    view, statistic = max(views, key=lambda key: key[0].by_probability)
    Z = measured.views[view, statistic][0]
    if _has_common_scale(statistic):
        return Z
    return np.where(np.isinf(Z), np.inf, one_over_p(Z))


def _has_common_scale(statistic: Statistic) -> bool:
    return isinstance(statistic, Omnibus | Multiscale)
