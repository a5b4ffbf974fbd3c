"""An exact test of a whole family, of whether any of its θ is true.

At one θ, the rank of the data by a statistic that is orthogonal to the score (`Orthogonal`) is
uniform if θ is true, and hardly depends on which θ near the truth it is. The p-value of the family
is the largest over all θ that are not excluded by the joint region at level 1 - β, plus β, as
Berger and Boos (1994) hold nuisance parameters. Where a θ* of the family is true,

    P(p ≤ α) ≤ P(θ* not in the joint region) + P(p(θ*) ≤ α - β) ≤ β + (α - β),

at every n. The largest p-value is searched, not proven.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri

from exactregion._typing import FloatArray
from exactregion.features.threads import single_thread
from exactregion.kernels import Gaussian
from exactregion.region.fitted import FittedRegion
from exactregion.region.outline import outline_of
from exactregion.region.window import RankFunction, Window, likely_parameters
from exactregion.statistics import Discrepancy, Omnibus, Orthogonal, Statistic, as_statistic

__all__ = ["GoodnessOfFit", "goodness_of_fit"]

DEFAULT = Omnibus(*(Discrepancy(Gaussian(multiple=multiple)) for multiple in (0.5, 1.0, 2.0)))
"""The statistic where the user names none: kernels of half, once and twice the usual width. Over
eight misfits in one, two and five inputs (squares, interactions, waves, a link; n = 150, 40 data
sets each, the largest p-value of 120 θ) its power is 58 % on average; the best single width has
47 %, and less than 15 % where it is blind, and `Multiscale` 56 %. `Curvature` would add power at a
fixed θ, but its columns turn with θ, so that the search finds a θ where it sees nothing: of 20 data
sets with an interaction, the wide kernel alone rejects 17, and 6 beside it and a narrow one."""

SPENT = 0.001
"""β, the level of the joint region that θ is looked for in, as `NUISANCE` of focused intervals.
With 0.005 or 0.01 the region is smaller, but power is the same within a few per cent."""

PROBES, PROBES_PER_PARAMETER = 120, 60
"""Points of the ball that the joint region would be for many data: half of them uniform in it, half
nearer to its centre."""

ASCENTS, ROUNDS, PROPOSALS_PER_PARAMETER = 4, 14, 4
"""Ascents from the best points, their rounds, and random steps per round of each. By one kernel in
one input (n = 150, m = 200, a square of 0.6, 10 data sets) the mean of the largest p-value is 0.067
at the most likely θ; 0.098, 0.102, 0.104 and 0.106 with 30, 120, 480 and 2,000 probes alone; 0.108,
0.110 and 0.110 with 30, 120 and 480 probes and these ascents; and 0.112 with twice as many ascents
of twice as many rounds."""

FIRST_STEP, SHRINK = 0.5, 0.7
"""Size of steps in standard errors, and its factor after a round without progress. Ranks jump with
every label that flips, so that steps need not become very short: 0.5 · 0.7¹⁴ is 0.003."""


@dataclass(frozen=True, eq=False)
class GoodnessOfFit:
    """The outcome of a test of a family.

    Attributes
    ----------
    pvalue : float
        The largest p-value found of any θ, plus `spent`. If a member of the family is true,
        P(pvalue ≤ α) ≤ α for every α and every n, as far as the search found the largest.
    statistic : str
        What data sets were ranked by, as it would be written.
    theta : ndarray of shape (d,) or None
        The θ that fits best: where the p-value is largest. None if the joint region at level
        1 - `spent` seems to be empty, which rejects the family on its own.
    rank : int or None
        Rank of the data at this θ, from 1 to m.
    spent : float
        β: the joint region that θ was looked for in misses the truth with this probability.
    probed : int
        Number of θ in that region at which the statistic was computed.
    proven : bool
        Whether no θ has a larger p-value, with certainty; False where it was searched.
    evaluations, seconds : int and float
        Number of ranks computed, joint ones included, and time taken.
    """

    pvalue: float
    statistic: str
    theta: FloatArray | None
    rank: int | None
    spent: float
    probed: int = field(repr=False)
    proven: bool = field(repr=False)
    evaluations: int = field(repr=False)
    seconds: float = field(repr=False)


def goodness_of_fit(
    fitted: FittedRegion, statistic: str | Statistic | None = None
) -> GoodnessOfFit:
    """Test the family of a region; see `ConfidenceRegion.goodness_of_fit`."""
    if statistic is None or isinstance(statistic, str):
        key = "goodness", statistic
        return fitted.cached(key, lambda: _test(fitted, _as_orthogonal(statistic)))
    return _test(fitted, _as_orthogonal(statistic))


def _as_orthogonal(statistic: str | Statistic | None) -> Orthogonal:
    found = DEFAULT if statistic is None else as_statistic(statistic)
    return found if isinstance(found, Orthogonal) else Orthogonal(found)


def _test(fitted: FittedRegion, statistic: Orthogonal) -> GoodnessOfFit:
    started = time.perf_counter()
    m = fitted.accepted.m
    spent = max(1, int(SPENT * m))
    joint, ranks = fitted.rank_function(), fitted.rank_function(statistic)
    search = _Search(joint, ranks, outline_of(fitted).window, m - spent)
    rng = fitted.search_rng()
    with single_thread():  # products are small and many: threads would wait more than work
        search.add(_starts(fitted))
        search.add(search.window.theta(_probes(len(search.window.origin), spent / m, rng)))
        search.ascend(rng)
    best = search.best
    allowed = 0 if best is None else m - best.rank + 1
    return GoodnessOfFit(
        pvalue=min(m, spent + allowed) / m,
        statistic=repr(statistic),
        theta=None if best is None else _frozen(best.theta),
        rank=None if best is None else best.rank,
        spent=spent / m,
        probed=ranks.evaluations,
        proven=False,
        evaluations=joint.evaluations + ranks.evaluations,
        seconds=time.perf_counter() - started,
    )


def _frozen(theta: FloatArray) -> FloatArray:
    """Return a copy that cannot be changed: the result is kept, and shared by all its users."""
    copy = theta.copy()
    copy.setflags(write=False)
    return copy


def _starts(fitted: FittedRegion) -> FloatArray:
    """Return the most likely θ, the most compatible one, and the members known at the boundary.

    Those may lie very far out, where the region is unbounded.
    """
    outline = outline_of(fitted)
    likely = likely_parameters(fitted.model, fitted.sample)
    return np.vstack([likely, outline.estimate, outline.window.theta(outline.members())])


def _probes(d: int, outside: float, rng: np.random.Generator) -> FloatArray:
    """Draw coordinates z in the ball outside of which a χ² variable lies with this probability."""
    number = PROBES + PROBES_PER_PARAMETER * d
    directions = rng.standard_normal((number, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # shares of the radius: u^(1/d) is uniform in the ball, u is nearer to the centre
    power = np.where(np.arange(number) % 2, 1.0, 1 / d)
    share = rng.random(number) ** power
    radius = np.sqrt(chdtri(d, outside))
    return np.asarray(radius * share[:, None] * directions)


class _Member(NamedTuple):
    """A θ of the joint region, with its rank and the original's Z over the mean."""

    rank: int
    Z: float
    theta: FloatArray

    @property
    def order(self) -> tuple[int, float]:
        """The lowest is the best."""
        return self.rank, self.Z


@dataclass(eq=False)
class _Search:
    """The best members of the joint region found so far, the lowest rank first (ties by Z).

    A member of the joint region has a joint rank of at most `highest`.
    """

    joint: RankFunction
    ranks: RankFunction
    window: Window
    highest: int
    members: list[_Member] = field(default_factory=list)

    def members_of(self, theta: FloatArray) -> dict[int, _Member]:
        """Return the members among θ (T, d), by their place."""
        kept = np.flatnonzero(self.joint(theta)[0] <= self.highest)
        found, Z = self.ranks(theta[kept])
        rows = zip(kept.tolist(), found.tolist(), Z.tolist(), theta[kept], strict=True)
        return {place: _Member(*member) for place, *member in rows}

    def add(self, theta: FloatArray) -> None:
        """Keep the best `ASCENTS` of the members known and those among θ (T, d)."""
        members = [*self.members, *self.members_of(theta).values()]
        self.members = sorted(members, key=lambda member: member.order)[:ASCENTS]

    def ascend(self, rng: np.random.Generator) -> None:
        """Take random steps from each of the best members, shorter after a round in vain."""
        number, d = len(self.members), len(self.window.origin)
        proposals = PROPOSALS_PER_PARAMETER * d
        scale = np.full(number, FIRST_STEP)
        for _ in range(ROUNDS if number else 0):
            steps = scale[:, None, None] * rng.standard_normal((number, proposals, d))
            starts = np.array([member.theta for member in self.members])
            theta = starts[:, None] + steps @ self.window.axes.T
            found = self.members_of(np.clip(theta.reshape(-1, d), *self.window.bounds.T))
            for index, member in enumerate(self.members):
                proposed = [new for place, new in found.items() if place // proposals == index]
                best = min([member, *proposed], key=lambda one: one.order)
                scale[index] *= SHRINK if best is member else 1.0
                self.members[index] = best

    @property
    def best(self) -> _Member | None:
        """The member with the largest p-value; None if no member was found."""
        return min(self.members, key=lambda member: member.order, default=None)
