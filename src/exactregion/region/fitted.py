"""A fitted region: data, draws, and the rank of any θ by any statistic.

`ConfidenceRegion` is the object that users hold. Search, intervals, bands, reports and files work
on a `FittedRegion`, whose data, draws and settings never change.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.special import logit as _logit

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.files import Record
from exactregion.data.reading import read_only
from exactregion.data.sample import CHUNK_ROWS, Sample
from exactregion.data.workers import number_of_workers
from exactregion.engine import (
    MANY_LABELS,
    Paths,
    PreparedStatistic,
    SearchWindow,
    check_batch,
    statistics_of_many,
)
from exactregion.engine.chunks import ChunkPlan
from exactregion.engine.evaluate import path_order
from exactregion.engine.free_labels import Ellipsoid
from exactregion.engine.levels import class_probabilities
from exactregion.engine.progress import advance
from exactregion.engine.windows import ManyRows
from exactregion.errors import InvalidTypeError, InvalidValueError, ModelError
from exactregion.models import ClassModel, LinearModel, Model, Recalibration, as_model
from exactregion.models.base import check_probabilities, evaluated
from exactregion.ranking import AcceptedRanks, pvalue_of, rank_of
from exactregion.region.window import (
    RankFunction,
    Window,
    lengths_of,
    likely_parameters,
    radius_of,
    window_at,
)
from exactregion.resampling import Resampling, blocks, check_n_resamples, integer_seed
from exactregion.statistics import (
    Candidates,
    Custom,
    Likelihood,
    Orthogonal,
    Ratio,
    Statistic,
    as_statistic,
)

if TYPE_CHECKING:
    from exactregion.data.design import Design

__all__ = ["Evaluation", "FittedRegion"]

Result = TypeVar("Result")

REACH = 3.2
"""How far a search looks, in multiples of the distance at which a region is expected to end: rays
go to 2.5 of them from an estimate that may be off the likelihood's."""

RANKED_AT_ONCE = 2**20
"""Numbers Z that are made before they are ranked, 8 MB: more would leave the cache in between."""

FEW_OUTCOMES = 8
"""Successes, or failures, per parameter below which a region is far from an ellipsoid: with 3 to 6
of them, searches that take it for one ended short of members by 5 % of the length."""

KEPT_RESULTS = 16
"""Results kept per region: enough for a report, and a bound on memory where bands are computed at
many different inputs in turn."""


AT_ONCE = 4_000_000
"""Probabilities held in memory at once where θ are looked at without a rank."""

MOST_LABELS = 2**24
"""Most labels of several classes, C - 1 per outcome and data set: their uniforms are kept, 128 MB,
since those of one outcome are shared."""


@dataclass(frozen=True, eq=False)
class Evaluation(Record):
    """All that went into the rank of one θ: enough to compute it again by hand.

    Attributes
    ----------
    labels : ndarray of shape (m, n)
        The m data sets in the order of the user's rows: labels -1/+1, numbers of successes, or for
        a family of classes their numbers 0..C-1.
    seat : int
        The row of the original.
    Z : ndarray of shape (m,)
        The statistic of each data set.
    rank, pvalue : int and float
        Rank of the original, from 1 to m, and (m - rank + 1) / m.
    probabilities : ndarray of shape (n,), or (n, C)
        P_θ(Y=+1|x) in each of the user's rows, or P_θ(Y=c|x) of each class.
    """

    labels: IntArray = field(repr=False, metadata={"large": True})
    seat: int
    Z: FloatArray = field(repr=False, metadata={"large": True})
    rank: int
    pvalue: float
    probabilities: FloatArray = field(repr=False, metadata={"large": True})


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
    # neither is an argument: a region made by dataclasses.replace starts with new ones
    _paths: Paths = field(default_factory=Paths, init=False, repr=False)
    _results: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

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
        number_of_workers(settings["n_jobs"])
        statistic = as_statistic(settings["statistic"])
        model = as_model(settings["model"]).bind(sample.inputs.names)
        if isinstance(model, ClassModel):
            assert sample.classes is not None
            model = model.with_levels(sample.classes)
            _check_classes(sample, n_resamples + 1, statistic)
        _check_inputs(model, sample)
        names = model.parameter_names
        if len(set(names)) < len(names):
            raise InvalidValueError(
                "The parameters of a model must have different names. "
                f"Got {list(names)} instead: rename the column of X."
            )
        resampling = Resampling(sample, n_resamples, entropy)
        fitted = cls(model, sample, resampling, statistic, accepted, settings, design)
        _ = fitted._plan  # raises an error where the statistic does not suit the data
        return fitted

    def __getstate__(self) -> dict[str, Any]:
        """Leave behind what is computed again where it is needed."""
        again = ("_model_on_rows", "_distinct_rows", "_constant_gradient", "many_rows", "_plan")
        return {name: value for name, value in self.__dict__.items() if name not in again}

    @property
    def seed(self) -> int | None:
        """The integer that makes the same draws again; None for a generator."""
        return integer_seed(self.settings["rng"])

    @property
    def n_parameters(self) -> int:
        """Number of parameters, d."""
        return self.model.n_parameters(self.sample.inputs.X)

    def as_batch(self, theta: npt.ArrayLike) -> tuple[FloatArray, bool]:
        """Check θ, and return it as (T, d) with whether it was a single one."""
        return self.model.as_batch(theta)

    def candidates(self, theta: FloatArray) -> Candidates:
        """Evaluate the family at θ (T, d), with rows in canonical order."""
        inputs, is_counts = self.sample.inputs, self.sample.is_counts
        on_rows = self._model_on_rows
        if on_rows is not None:
            P = check_probabilities(on_rows(theta), theta, n=len(inputs))
            gradient = self._constant_gradient
            return Candidates(inputs, P, is_counts, self.model, theta, gradient)
        if self._distinct_rows is not None:
            rows, which = self._distinct_rows
            P = evaluated(self.model, theta, rows)
            # otherwise an error names rows of the user, below
            if P.min(initial=0.0) >= 0 and P.max(initial=1.0) <= 1:
                # "clip" spares a buffer, and clips nothing
                spread = P.take(which, axis=1, mode="clip")
                return Candidates(inputs, spread, is_counts, self.model, theta, distinct=(P, which))
        P = evaluated(self.model, theta, inputs.user_rows)
        P = check_probabilities(P, theta, n=len(inputs))
        ordered = np.ascontiguousarray(P[:, inputs.order])
        return Candidates(inputs, ordered, is_counts, self.model, theta)

    @cached_property
    def _model_on_rows(self) -> Callable[[FloatArray], FloatArray] | None:
        return self.model.on_rows(self.sample.inputs.X)

    @cached_property
    def _distinct_rows(self) -> tuple[Any, IntArray] | None:
        return self.model.distinct_rows(self.sample.inputs.X)

    @cached_property
    def _constant_gradient(self) -> FloatArray | None:
        """The gradient of the logit in canonical order, if it is the same for every θ."""
        if not self.model.has_constant_gradient:
            return None
        start = np.zeros((1, self.n_parameters))
        gradient = self.model.logit_gradient(start, self.sample.inputs.X)
        found: FloatArray = read_only(np.where(np.isfinite(gradient), gradient, 0.0))
        return found

    def is_defined(self, theta: FloatArray) -> BoolArray:
        """Return at which θ (T, d) the family gives probabilities: far out it may overflow."""
        rows, found = self.sample.inputs.user_rows, []
        for some in np.array_split(theta, 1 + len(theta) * len(self.sample) // AT_ONCE):
            with np.errstate(all="ignore"):
                P = np.asarray(evaluated(self.model, some, rows))
            found.append(((P >= 0) & (P <= 1)).all(axis=1))
        return np.concatenate(found)

    @cached_property
    def prepared(self) -> PreparedStatistic:
        """The region's statistic with all rows at hand."""
        if isinstance(self._plan, PreparedStatistic):
            return self._plan
        return PreparedStatistic.of(self.statistic, self.sample.inputs, self.resampling.m)

    @cached_property
    def many_rows(self) -> ManyRows | None:
        """What goes through many rows in chunks; None where rows are few, or the family other."""
        if not ManyRows.is_possible(self.model, self.resampling):
            return None
        return ManyRows(
            self.model, self.resampling, self._search_ellipsoid, self.settings["n_jobs"]
        )

    @cached_property
    def _plan(self) -> ChunkPlan | PreparedStatistic:
        return self.ready(self.statistic)

    def ready(self, statistic: Statistic) -> ChunkPlan | PreparedStatistic:
        """Make a statistic ready: for rows in chunks, or for all rows at once."""
        plan = None if self.many_rows is None else self.many_rows.plan_for(statistic)
        if plan is None:
            return PreparedStatistic.of(statistic, self.sample.inputs, self.resampling.m)
        return plan

    @property
    def is_linear(self) -> bool:
        """Whether probabilities are a known increasing function of a linear predictor."""
        if self.many_rows is not None:
            return True
        return self.model.linear_design(self.sample.inputs.X) is not None

    def statistics(
        self,
        theta: FloatArray,
        ready: ChunkPlan | PreparedStatistic | None = None,
        *,
        only_ranks: bool = False,
    ) -> FloatArray:
        """Compute Z of the m data sets at each θ, by the region's statistic or another: (T, m)."""
        ready = ready or self._plan
        if isinstance(ready, ChunkPlan):
            assert self.many_rows is not None
            return self.many_rows.statistics(theta, ready)
        return statistics_of_many(
            theta,
            self.candidates,
            self.resampling,
            ready,
            batch=self.settings["batch"],
            n_jobs=self.settings["n_jobs"],
            paths=self._paths,
            # a window draws the labels of each row by uniforms of its own
            window=self._search_window if self.sample.inputs.levels == 1 else None,
            only_ranks=only_ranks,
        )

    def _search_window(self) -> SearchWindow:
        """Bound the probabilities of all θ that a search looks at, by standard errors."""
        window = self.start
        step = REACH * radius_of(self.accepted.high / (self.accepted.m + 1), len(window.origin))
        examples = window.theta(np.array([[-1.0], [1.0]]) * step * np.eye(len(window.origin))[0])
        at = self.candidates(window.origin[None])
        # logits move by at most this much within the ellipsoid, where they are linear in θ
        logits, spread = _logit(at.probabilities[0]), lengths_of(at.logit_gradient[0] @ window.axes)
        return SearchWindow(expit(logits - step * spread), expit(logits + step * spread), examples)

    def _search_ellipsoid(self) -> Ellipsoid:
        """Return all θ that a search looks at, by standard errors."""
        window = self.start
        level = self.accepted.high / (self.accepted.m + 1)
        reach = REACH * radius_of(level, len(window.origin))
        return Ellipsoid(window.origin, window.axes, reach)

    @property
    def start(self) -> Window:
        """Coordinates around the maximum of a penalised likelihood, found once per fit."""

        def find() -> Window:
            return window_at(self.model, self.sample, likely_parameters(self.model, self.sample))

        return self.cached("start", find)

    @property
    def has_few_outcomes(self) -> bool:
        """Whether there are few successes, or few failures, for so many parameters."""
        successes = float(self.sample.successes.sum())
        fewer = min(successes, self.sample.inputs.total - successes)
        return fewer < FEW_OUTCOMES * self.n_parameters

    @property
    def ranks_take_long(self) -> bool:
        """Whether searches ask for few ranks, near the estimate alone, since each takes long.

        The thousands of ranks of a thorough search take more than ten seconds from so many data on.
        With a linear predictor a region of many data is about an ellipsoid, and separation tells
        where it has no end. Other families may have members far away whatever the number of rows.
        """
        if self.many_rows is not None:  # far θ, of which thorough searches ask many, take longest
            return True
        return self.resampling.m * self.sample.inputs.total > MANY_LABELS and self.is_linear

    def ranks(
        self, theta: FloatArray, ready: ChunkPlan | PreparedStatistic | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Compute the rank at each θ (T, d), and the original's Z over the mean of the m data sets.

        Far from the region all ranks are m; the ratio tells a search which θ is nearer.
        """
        m = self.resampling.m
        if len(theta) * m <= RANKED_AT_ONCE or m * len(self.sample) > MANY_LABELS:
            return self._ranks(theta, ready)
        order, size = path_order(theta), max(1, RANKED_AT_ONCE // m)
        ranks, ratio = np.empty(len(theta), dtype=np.int64), np.empty(len(theta))
        for start in range(0, len(theta), size):
            some = order[start : start + size]
            ranks[some], ratio[some] = self._ranks(theta[some], ready)
        return ranks, ratio

    def _ranks(
        self, theta: FloatArray, ready: ChunkPlan | PreparedStatistic | None
    ) -> tuple[IntArray, FloatArray]:
        Z = self.statistics(theta, ready, only_ranks=True)
        advance(len(theta))
        original = Z[:, self.resampling.seat]
        finite = np.isfinite(Z)
        if finite.all():
            mean = Z.sum(axis=1) / Z.shape[1]
        else:
            mean = np.where(finite, Z, 0.0).sum(axis=1) / np.maximum(finite.sum(axis=1), 1)
        return rank_of(Z, self.resampling.seat), original / np.where(mean > 0, mean, 1.0)

    def rank_function(self, statistic: Statistic | None = None) -> RankFunction:
        """Return `ranks` as a function of θ alone that counts its evaluations.

        Searches also ask at bounds and far out, where a family may have no probabilities: the rank
        there is m, as where the outcomes are impossible.
        """
        ready = self._plan if statistic is None else self.ready(statistic)
        bounds = np.array(self.model.bounds, dtype=np.float64)

        def ranks(theta: FloatArray) -> tuple[IntArray, FloatArray]:
            self._paths.expect_many()
            if isinstance(ready, ChunkPlan) and self.many_rows is not None:
                self.many_rows.expect_many(ready)
            try:
                return self.ranks(theta, ready)
            except ModelError as error:
                if not self.is_defined(self.start.origin[None])[0]:
                    raise
                counted.undefined = error
            defined = self.is_defined(theta)
            found = np.full(len(theta), self.resampling.m), np.full(len(theta), np.inf)
            if defined.any():
                found[0][defined], found[1][defined] = self.ranks(theta[defined], ready)
            return found

        counted = RankFunction(ranks, bounds)
        return counted

    def evaluate(self, theta: FloatArray) -> Evaluation:
        """Return the data sets, the seat and Z behind the rank of one θ (1, d)."""
        inputs, resampling = self.sample.inputs, self.resampling
        P = self.candidates(theta).probabilities
        K = [resampling.successes(P[:, rows], rows)[0] for rows in blocks(len(inputs))]
        data_sets = np.concatenate(K, axis=1).astype(np.int64)
        probabilities = P[0]
        if isinstance(self.model, ClassModel):
            data_sets = data_sets.reshape(resampling.m, -1, inputs.levels).sum(axis=-1)
            probabilities = class_probabilities(P, inputs.levels)[0].T
        elif not self.sample.is_counts:
            data_sets = 2 * data_sets - 1
        in_order = inputs.original.to_user_order
        Z = self.statistics(theta)[0]
        rank = rank_of(Z, resampling.seat)
        return Evaluation(
            labels=in_order(data_sets),
            seat=resampling.seat,
            Z=Z,
            rank=int(rank),
            pvalue=float(pvalue_of(rank, resampling.m)),
            probabilities=in_order(probabilities).T,
        )

    def search_rng(self, turn: int = 0) -> np.random.Generator:
        """Return a new generator for one search: fixed by the seed, independent of the draws.

        Each search has its own, so that its result does not depend on what was searched before; a
        search that is repeated has another one at each turn.
        """
        seed = np.random.SeedSequence(
            self.resampling.entropy, spawn_key=(2, turn)[: 1 + (turn > 0)]
        )
        return np.random.default_rng(seed)

    def cached(self, key: Hashable, make: Callable[[], Result]) -> Result:
        """Return the result of an earlier call with this key, or make it."""
        results = self._results
        result: Result = results.pop(key) if key in results else make()
        results[key] = result
        while len(results) > KEPT_RESULTS:
            results.pop(next(iter(results)))
        return result


def _check_inputs(model: Model, sample: Sample) -> None:
    """Let a family check the inputs, many rows in chunks."""
    inputs = sample.inputs
    if (
        not inputs.extent.is_large
        or isinstance(inputs.X, tuple)
        or not isinstance(model, LinearModel | Recalibration)
    ):
        model.check_inputs(inputs.user_rows)
        return
    for start in range(0, len(inputs), CHUNK_ROWS):
        model.check_inputs(inputs.X[start : start + CHUNK_ROWS])


def _check_classes(sample: Sample, m: int, statistic: Statistic) -> None:
    """Raise an error for data that are too many, and for statistics of two classes alone."""
    rows, classes = len(sample), sample.inputs.levels + 1
    if m * rows > MOST_LABELS or rows > CHUNK_ROWS:
        most = min(MOST_LABELS // m, CHUNK_ROWS) // (classes - 1)
        raise InvalidValueError(
            f"must have at most {most:,} rows for {classes} classes and n_resamples={m - 1}. "
            f"Got {rows // (classes - 1):,} instead: take a sample of them, or fewer resamples.",
            parameter="X",
        )
    parts = [statistic]
    while parts:
        part = parts.pop()
        parts.extend(part.parts)
        if isinstance(part, Custom | Likelihood | Orthogonal | Ratio):
            raise InvalidValueError(
                "must be 'score', 'discrepancy', 'combined' or another that is made of sums, for a "
                f"family of several classes. Got {part!r} instead.",
                parameter="statistic",
            )


def _accepted_ranks(settings: Mapping[str, Any], m: int) -> AcceptedRanks:
    ranks = settings["accepted_ranks"]
    if ranks is None:
        return AcceptedRanks.at_level(settings["confidence_level"], m)
    pair = ranks if isinstance(ranks, Sequence) and len(ranks) == 2 else (None, None)
    if all(isinstance(rank, (int, np.integer)) and not isinstance(rank, bool) for rank in pair):
        return AcceptedRanks(m, *map(int, pair))
    raise InvalidTypeError(
        f"must be a pair of integers (low, high). Got {ranks!r} instead.",
        parameter="accepted_ranks",
    )
