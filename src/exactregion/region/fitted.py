"""A fitted region: data, draws, and the rank of any θ by any statistic.

`ConfidenceRegion` is the object that users hold. Search, intervals, bands, reports and files work
on a `FittedRegion`, whose data, draws and settings never change. It keeps the results of recent
searches, so that none is made twice.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import Sample
from exactregion.engine import Paths, PreparedStatistic, check_batch, statistics_of_many
from exactregion.engine.progress import advance
from exactregion.errors import InvalidTypeError
from exactregion.models import Model, as_model
from exactregion.models.base import check_probabilities
from exactregion.ranking import AcceptedRanks, pvalue_of, rank_of
from exactregion.region.window import RankFunction
from exactregion.resampling import Resampling, blocks, check_n_resamples
from exactregion.statistics import Candidates, Statistic, as_statistic

if TYPE_CHECKING:
    from exactregion.data.design import Design

__all__ = ["Evaluation", "FittedRegion"]

Result = TypeVar("Result")

KEPT_RESULTS = 16
"""Results kept per region: enough for a report, and a bound on memory where bands are computed at
many different inputs in turn."""

KEPT_STATISTICS = 2
"""Prepared statistics kept besides the region's own: a focused search uses one at a time."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """All that went into the rank of one θ: enough to compute it again by hand.

    Attributes
    ----------
    labels : ndarray of shape (m, n)
        The m data sets in the order of the user's rows: labels -1/+1, or numbers of successes for
        counts. The original is in row `seat`.
    seat : int
        The row of the original.
    Z : ndarray of shape (m,)
        The statistic of each data set.
    rank : int
        Rank of the original, from 1 to m.
    pvalue : float
        (m - rank + 1) / m.
    probabilities : ndarray of shape (n,)
        P_θ(Y=+1|x) in each of the user's rows.
    """

    labels: IntArray = field(repr=False)
    seat: int
    Z: FloatArray = field(repr=False)
    rank: int
    pvalue: float
    probabilities: FloatArray = field(repr=False)


@dataclass(frozen=True, eq=False)
class FittedRegion:
    """Data, draws and settings of one fit, which together give the rank of any θ.

    `model` is the family for the columns of X, `settings` are the parameters of the
    `ConfidenceRegion`, and `design` is what a formula made of the data, if there was one.
    """

    model: Model
    sample: Sample
    resampling: Resampling
    statistic: Statistic
    accepted: AcceptedRanks
    settings: Mapping[str, Any]
    design: Design | None
    prepared: PreparedStatistic = field(repr=False)
    # none of these is an argument: a region made by dataclasses.replace starts with its own
    _paths: Paths = field(default_factory=Paths, init=False, repr=False)
    _results: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)
    _preparations: dict[int, Any] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def fit(
        cls,
        settings: Mapping[str, Any],
        sample: Sample,
        entropy: int,
        design: Design | None = None,
    ) -> FittedRegion:
        """Check the settings, draw with the seed `entropy`, and prepare the statistic."""
        n_resamples = check_n_resamples(settings["n_resamples"])
        accepted = _accepted_ranks(settings, n_resamples + 1)
        check_batch(settings["batch"])
        statistic = as_statistic(settings["statistic"])
        model = as_model(settings["model"]).bind(sample.inputs.names)
        model.check_inputs(sample.inputs.user_rows)
        return cls(
            model,
            sample,
            Resampling(sample, n_resamples, entropy),
            statistic,
            accepted,
            settings,
            design,
            PreparedStatistic.of(statistic, sample.inputs, n_resamples + 1),
        )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out preparations: their keys are identities of objects in this process."""
        return {**self.__dict__, "_preparations": {}}

    @property
    def n_parameters(self) -> int:
        """Number of parameters, d."""
        return self.model.n_parameters(self.sample.inputs.X)

    @property
    def bounds(self) -> FloatArray:
        """(low, high) of each parameter: shape (d, 2)."""
        return np.array(self.model.bounds, dtype=np.float64)

    def as_batch(self, theta: npt.ArrayLike) -> tuple[FloatArray, bool]:
        """Check θ, and return it as (T, d) with whether it was a single one."""
        return self.model.as_batch(theta)

    def candidates(self, theta: FloatArray) -> Candidates:
        """Evaluate the family at θ (T, d), with rows in canonical order."""
        inputs = self.sample.inputs
        P = check_probabilities(self.model.evaluate(theta, inputs.user_rows), theta, n=len(inputs))
        ordered = np.ascontiguousarray(P[:, inputs.order])
        return Candidates(inputs, ordered, self.sample.is_counts, self.model, theta)

    def statistics(self, theta: FloatArray, statistic: Statistic | None = None) -> FloatArray:
        """Compute Z of the m data sets at each θ, by the region's statistic or another: (T, m)."""
        return statistics_of_many(
            theta,
            self.candidates,
            self.resampling,
            self._prepared(statistic),
            batch=self.settings["batch"],
            n_jobs=self.settings["n_jobs"],
            paths=self._paths,
        )

    def ranks(
        self, theta: FloatArray, statistic: Statistic | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Compute the rank and the original's Z at each θ (T, d), by this or another statistic."""
        Z = self.statistics(theta, statistic)
        advance(len(theta))
        return rank_of(Z, self.resampling.seat), Z[:, self.resampling.seat]

    def rank_function(self, statistic: Statistic | None = None) -> RankFunction:
        """Return `ranks` as a function of θ alone that counts its evaluations."""
        return RankFunction(lambda theta: self.ranks(theta, statistic), self.bounds)

    def evaluate(self, theta: FloatArray) -> Evaluation:
        """Return the data sets, the seat and Z behind the rank of one θ (1, d)."""
        inputs, resampling = self.sample.inputs, self.resampling
        P = self.candidates(theta).probabilities
        K = [resampling.successes(P[:, rows], rows)[0] for rows in blocks(len(inputs))]
        data_sets = inputs.to_user_order(np.concatenate(K, axis=1)).astype(np.int64)
        Z = self.statistics(theta)[0]
        rank = rank_of(Z, resampling.seat)
        return Evaluation(
            labels=data_sets if self.sample.is_counts else 2 * data_sets - 1,
            seat=resampling.seat,
            Z=Z,
            rank=int(rank),
            pvalue=float(pvalue_of(rank, resampling.m)),
            probabilities=inputs.to_user_order(P[0]),
        )

    def search_rng(self) -> np.random.Generator:
        """Return a new generator for one search: fixed by the seed, independent of the draws.

        Each search has its own, so that its result does not depend on what was searched before.
        """
        return np.random.default_rng(
            np.random.SeedSequence(self.resampling.entropy, spawn_key=(2,))
        )

    def cached(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """Return the result of an earlier call with this key, or make it."""
        return _recent(self._results, key, make, KEPT_RESULTS)

    def _prepared(self, statistic: Statistic | None) -> PreparedStatistic:
        """Prepare a statistic, once while it is in use."""
        if statistic is None or statistic is self.statistic:
            return self.prepared
        inputs = self.sample.inputs
        # the statistic is kept too: its id is taken while it lives
        kept: tuple[Statistic, PreparedStatistic] = _recent(
            self._preparations,
            id(statistic),
            lambda: (statistic, PreparedStatistic.of(statistic, inputs, self.resampling.m)),
            KEPT_STATISTICS,
        )
        return kept[1]


def _recent(
    results: dict[Any, Any], key: Hashable, make: Callable[[], Result], size: int
) -> Result:
    """Look up a result, or make it, and keep the `size` results that were used last."""
    missing = object()
    result: Any = results.pop(key, missing)
    if result is missing:
        result = make()
    results[key] = result
    while len(results) > size:
        results.pop(next(iter(results)), None)
    found: Result = result
    return found


def _accepted_ranks(settings: Mapping[str, Any], m: int) -> AcceptedRanks:
    ranks = settings["accepted_ranks"]
    if ranks is None:
        return AcceptedRanks.at_level(settings["confidence_level"], m)
    match ranks:
        case (int() | np.integer() as low, int() | np.integer() as high) if not isinstance(
            low, bool
        ) and not isinstance(high, bool):
            return AcceptedRanks(m, int(low), int(high))
    raise InvalidTypeError(
        f"must be a pair of integers (low, high). Got {ranks!r} instead.",
        parameter="accepted_ranks",
    )
