"""Membership: rank, p-value, in or out, for any θ of a family."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.engine import DEFAULT_BATCH, Paths, check_batch, statistics_of_many
from exactregion.errors import InvalidTypeError, InvalidValueError, NotFittedError
from exactregion.models import Model, as_model
from exactregion.models.base import check_probabilities
from exactregion.progress import Watch
from exactregion.ranking import AcceptedRanks, pvalue_of, rank_of
from exactregion.resampling import Resampling, RNGLike, blocks, check_n_resamples, fresh_entropy
from exactregion.sample import Sample
from exactregion.statistics import Candidates, PreparedStatistic, Statistic, as_statistic

if TYPE_CHECKING:
    from exactregion.design import Design

__all__ = ["Evaluation", "Membership"]


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
class _Fit:
    """The state after fit: data, draws, features and settings, made together or not at all.

    What a search finds later is kept in `found`, so that it is made once and gone with the fit.
    """

    model: Model
    sample: Sample
    resampling: Resampling
    statistic: PreparedStatistic
    accepted: AcceptedRanks
    settings: dict[str, Any]
    design: Design | None = None
    found: dict[str, Any] = field(default_factory=dict)
    paths: Paths = field(default_factory=Paths)


class Membership:
    """What a confidence region is made of: data, draws, and the rank of any θ.

    `exactregion.ConfidenceRegion` is this with a search and what it implies; its docstring has the
    parameters.
    """

    def __init__(
        self,
        model: Model | str,
        *,
        statistic: str | Statistic | Any = "combined",
        confidence_level: float = 0.95,
        n_resamples: int = 999,
        rng: RNGLike = None,
        accepted_ranks: tuple[int, int] | None = None,
        pos_label: object = None,
        batch: int = DEFAULT_BATCH,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.statistic = statistic
        self.confidence_level = confidence_level
        self.n_resamples = n_resamples
        self.rng = rng
        self.accepted_ranks = accepted_ranks
        self.pos_label = pos_label
        self.batch = batch
        self.n_jobs = n_jobs
        self.progress = progress
        self._watch = Watch()

    def __repr__(self) -> str:
        """Show model, statistic and level."""
        level = f"confidence_level={self.confidence_level}"
        if self.accepted_ranks is not None:
            level = f"accepted_ranks={self.accepted_ranks}"
        return f"{type(self).__name__}({self.model!r}, statistic={self.statistic!r}, {level})"

    def fit(self, X: Any, y: Any) -> Self:
        """Take in the data and draw what is random.

        Parameters
        ----------
        X : array-like of shape (n,) or (n, d), frame, or sequence of n objects
            Inputs.
        y : array-like of shape (n,) or (n, 2)
            Labels (-1/+1, 0/1, booleans, or two classes with `pos_label`), or successes and
            failures.

        Returns
        -------
        self
        """
        n_resamples = check_n_resamples(self.n_resamples)
        accepted = self._checked_ranks(n_resamples + 1)
        check_batch(self.batch)
        statistic = as_statistic(self.statistic)
        model = as_model(self.model)
        sample = Sample.from_data(X, y, pos_label=self.pos_label)
        model = model.bind(sample.inputs.names)
        model.check_inputs(sample.inputs.user_rows)
        prepared = statistic.prepare(sample.inputs, n_resamples + 1)
        resampling = Resampling(sample, n_resamples, fresh_entropy(self.rng))
        settings = {name: value for name, value in vars(self).items() if not name.startswith("_")}
        self._state = _Fit(model, sample, resampling, prepared, accepted, settings)
        return self

    def rank(self, theta: npt.ArrayLike) -> Any:
        """Rank of the observed outcomes among the alternatives of θ, from 1 to m.

        Parameters
        ----------
        theta : array-like of shape (d,) or (T, d)
            One parameter, or many.

        Returns
        -------
        int, or ndarray of shape (T,)
        """
        ranks, single = self._ranks(theta)
        return int(ranks[0]) if single else ranks

    def pvalue(self, theta: npt.ArrayLike) -> Any:
        """Exact p-value of θ, (m - rank + 1) / m: a float, or an array of shape (T,).

        Parameters
        ----------
        theta : array-like of shape (d,) or (T, d)
            One parameter, or many.
        """
        ranks, single = self._ranks(theta)
        pvalues = pvalue_of(ranks, self._fitted.resampling.m)
        return float(pvalues[0]) if single else pvalues

    def contains(self, theta: npt.ArrayLike) -> Any:
        """Say whether θ is in the region: a bool, or an array of shape (T,).

        Parameters
        ----------
        theta : array-like of shape (d,) or (T, d)
            One parameter, or many.
        """
        ranks, single = self._ranks(theta)
        inside: BoolArray = self._fitted.accepted.holds(ranks)
        return bool(inside[0]) if single else inside

    def evaluate(self, theta: npt.ArrayLike) -> Evaluation:
        """Return the data sets, the seat and Z behind the rank of one θ.

        Parameters
        ----------
        theta : array-like of shape (d,)
            One parameter.

        Returns
        -------
        Evaluation
        """
        state = self._fitted
        batch, single = self._as_batch(theta)
        if not single:
            raise InvalidValueError(
                "The 'theta' parameter of evaluate must be one parameter, shape "
                f"({batch.shape[1]},). Got {batch.shape} instead."
            )
        inputs = state.sample.inputs
        P = self._candidates(batch).probabilities
        K = [state.resampling.successes(P[:, rows], rows)[0] for rows in blocks(len(inputs))]
        data_sets = inputs.to_user_order(np.concatenate(K, axis=1)).astype(np.int64)
        Z = self._statistics(batch)[0]
        rank = rank_of(Z, state.resampling.seat)
        return Evaluation(
            labels=data_sets if state.sample.is_counts else 2 * data_sets - 1,
            seat=state.resampling.seat,
            Z=Z,
            rank=int(rank),
            pvalue=float(pvalue_of(rank, state.resampling.m)),
            probabilities=inputs.to_user_order(P[0]),
        )

    @property
    def coverage_(self) -> float:
        """Exact probability that the region holds the truth, q/m."""
        return self._fitted.accepted.coverage

    @property
    def accepted_ranks_(self) -> AcceptedRanks:
        """The ranks that keep a θ in the region."""
        return self._fitted.accepted

    @property
    def model_(self) -> Model:
        """The family for the columns of X."""
        return self._fitted.model

    @property
    def parameter_names_(self) -> tuple[str, ...]:
        """A name for each parameter."""
        return self._fitted.model.parameter_names

    @property
    def _fitted(self) -> _Fit:
        state: _Fit | None = self.__dict__.get("_state")
        if state is None:
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet: call fit(X, y) first."
            )
        return state

    def _checked_ranks(self, m: int) -> AcceptedRanks:
        if self.accepted_ranks is None:
            return AcceptedRanks.at_level(self.confidence_level, m)
        match self.accepted_ranks:
            case (int() | np.integer() as low, int() | np.integer() as high) if not isinstance(
                low, bool
            ) and not isinstance(high, bool):
                return AcceptedRanks(m, int(low), int(high))
        raise InvalidTypeError(
            "The 'accepted_ranks' parameter must be a pair of integers (low, high). "
            f"Got {self.accepted_ranks!r} instead."
        )

    def _as_batch(self, theta: npt.ArrayLike) -> tuple[FloatArray, bool]:
        state = self._fitted
        return state.model.as_batch(theta, state.model.n_parameters(state.sample.inputs.X))

    def _candidates(self, theta: FloatArray) -> Candidates:
        state = self._fitted
        inputs = state.sample.inputs
        P = check_probabilities(state.model.evaluate(theta, inputs.user_rows), theta, n=len(inputs))
        ordered = np.ascontiguousarray(P[:, inputs.order])
        return Candidates(inputs, ordered, state.sample.is_counts, state.model, theta)

    def _statistics(
        self, batch: FloatArray, statistic: PreparedStatistic | None = None
    ) -> FloatArray:
        state = self._fitted
        return statistics_of_many(
            batch,
            self._candidates,
            state.resampling,
            statistic or state.statistic,
            batch=check_batch(self.batch),
            n_jobs=self.n_jobs,
            paths=state.paths,
        )

    def _judge(
        self, batch: FloatArray, statistic: PreparedStatistic | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Give the rank and the original's Z at each θ, by this or another statistic."""
        Z = self._statistics(batch, statistic)
        self._watch.advance(len(batch))
        seat = self._fitted.resampling.seat
        return rank_of(Z, seat), Z[:, seat]

    def _ranks(self, theta: npt.ArrayLike) -> tuple[IntArray, bool]:
        batch, single = self._as_batch(theta)
        return self._judge(batch)[0], single
