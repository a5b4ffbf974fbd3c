"""The result of a test of many segments: one p-value, and a table that names segments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaincinv

from exactregion._typing import FloatArray, IntArray
from exactregion.data.classes import plain_label
from exactregion.data.files import finite
from exactregion.engine.segments import saddlepoint
from exactregion.ranking import AcceptedRanks, pvalue_of, rank_of, ranked, step_down
from exactregion.testing.result import TableResult

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.plotting import SegmentDisplay


@dataclass(frozen=True, eq=False)
class SegmentTestResult(TableResult):
    """The outcome of `segment_test`.

    Attributes
    ----------
    pvalue : float
        Exact p-value of "the predictions are right in all rows", by the largest statistic of all
        segments; the smallest adjusted p-value in the table.
    rank : int
        Rank of the original's largest statistic among the m data sets, from 1 to m.
    statistic : float
        The original's largest statistic.
    null_distribution : ndarray of shape (n_resamples,)
        The largest statistics of the alternatives.
    table : pandas.DataFrame
        One row per segment, the strongest evidence first; see `segment_test`.
    edges : dict of str to ndarray
        Where columns of numbers were cut; a range has its upper edge in it.
    method : {"shift", "recalibration"}
        The statistic.
    columns : tuple of str
        Columns that segments are made of; empty where the user made the segments.
    depth, min_rows : int
        Most columns in a combination (1 where the user made the segments), and fewest outcomes of a
        segment, as used.
    left_out : int
        Segments with fewer outcomes, which were not tested.
    confidence_level : float
        Of the intervals of all segments together.
    successes, trials : int
        Outcomes in all rows; successes are None with more than two classes.
    classes : tuple
        The classes, where there are more than two. The table then has one row per segment and
        class, such as "sex = m: cat".
    seed : int or None
        ``rng`` where it was an integer, which gives the same draws again.
    """

    edges: dict[str, FloatArray] = field(repr=False)
    method: str
    columns: tuple[str, ...]
    depth: int
    min_rows: int
    left_out: int
    confidence_level: float
    successes: int | None
    trials: int
    classes: tuple[Any, ...]
    seed: int | None

    def plot(self, **kwargs: Any) -> SegmentDisplay:
        """Draw the segments with the strongest evidence: needs matplotlib.

        Parameters
        ----------
        **kwargs
            For `SegmentDisplay.from_result`: ``most``, ``ax`` and others.

        Returns
        -------
        SegmentDisplay
            With ``ax_`` and ``figure_``.
        """
        from exactregion.plotting import SegmentDisplay

        return SegmentDisplay.from_result(self, **kwargs)

    def to_dict(self) -> dict[str, Any]:
        """Return what the command prints with ``--json``: plain values, not finite ones as None."""
        table = self.table.rename(columns={"statistic": "z"}).reset_index()
        found: dict[str, Any] = finite(
            {
                "columns": list(self.columns),
                **({"classes": list(map(plain_label, self.classes))} if self.classes else {}),
                "depth": self.depth,
                "min_rows": self.min_rows,
                "left_out": self.left_out,
                "edges": {name: edges.tolist() for name, edges in self.edges.items()},
                "statistic": self.method,
                "resamples": self.n_resamples,
                "seed": self.seed,
                "confidence": self.confidence_level,
                "pvalue": self.pvalue,
                "rank": self.rank,
                "z": self.statistic,
                "segments": table.to_dict("records"),
            }
        )
        return found


def segment_result(
    names: list[str],
    successes: IntArray,
    Z: FloatArray,
    moments: FloatArray,
    seat: int,
    **about: Any,
) -> SegmentTestResult:
    """Rank the original by the largest Z (S, m) of all segments, and segment by segment."""
    level, m = about["confidence_level"], Z.shape[1]
    whole = ranked(Z.max(axis=0), seat)
    accepted = AcceptedRanks.at_level(level, m).high
    critical = float(np.sort(whole["null_distribution"])[accepted - 1])
    table = _table(names, successes, moments, level=level, critical=critical)
    table["statistic"] = Z[:, seat]
    table["pvalue"] = pvalue_of(rank_of(Z, seat), m)
    table["pvalue_adjusted"] = step_down(Z, seat)
    return SegmentTestResult(
        **whole,
        table=table.iloc[np.argsort(-Z[:, seat], kind="stable")],
        successes=None if about["classes"] else int(successes[0]),
        trials=int(moments[0, 0]),
        **about,
    )


def _table(
    names: list[str], successes: IntArray, moments: FloatArray, *, level: float, critical: float
) -> pd.DataFrame:
    """Describe segments by shares, differences and their limits."""
    import pandas as pd

    trials, expected = moments.T[:2]
    predicted = expected / trials
    low, high = share_limits(successes, trials, (1 - level) / (2 * len(names)))
    least, most = envelope(critical, moments)
    columns = {
        "n": trials.astype(np.int64),
        "observed": successes / trials,
        "expected": predicted,
        "difference": successes / trials - predicted,
        "lower": low - predicted,
        "upper": high - predicted,
        "envelope_low": least,
        "envelope_high": most,
    }
    return pd.DataFrame(columns, index=pd.Index(names, name="segment", dtype=object))


def share_limits(successes: IntArray, trials: IntArray, tail: float) -> tuple[Any, Any]:
    """Return limits of mean probabilities, each missed with probability `tail` at most.

    Clopper and Pearson's, which hold for trials of unequal probabilities as well: their sum is less
    spread than a binomial one (Hoeffding 1956, theorem 4), and tails of `tail` ≤ 1/4 are on the
    side where that says so. One success is the exception: P(S ≥ 1) can be as large as Σπ, which
    gives the lower limit tail/n; one failure likewise.

    Examples
    --------
    >>> low, high = share_limits(np.array([0, 1, 5]), np.array([10, 10, 10]), 0.025)
    >>> low.round(4), high.round(4)
    (array([0.    , 0.0025, 0.1871]), array([0.3085, 0.445 , 0.8129]))
    """
    failures = trials - successes
    limits = []
    for k, others in ((successes, failures), (failures, successes)):
        found = betaincinv(np.maximum(k, 1), others + 1, tail)
        limits.append(np.where(k == 0, 0.0, np.where(k == 1, tail / trials, found)))
    return limits[0], 1 - limits[1]


def envelope(critical: float, moments: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the least and largest differences whose statistic does not exceed the critical one.

    `moments` are those of `SegmentSums`.
    """
    trials, expected, variance, third = moments.T[:4]
    ends = []
    for sign, farthest in ((-1.0, expected), (1.0, trials - expected)):
        low, high = np.zeros(len(trials)), np.maximum(farthest, 0.0)
        for _ in range(50):  # the statistic grows with the distance, and numbers have 53 bits
            middle = (low + high) / 2
            inside = saddlepoint(sign * middle, variance, third) <= critical
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        ends.append(sign * high / trials)
    return ends[0], ends[1]
