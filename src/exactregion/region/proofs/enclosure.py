"""Bounds of ranks that hold for every θ in a box, for families with a linear predictor.

Z of a data set minus Z of the original is D = wᵀ M w + 2 wᵀ M e, where w is the difference of
their points, M the metric and e the residual of the original, v_0 - c. Over a box around a centre,

- η_j moves by at most r_j = Σ_a |x_ja| h_a, so that labels whose uniform lies outside the range of
  p_j are known;
- the columns of the score are g_j x_j, where g is the slope of the logit in η, 1 for logistic
  families. w moves by its slopes times δ, up to what g' does over the box;
- e and the information Σ_j t_j v_j g_j² x_j x_jᵀ, v = p (1 - p), are sums of products of numbers
  per row, each known to first order with a remainder (`Expansion`);
- the inverse of the information follows by (1 - E)⁻¹ = 1 + E + … with ‖E‖ < 1/2.

This gives D to first order with a remainder (`near`). In larger boxes, where the expansion says
nothing, Z of the original is bounded from below by (u·e)² / (uᵀ I u) with one direction u for the
whole box, and Z of an alternative from above by the smallest information in the box. Still larger
ones are decided by Pearson's statistic: s_iᵀ I⁻¹ s_i ≤ Σ_j (k_ij - t_j p_j)² / (t_j p_j (1 - p_j)),
which also bounds ‖v_i - c‖² / E_θ‖v_i - c‖².

What the engines compute differs from these formulas by rounding. Its share is part of every
remainder: expected successes are rounded to 2⁻²⁰ and centres to half a unit of the grid (see
`features.grid`), and the metric has the error of its eigenvalues, some 1e-14 times the condition
number. Columns are those that the engines use, already rounded, so that equal points are equal.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import Sample
from exactregion.engine.blocks import IMPOSSIBLE
from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.expansion import Predictors
from exactregion.region.proofs.inputs import ProofInputs
from exactregion.region.proofs.packed import NONE, Expansions
from exactregion.region.proofs.parts import PartsOverBoxes, chances_of_labels
from exactregion.region.ratios import LinearRatios
from exactregion.region.window import Window

if TYPE_CHECKING:
    from exactregion.region.proofs.cells import Cells

__all__ = [
    "ABOVE",
    "BELOW",
    "BOX_WORK",
    "CELL",
    "EXPANSION",
    "LABEL_WORK",
    "OVERHEAD",
    "Boxes",
    "Enclosure",
    "RankBounds",
]

BELOW, ABOVE = -1, 1
"""Verdicts about an alternative: Z below or above the original's all over the box; 0 is neither."""

OVERHEAD = 100
"""What an alternative costs in a box beside its labels, in comparisons of labels."""

CELL, EXPANSION = range(2)
"""What larger boxes each box is in: see `proofs.cells` and `proofs.packed`."""

BOX_WORK, LABEL_WORK = 3000, 50
"""What a box costs beside its alternatives, and what each label adds to it, in the same unit."""

Ends: TypeAlias = tuple[FloatArray, FloatArray]
"""p and 1 - p (B, n) at one end of their range over boxes."""


@dataclass(frozen=True, eq=False)
class Boxes:
    """Boxes of coordinates z, centre ± half (B, d).

    For each rule they carry its verdicts about the alternatives (B, M), since those of a box hold
    in its parts, and the cell and the expanded box that they are in (B, 2).
    """

    centre: FloatArray
    half: FloatArray
    verdicts: list[Any]
    within: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.within:
            self.within.extend(np.full((len(self), 2), NONE) for _ in self.verdicts)

    def __len__(self) -> int:
        return len(self.centre)

    def __getitem__(self, which: Any) -> Boxes:
        return Boxes(
            self.centre[which],
            self.half[which],
            [rule[which] for rule in self.verdicts],
            [rule[which] for rule in self.within],
        )

    @classmethod
    def joined(cls, parts: Sequence[Boxes]) -> Boxes:
        """Put boxes together."""
        return cls(
            np.concatenate([part.centre for part in parts]),
            np.concatenate([part.half for part in parts]),
            [np.concatenate(each) for each in zip(*(p.verdicts for p in parts), strict=True)],
            [np.concatenate(each) for each in zip(*(p.within for p in parts), strict=True)],
        )

    def halves(self, across: IntArray | None = None) -> Boxes:
        """Cut each box in two across one of its sides (B,), by default the longest."""
        rows = np.arange(len(self))
        across = self.half.argmax(axis=1) if across is None else across
        half = self.half.copy()
        half[rows, across] /= 2
        step = np.zeros_like(half)
        step[rows, across] = half[rows, across]
        return Boxes(
            np.concatenate([self.centre - step, self.centre + step]),
            np.concatenate([half, half]),
            [np.concatenate([rule, rule]) for rule in self.verdicts],
            [np.concatenate([rule, rule]) for rule in self.within],
        )


class RankBounds(ABC):
    """Bounds of ranks over boxes: what those of all kinds of statistics share.

    `M` is the number of alternatives, `work` the comparisons of labels so far.
    """

    def __init__(self, sample: Sample, accepted: AcceptedRanks, M: int) -> None:
        self.accepted, self.M, self.work = accepted, M, 0
        self.undecided = np.zeros(M, dtype=np.int64)
        successes = sample.successes
        self.has_success, self.has_failure = successes > 0, successes < sample.inputs.trials

    @abstractmethod
    def ranks(
        self, boxes: Boxes, index: int, *, complete: bool = False
    ) -> tuple[IntArray, IntArray]:
        """Bound the rank over each box: lowest and highest.

        The verdicts of the boxes, those at `index`, are updated. A box is left as soon as it is
        clear that it is not outside by high ranks: the highest rank may then be the last. With
        `complete` all alternatives are compared.
        """

    def widest(self, boxes: Boxes) -> IntArray | None:
        """Return across which sides boxes are best cut (B,); None for the longest."""
        return None

    def drop_unused(  # noqa: B027 (most have nothing to forget)
        self, index: int, boxes: Boxes, others: Sequence[Boxes]
    ) -> None:
        """Forget what is known of larger boxes that none of the boxes is in."""

    def order(self) -> IntArray:
        """Return the alternatives (M,), those first that stayed undecided most often."""
        return np.argsort(-self.undecided, kind="stable")

    def spare(self, *, complete: bool) -> int:
        """Return how many alternatives may be above before a box is known not to be outside."""
        return self.M if complete or self.accepted.low > 1 else self.M - self.accepted.high

    def bounds_of(
        self, verdicts: Any, impossible: BoolArray, doubtful: BoolArray
    ) -> tuple[IntArray, IntArray]:
        """Bound ranks by verdicts (B, M), and by where an observed outcome is impossible.

        A θ under which it is has the last rank.
        """
        lowest, highest = 1 + (verdicts == BELOW).sum(axis=1), 1 + (verdicts != ABOVE).sum(axis=1)
        last = self.M + 1
        return np.where(impossible, last, lowest), np.where(impossible | doubtful, last, highest)

    def last_ranks(self, low: Ends, high: Ends, margin: float) -> tuple[BoolArray, BoolArray]:
        """Return where an observed outcome is impossible, and where it may be, for p and 1 - p.

        `margin` is the relative error of probabilities.
        """
        impossible = self._is_impossible(high[0], low[1], 1 / (1 + margin))
        return impossible, self._is_impossible(low[0], high[1], 1 + margin)

    def _is_impossible(self, p: FloatArray, q: FloatArray, margin: float) -> BoolArray:
        """Return where an observed outcome is impossible for these p and 1 - p.

        p is 1 from 1 - 2⁻⁵⁴ on, and cannot be 1 below 1 - 2⁻⁵³.
        """
        success = (p < margin * IMPOSSIBLE) & self.has_success
        failure = q < margin * IMPOSSIBLE * (0.5 if margin < 1 else 1.0)
        return np.asarray((success | (failure & self.has_failure)).any(axis=1))


class Enclosure(RankBounds):
    """Bounds of the rank by one statistic over boxes in the coordinates of a window.

    `number` is the number that a focused statistic is for.
    """

    def __init__(
        self,
        fitted: FittedRegion,
        window: Window,
        accepted: AcceptedRanks,
        number: LinearRatios | None = None,
    ) -> None:
        self.inputs = ProofInputs(fitted, window, number)
        self.expansions = Expansions()
        super().__init__(fitted.sample, accepted, len(self.inputs.draws.uniforms))

    @cached_property
    def cells(self) -> Cells:
        """Known sums in larger boxes."""
        from exactregion.region.proofs.cells import Cells  # Numba is slow to import

        return Cells(self.inputs.draws)

    def continued(self, accepted: AcceptedRanks) -> Enclosure:
        """Return the same for other accepted ranks, with the cells and the order found so far."""
        other = copy.copy(self)
        other.accepted, other.work = accepted, 0
        other.undecided, other.cells = self.undecided.copy(), self.cells.copy()
        other.expansions = Expansions()
        return other

    def ranks(
        self, boxes: Boxes, index: int, *, complete: bool = False
    ) -> tuple[IntArray, IntArray]:
        """Bound the rank over each box, and keep what boxes within open ones can use."""
        from exactregion.region.proofs.verdicts import Space, judge  # Numba is slow to import

        verdicts, within = boxes.verdicts[index], boxes.within[index]
        cell, which = within.T.copy()
        is_expanded = ~self.expansions.serve(which, boxes.half)
        p_low, p_high, impossible, doubtful = self._expand(boxes, is_expanded, which)
        chances = chances_of_labels(self.inputs, p_low, p_high)
        self.work += judge(
            verdicts,
            self.order(),
            self.undecided,
            self.spare(complete=complete),
            self.accepted.high,
            self.inputs.draws,
            chances,
            self.expansions.packed,
            which,
            is_expanded,
            np.stack([boxes.centre - self.expansions.centre[which], boxes.half], axis=1),
            cell,
            self.cells.arrays,
            Space.of(self.inputs.draws, is_moving=self.inputs.link is not None),
        )
        is_open = (verdicts == BELOW).sum(axis=1) < self.accepted.high
        is_open &= is_expanded & boxes.half.any(axis=1)
        self.cells.add(is_open, cell, verdicts, chances)
        which[is_expanded] = self.expansions.keep(
            which[is_expanded], (is_open & ~doubtful)[is_expanded]
        )
        within[:, CELL], within[:, EXPANSION] = cell, which
        return self.bounds_of(verdicts, impossible, doubtful)

    def _expand(
        self, boxes: Boxes, is_expanded: BoolArray, which: IntArray
    ) -> tuple[FloatArray, FloatArray, BoolArray, BoolArray]:
        """Expand some boxes, and write down `which` they are.

        Returns p at both ends of its range, and where an observed outcome is impossible or may be.
        """
        rule, n = self.inputs, len(self.inputs.trials)
        p_low, p_high = np.empty((2, len(boxes), n))
        impossible, doubtful = np.zeros((2, len(boxes)), dtype=np.bool_)
        # far out numbers overflow; what is not a number decides nothing
        with np.errstate(all="ignore"):
            known = ~is_expanded
            if known.any():
                eta = Predictors.over(rule, boxes.centre[known], boxes.half[known])
                p_low[known] = 1 / (1 + np.exp(-rule.logits(eta.low)))
                p_high[known] = 1 / (1 + np.exp(-rule.logits(eta.high)))
            if is_expanded.any():
                centre, half = boxes.centre[is_expanded], boxes.half[is_expanded]
                parts = PartsOverBoxes(rule, centre, half)
                which[is_expanded] = self.expansions.add(parts.packed(), centre)
                rows = parts.rows
                p_low[is_expanded], p_high[is_expanded] = rows.p_low, rows.p_high
                ends = (rows.p_low, rows.q_low), (rows.p_high, rows.q_high)
                impossible[is_expanded], doubtful[is_expanded] = self.last_ranks(*ends, 1e-6)
        self.work += int(is_expanded.sum()) * (BOX_WORK + LABEL_WORK * n)
        return p_low, p_high, impossible, doubtful

    def drop_unused(self, index: int, boxes: Boxes, others: Sequence[Boxes]) -> None:
        """Forget cells and expansions that none of the boxes is in."""
        for column, store in ((CELL, self.cells), (EXPANSION, self.expansions)):
            moved = store.without_unused(boxes.within[index][:, column])
            if moved is not None:
                for part in (boxes, *others):
                    part.within[index][:, column] = moved[part.within[index][:, column]]
