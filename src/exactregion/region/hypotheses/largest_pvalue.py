"""The largest p-value over a part of a family: how composite hypotheses are tested at every n.

A hypothesis that holds for several θ is as plausible as the most plausible of them. Its p-value is
the largest over the θ that are not excluded by the joint region at level 1 - β, plus β (Berger and
Boos, 1994). Where a θ* of the hypothesis is true,

    P(p ≤ α) ≤ P(θ* not in the joint region) + P(p(θ*) ≤ α - β) ≤ β + (α - β),

at every n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri

from exactregion._typing import BoolArray, FloatArray
from exactregion.features.threads import single_thread
from exactregion.region.fitted import FittedRegion
from exactregion.region.window import RankFunction, Window
from exactregion.statistics import Statistic

__all__ = ["SHORT", "USUAL", "LargestPValue", "ranks_spent", "search_largest"]

SPENT = 0.001
"""β, the level of the joint region that θ is looked for in. With 0.005 or 0.01 the region is
smaller, but power is the same within a few per cent where the rank hardly depends on θ; and no
p-value can be less."""

PROPOSALS_PER_PARAMETER = 4
"""Random steps per round of each ascent: eight with two parameters, and more with more of them,
where fewer steps point along the slope."""

FIRST_STEP, SHRINK = 0.5, 0.7
"""Size of steps in standard errors, and its factor after a round without progress. Ranks jump with
every label that flips, so that steps need not become very short: 0.5 · 0.7¹⁴ is 0.003."""


class Effort(NamedTuple):
    """How long to search.

    Probes are points of the ball that the joint region would be for many data, half of them uniform
    in it, half nearer to its centre; the best of them start ascents of random steps.
    """

    probes: int
    probes_per_parameter: int
    ascents: int
    rounds: int


USUAL = Effort(120, 60, 4, 14)
"""By one kernel in one input (n = 150, m = 200, a square of 0.6, 10 data sets) the mean of the
largest p-value is 0.067 at the most likely θ; 0.098, 0.102, 0.104 and 0.106 with 30, 120, 480 and
2,000 probes alone; 0.108, 0.110 and 0.110 with 30, 120 and 480 probes and these ascents; and 0.112
with twice as many ascents of twice as many rounds."""

SHORT = Effort(30, 15, 3, 10)
"""For statistics that take long and hardly depend on θ. Ranked by `Refit` (n = 40, two nuisance
parameters, 8 data sets), the mean of the largest p-value is 0.588 with two ascents of eight rounds,
0.596 with the usual effort, and 0.597 with four times that."""


def ranks_spent(m: int) -> int:
    """Return how many of m ranks are spent on the joint region: β m."""
    return max(1, int(SPENT * m))


@dataclass(frozen=True, eq=False)
class LargestPValue:
    """The θ of a hypothesis with the largest p-value, its rank, and what it took to find it.

    θ and rank are None if no θ of the hypothesis was found in the joint region at level
    1 - `spent` / m. A rank that `is_proven` is the lowest, or lower by up to `gap` ranks than that
    of any member of the joint region: the rank of θ itself is higher by this much.
    """

    theta: FloatArray | None
    rank: int | None
    spent: int
    m: int
    probed: int
    evaluations: int
    is_proven: bool = False
    gap: int = 0

    @property
    def pvalue(self) -> float:
        """The p-value of the hypothesis, as far as the search found the largest."""
        allowed = 0 if self.rank is None else self.m - self.rank + 1
        return min(self.m, self.spent + allowed) / self.m


def search_largest(
    fitted: FittedRegion,
    statistic: Statistic,
    window: Window,
    starts: FloatArray,
    *,
    spent: int,
    is_allowed: Callable[[FloatArray], BoolArray] | None = None,
    effort: Effort = USUAL,
) -> LargestPValue:
    """Look for the θ of the joint region with the largest p-value by a statistic.

    θ are drawn in a window, which may be a line or plane of the family, and begin with `starts`
    (k, d). Those that `is_allowed` refuses, of θ (T, d), do not belong to the hypothesis.
    """
    m, d = fitted.accepted.m, window.axes.shape[1]
    joint, ranks = fitted.rank_function(), fitted.rank_function(statistic)
    search = _Search(joint, ranks, window, m - spent, is_allowed, effort.ascents)
    rng = fitted.search_rng()
    with single_thread():  # products are small and many: threads would wait more than work
        search.add(starts)
        search.add(window.theta(_probes(d, spent / m, effort, rng)))
        search.ascend(effort.rounds, rng)
    theta, rank = None, None
    if search.members:
        best = min(search.members)
        theta, rank = best.theta.copy(), best.rank
        theta.setflags(write=False)  # the result is kept, and shared by all its users
    evaluations = joint.evaluations + ranks.evaluations
    return LargestPValue(theta, rank, spent, m, ranks.evaluations, evaluations)


def _probes(d: int, outside: float, effort: Effort, rng: np.random.Generator) -> FloatArray:
    """Draw coordinates z in the ball outside of which a χ² variable lies with this probability."""
    number = effort.probes + effort.probes_per_parameter * d
    directions = rng.standard_normal((number, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    # shares of the radius: u^(1/d) is uniform in the ball, u is nearer to the centre
    power = np.where(np.arange(number) % 2, 1.0, 1 / d)
    share = rng.random(number) ** power
    radius = np.sqrt(chdtri(d, outside))
    return np.asarray(radius * share[:, None] * directions)


@dataclass(frozen=True, order=True)
class _Member:
    """A θ of the joint region: the best has the lowest rank, then the lowest Z over the mean."""

    rank: int
    Z: float
    theta: FloatArray = field(compare=False)


@dataclass(eq=False)
class _Search:
    """The best members of the joint region found so far, the lowest rank first (ties by Z).

    A member of the joint region has a joint rank of at most `highest`. θ are drawn in the window,
    and those that `is_allowed` refuses are left out.
    """

    joint: RankFunction
    ranks: RankFunction
    window: Window
    highest: int
    is_allowed: Callable[[FloatArray], BoolArray] | None
    ascents: int
    members: list[_Member] = field(default_factory=list)

    def members_of(self, theta: FloatArray) -> dict[int, _Member]:
        """Return the members among θ (T, d), by their place."""
        allowed = np.arange(len(theta))
        if self.is_allowed is not None:
            allowed = np.flatnonzero(self.is_allowed(theta))
        kept = allowed[self.joint(theta[allowed])[0] <= self.highest]
        found, Z = self.ranks(theta[kept])
        rows = zip(kept.tolist(), found.tolist(), Z.tolist(), theta[kept], strict=True)
        return {place: _Member(*member) for place, *member in rows}

    def add(self, theta: FloatArray) -> None:
        """Keep the best of the members known and those among θ (T, d)."""
        members = [*self.members, *self.members_of(theta).values()]
        self.members = sorted(members)[: self.ascents]

    def ascend(self, rounds: int, rng: np.random.Generator) -> None:
        """Take random steps from each of the best members, shorter after a round in vain."""
        number, d = len(self.members), self.window.axes.shape[1]
        proposals = PROPOSALS_PER_PARAMETER * d
        scale = np.full(number, FIRST_STEP)
        for _ in range(rounds if number else 0):
            steps = scale[:, None, None] * rng.standard_normal((number, proposals, d))
            starts = np.array([member.theta for member in self.members])
            theta = (starts[:, None] + steps @ self.window.axes.T).reshape(-1, starts.shape[1])
            found = self.members_of(np.clip(theta, *self.window.bounds.T))
            for index, member in enumerate(self.members):
                proposed = [new for place, new in found.items() if place // proposals == index]
                best = min([member, *proposed])
                scale[index] *= SHRINK if best is member else 1.0
                self.members[index] = best
