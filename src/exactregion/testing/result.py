"""The result of an exact test, what was tested, and what the results of all tests share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.files import finite
from exactregion.ranking import ranked
from exactregion.statistics import Statistic
from exactregion.testing.misfit import Misfit, Part, misfit_of, part_of
from exactregion.testing.size import CalibrationSize, size_of

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.plotting import NullDisplay


@dataclass(frozen=True, eq=False)
class Question:
    """What was tested, by what: enough to repeat the test, and to draw the data.

    Attributes
    ----------
    kind : {"model", "calibration"}
        Whether inputs were given, or the predictions themselves are the input.
    statistic : str
        The statistic, as it would be written.
    inputs : tuple of str
        Names of the inputs; empty for objects.
    seed : int or None
        ``rng`` where it was an integer, which gives the same draws again.
    probabilities : ndarray of shape (n,)
        P(Y=+1|x) of the candidate in each of the user's rows.
    successes, trials : ndarrays of shape (n,)
        Outcomes in each of the user's rows; labels are single trials.

    Notes
    -----
    Rows that came in chunks are not kept. The arrays then have one entry per group of rows with
    about the same probability: its mean, and their successes and trials.
    """

    kind: Literal["model", "calibration"]
    statistic: str
    inputs: tuple[str, ...]
    seed: int | None
    probabilities: FloatArray = field(repr=False)
    successes: IntArray = field(repr=False)
    trials: IntArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class RankedResult:
    """What all tests have: the original's rank, and what it was ranked among."""

    pvalue: float
    rank: int
    statistic: float
    null_distribution: FloatArray = field(repr=False)

    @property
    def n_resamples(self) -> int:
        """Number of alternatives, m - 1."""
        return len(self.null_distribution)

    def report(self, path: str | Path, *, title: str | None = None, **more: Any) -> Path:
        """Write one self-contained HTML page: needs Bokeh, ``pip install exactregion[report]``.

        Parameters
        ----------
        path : str or Path
            Where the page goes; an old one is replaced when the new one is complete.
        title : str, optional
            Heading of the page.
        **more
            For `exactregion.report.write_report`: ``about``, ``groups`` and ``command``.

        Returns
        -------
        Path
            The page.
        """
        from exactregion.report import write_report

        page: Any = self  # one of the results that there are pages for
        return write_report(page, path, title=title, **more)


@dataclass(frozen=True, eq=False)
class TableResult(RankedResult):
    """The result of a test of many hypotheses at once, with a table of them."""

    table: pd.DataFrame = field(repr=False)

    def named(self, level: float = 0.05) -> pd.DataFrame:
        """Return the rows of the table that are off: adjusted p-values of `level` or less.

        With probability at least 1 - level there is none among them whose probabilities are all
        right.
        """
        return self.table[self.table["pvalue_adjusted"] <= level]


@dataclass(frozen=True, eq=False)
class ExactTestResult(RankedResult):
    """The outcome of an exact test.

    Attributes
    ----------
    pvalue : float
        (m - rank + 1) / m; under the null hypothesis P(pvalue ≤ α) ≤ α for every α and every n,
        with equality at the multiples of 1/m.
    rank : int
        Rank of the original's Z among the m data sets, from 1 (most ordinary) to m.
    statistic : float
        Z of the original.
    null_distribution : ndarray of shape (n_resamples,)
        Z of the alternatives.
    question : Question
        What was tested, by what.
    parts : tuple of Part
        What each part of the statistic found, if it has parts: ranks and p-values on the same
        data sets. They describe; `pvalue` decides.
    """

    question: Question = field(repr=False)
    parts: tuple[Part, ...] = field(default=(), repr=False)

    @cached_property
    def misfit(self) -> Misfit:
        """The kind of misfit that is clearest: a description, which matters if `pvalue` is small.

        It goes by the part with the smallest p-value, and by the signs of the residuals.
        """
        return misfit_of(self.parts, self.question, is_infinite=bool(np.isinf(self.statistic)))

    @cached_property
    def size(self) -> CalibrationSize:
        """How far outcomes are from the probabilities: descriptive numbers.

        Of rows that came in chunks they are computed from means over groups of 0.001 in width.
        """
        data = self.question
        return size_of(data.probabilities, data.successes, data.trials)

    def to_dict(self) -> dict[str, Any]:
        """Return what the command prints with ``--json``: plain values, not finite ones as None.

        The keys are kind, statistic (its name), resamples, seed, pvalue, rank, z, misfit, parts and
        size. `null_distribution` and the data are left out.
        """
        return {
            "kind": self.question.kind,
            "statistic": self.question.statistic.partition("(")[0].lower(),
            "resamples": self.n_resamples,
            "seed": self.question.seed,
            **finite({"pvalue": self.pvalue, "rank": self.rank, "z": self.statistic}),
            "misfit": self.misfit.to_dict(),
            "parts": [part.to_dict() for part in self.parts],
            "size": self.size.to_dict(),
        }

    def plot(self, **kwargs: Any) -> NullDisplay:
        """Draw the null distribution: needs matplotlib, ``pip install exactregion[plot]``.

        Parameters
        ----------
        **kwargs
            For `NullDisplay.from_result`: ``ax`` and others.

        Returns
        -------
        NullDisplay
            With ``ax_`` and ``figure_``.
        """
        from exactregion.plotting import NullDisplay

        return NullDisplay.from_result(self, **kwargs)


def result_of(
    Z: FloatArray,
    seat: int,
    question: Question,
    parts: Iterable[tuple[Statistic, FloatArray]] = (),
) -> ExactTestResult:
    """Rank the original, in its seat, among the m data sets with these Z, and those of parts."""
    found = tuple(part_of(statistic, values, seat) for statistic, values in parts)
    return ExactTestResult(**ranked(Z, seat), question=question, parts=found)
