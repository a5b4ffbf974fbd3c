"""Score, discrepancy, and the likelihood ratio against members all over the family."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from exactregion._typing import FloatArray
from exactregion.data.sample import Inputs, blocks
from exactregion.errors import InvalidValueError
from exactregion.features.landmarks import InputSummary
from exactregion.features.threads import single_thread
from exactregion.models.base import Model, evaluated
from exactregion.models.cover import clipped_logit, cover_of, rows_for
from exactregion.statistics.base import Candidates, Statistic, Term
from exactregion.statistics.kernel import Discrepancy
from exactregion.statistics.measures import Largest
from exactregion.statistics.score import Score

__all__ = ["Likelihood", "Ratio"]

WEIGHT = 0.3
"""Weight of the discrepancy, as in `Combined`."""

MAX_MEMBERS = 2**14
"""Each member is evaluated in all rows; more than a few thousand lie too close to differ."""

MEMBERS = 1024
"""Members of the family that every θ is compared with. With 256 regions are larger by up to a third
where there are three parameters and a thousand trials (validation/islands.py); time grows with
their number."""

COLUMNS = 16
"""Most columns whose combinations are the logits of all members. Curves in one input take fewer."""

CHANGE = 0.1
"""What leaving out further columns changes in twice the log-likelihood of a member, on average: no
p-value depends on so little."""

AT_ONCE = 32
"""Members whose logits in all rows are in memory at once."""


@dataclass(frozen=True)
class _AgainstMembers(Statistic):
    """What compares the likelihood of θ with that of other members, chosen by the inputs alone."""

    members: int = MEMBERS
    needs_all_rows = True
    needs_family = True
    uses_expectations = True

    def __post_init__(self) -> None:
        """Check the number of members."""
        if not (isinstance(self.members, Integral) and 1 <= self.members <= MAX_MEMBERS):
            raise InvalidValueError(
                f"of {type(self).__name__} must be an integer between 1 and {MAX_MEMBERS:,}. "
                f"Got {self.members!r} instead.",
                parameter="members",
            )


@dataclass(frozen=True)
class Likelihood(_AgainstMembers, name="likelihood"):
    """Score, discrepancy and likelihood ratio: for families whose logits are curved in θ.

    Z_i = (score + 2 max(0, max_k log L(θ_k; y_i) - log L(θ; y_i))) / d + 0.3 · discrepancy /
    E_θ[discrepancy], with θ_k up to 1024 members that lie far apart in the family. They are chosen
    by the inputs alone, so that ranks are exact as for any other statistic.

    The score looks at the slope of the likelihood at θ. In a curved family it may vanish where the
    likelihood is low, and the region then has parts far away whose curves do not fit the data. The
    ratio to other members detects these. Where the logit is linear in θ there are no such places,
    and `Combined` is as good, quicker, and has ends that can be proven.

    Parameters
    ----------
    members : int
        Most members that θ is compared with.

    Examples
    --------
    A Weibull curve for the answers of an observer, at a θ where twice the log-likelihood is 25.7
    below its maximum:

    >>> import exactregion as er
    >>> def curve(theta, x):
    ...     scale, shape, lapse = theta
    ...     return 0.5 + (0.5 - lapse) * -np.expm1(-((x / scale) ** shape))
    >>> bounds = [(0.0005, 0.05), (0.2, 15), (0, 0.2)]
    >>> family = er.models.Function(curve, names=("scale", "shape", "lapse"), bounds=bounds)
    >>> answers = er.datasets.two_afc()
    >>> y = np.column_stack([answers["n_correct"], answers["n_total"] - answers["n_correct"]])
    >>> for statistic in ("combined", "likelihood"):
    ...     region = er.ConfidenceRegion(family, statistic=statistic, n_resamples=199, rng=0)
    ...     region = region.fit(answers["level"], y)
    ...     print(statistic, region.contains([0.0047, 7.4, 0.042]))
    combined True
    likelihood False
    """

    def terms(self, inputs: InputSummary) -> Sequence[Term]:
        """Sum what score and discrepancy do, the logits of the members, and those of θ."""
        others = _Others(self.members)
        return [
            *Score().terms(inputs),
            *Discrepancy().compact().terms(inputs),
            Term(others.columns, Largest(others.rows)),
            Term(_logit, Largest(_log_likelihood)),
        ]

    def combine(self, values: Sequence[Any], expected: Sequence[Any]) -> FloatArray:
        """Add score and likelihood ratio, per parameter, and the discrepancy."""
        score, discrepancy, highest, at_theta = values
        d, usual = expected[0], expected[1]
        deviance = 2 * np.maximum(highest - at_theta, 0.0)
        scaled = discrepancy / np.where(usual > 0, usual, 1.0)[:, None]
        return np.asarray((score + deviance) / d[:, None] + WEIGHT * scaled)


@dataclass(frozen=True)
class Ratio(_AgainstMembers, name="ratio"):
    """Likelihood ratio and discrepancy: for curved families, with sets that can be proven.

    Z_i = 2 (max_k log L(θ_k; y_i) - log L(θ; y_i)) / d + 0.3 · discrepancy / E_θ[discrepancy], with
    θ_k as for `Likelihood`. Z depends on θ by its probabilities alone, so that bounds of these over
    a box of θ (`Model.probability_bounds`) are all that a proof needs.

    Parameters
    ----------
    members : int
        Most members that θ is compared with.

    Examples
    --------
    >>> import exactregion as er
    >>> family = er.models.Psychometric(guess=0.5, lapse=0.02)
    >>> correct = np.array([18, 23, 19, 19, 22, 33, 31])
    >>> ratio = er.statistics.Ratio()
    >>> region = er.ConfidenceRegion(family, statistic=ratio, n_resamples=99, rng=0)
    >>> region = region.fit(np.linspace(-2, 2, 7), np.column_stack([correct, 40 - correct]))
    >>> region.intervals(joint=True)["certified"].tolist()
    [True, True]
    """

    def terms(self, inputs: InputSummary) -> Sequence[Term]:
        """Sum the features of a kernel, the logits of the members, and those of θ."""
        others = _Others(self.members)
        return [
            *Discrepancy().compact().terms(inputs),
            Term(others.columns, Largest(others.deviances)),
            Term(_logit, Largest(_deviance)),
        ]

    def combine(self, values: Sequence[Any], expected: Sequence[Any]) -> FloatArray:
        """Add the ratio, which is per parameter, and the discrepancy."""
        discrepancy, highest, at_theta = values
        usual = expected[0]
        return np.asarray(
            highest - at_theta + WEIGHT * discrepancy / np.where(usual > 0, usual, 1.0)[:, None]
        )


class _Others:
    """The members that θ is compared with, once it is known which family on which inputs."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._found: _Members | None = None

    def columns(self, candidates: Candidates) -> FloatArray:
        """Return columns (T, n, r), the same for all candidates."""
        basis = self._at(candidates).basis
        return np.broadcast_to(basis, (len(candidates), *basis.shape))

    def rows(self, candidates: Candidates) -> FloatArray:
        """Return what makes log-likelihoods of the sums of columns: (T, K, r + 1)."""
        rows = self._at(candidates).rows
        return np.broadcast_to(rows, (len(candidates), *rows.shape))

    def deviances(self, candidates: Candidates) -> FloatArray:
        """Return the same for twice the log-likelihood per parameter."""
        rows = self._at(candidates).rows * _per_parameter(candidates)
        return np.broadcast_to(rows, (len(candidates), *rows.shape))

    def _at(self, candidates: Candidates) -> _Members:
        inputs, (model, _) = candidates.inputs, candidates.family
        found = self._found
        if found is None or found.inputs is not inputs or found.model is not model:
            found = self._found = _Members(model, inputs, self._size)
        return found


@dataclass(frozen=True, eq=False)
class _Members:
    """K members of a family, whose logits are combinations of r columns."""

    model: Model
    inputs: Inputs
    size: int

    @property
    def _bound(self) -> Model:
        return self.model.for_inputs(self.inputs.X)

    @cached_property
    def _cover(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The members θ (K, d), and U (K, r) and s (r,) of the decomposition of their logits."""
        theta = cover_of(self._bound, self.inputs, self.size)
        X, trials = rows_for(self.inputs)
        logits = clipped_logit(evaluated(self._bound, theta, X), self.inputs.total)
        with single_thread():  # last bits must not depend on the number of threads
            U, s, _ = np.linalg.svd(logits * np.sqrt(trials), full_matrices=False)
        # Σ_j t_j p (1 - p) δ_j² is at most a quarter of what columns left out add to Σ_j t_j η_j²
        left = (s**2)[::-1].cumsum()[::-1] / (4 * len(theta))
        r = min(COLUMNS, max(1, int((left > CHANGE).sum())))
        return theta, U[:, :r], s[:r]

    @cached_property
    def basis(self) -> FloatArray:
        """The columns in all rows: shape (n, r)."""
        theta, U, s = self._cover
        s = np.where(s > 0, s, 1.0)  # all members alike at even odds: their logits are zero
        basis = np.zeros((len(self.inputs), len(s)))
        with single_thread():
            for start in range(0, len(theta), AT_ONCE):
                part = slice(start, start + AT_ONCE)
                P = np.asarray(evaluated(self._bound, theta[part], self.inputs.X))
                basis += clipped_logit(P, self.inputs.total).T @ (U[part] / s)
        return basis

    @cached_property
    def rows(self) -> FloatArray:
        """Coefficients of the columns, and Σ_j t_j log(1 - p_j): shape (K, r + 1).

        The probabilities are those that the combinations of columns give.
        """
        _, U, s = self._cover
        failures = np.zeros(len(U))
        with single_thread():
            for part in blocks(len(self.inputs)):
                eta = self.basis[part] @ (U * s).T
                failures -= self.inputs.trials[part] @ np.logaddexp(0.0, eta)
        return np.column_stack([U * s, failures])


def _logit(candidates: Candidates) -> FloatArray:
    """Return the logit of each candidate, zero at a certainty: shape (T, n, 1)."""
    P = candidates.probabilities
    with np.errstate(divide="ignore"):
        eta = np.log(P) - np.log1p(-P)
    return np.where(np.isfinite(eta), eta, 0.0)[:, :, None]


def _log_likelihood(candidates: Candidates) -> FloatArray:
    """Return what makes a log-likelihood of the sum of logits: (T, 1, 2)."""
    P = candidates.probabilities
    failures = np.log1p(-np.where(P < 1, P, 0.0))
    offset = (candidates.inputs.trials * failures).sum(axis=-1)
    return np.stack([np.ones_like(offset), offset], axis=-1)[:, None, :]


def _deviance(candidates: Candidates) -> FloatArray:
    """Return what makes twice the log-likelihood per parameter of the sum of logits: (T, 1, 2)."""
    return _log_likelihood(candidates) * _per_parameter(candidates)


def _per_parameter(candidates: Candidates) -> float:
    return 2.0 / int(candidates.family[1].shape[1])
