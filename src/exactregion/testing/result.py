"""The result of an exact test, and what was tested."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.ranking import pvalue_of, rank_of

if TYPE_CHECKING:
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
class ExactTestResult:
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
    """

    pvalue: float
    rank: int
    statistic: float
    null_distribution: FloatArray = field(repr=False)
    question: Question = field(repr=False)

    @property
    def n_resamples(self) -> int:
        """Number of alternatives, m - 1."""
        return len(self.null_distribution)

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

        return write_report(self, path, title=title, **more)


def result_of(Z: FloatArray, seat: int, question: Question) -> ExactTestResult:
    """Rank the original, in its seat, among the m data sets with these Z."""
    rank = rank_of(Z, seat)
    return ExactTestResult(
        pvalue=float(pvalue_of(rank, len(Z))),
        rank=int(rank),
        statistic=float(Z[seat]),
        null_distribution=np.delete(Z, seat),
        question=question,
    )
