"""The free labels of a window of θ, and how to get from one θ to others along them.

From θ to θ only free labels change, and few of them if both are near. So each θ is reached from the
nearest one that is known: of the same pass, of an earlier one, or the origin of the window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.engine.chunks import ChunkPlan
from exactregion.engine.terms import flat
from exactregion.features.landmarks import Landmarks

__all__ = ["Ellipsoid", "Free", "FreeInBlock", "FreeLabels", "Tree", "same_columns"]

VISITED_BYTES = 2**26
"""Memory for θ of earlier passes, 64 MiB: most θ of a search are near one that it had before."""

MOST_IN_BYTE = 255

TURN = 0.3
"""To go on from a θ that is not the last takes as long as the labels that flip over this distance,
in standard errors: between 0.1 and 0.5 for 235 and 15 columns."""

MARGIN, ULPS = 1e-9, 8
"""By how much a window is wider than its limits, on the scale of the largest summand of a linear
predictor, and in last digits of a probability: rounding errors are a millionth of that."""


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """The θ = origin + axes · z with |z| ≤ reach."""

    origin: FloatArray
    axes: FloatArray
    reach: float

    @property
    def largest(self) -> FloatArray:
        """The largest size of each parameter inside, or more."""
        # hypot does not square: in extreme units of the inputs, squares of the axes overflow
        reach: FloatArray = self.reach * np.hypot.reduce(self.axes, axis=1)
        return np.abs(self.origin) + reach

    def coordinates(self, theta: FloatArray) -> FloatArray:
        """Return z of θ (T, d)."""
        return np.asarray(np.linalg.solve(self.axes, (theta - self.origin).T).T)

    def holds(self, theta: FloatArray) -> BoolArray:
        """Return which θ (T, d) are inside."""
        return np.asarray(np.linalg.norm(self.coordinates(theta), axis=1) <= self.reach)

    def limits(
        self, design: FloatArray, inverse_link: Callable[[FloatArray], FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Bound an increasing function of D θ over all θ inside, for rows D (b, d)."""
        middle, spread = design @ self.origin, np.linalg.norm(design @ self.axes, axis=1)
        half = self.reach * spread + MARGIN * (1 + np.abs(design) @ self.largest)
        tiny = ULPS * np.finfo(np.float64).eps
        low, high = inverse_link(middle - half), inverse_link(middle + half)
        return low * (1 - tiny), np.minimum(high * (1 + tiny), 1.0)


@dataclass(frozen=True, eq=False)
class Visited:
    """A θ of an earlier pass.

    Its z, how many free labels of each row are successes, and how far its points are from those at
    the origin, in units.
    """

    plan: ChunkPlan
    z: FloatArray
    places: Any
    offsets: Any


Free: TypeAlias = tuple[Any, FloatArray, Any]
"""Free labels of a block of rows: how many each row has, their uniforms in ascending order within a
row, and the data set of each."""


@dataclass(frozen=True, eq=False)
class FreeInBlock:
    """Free labels of a block of rows, and what is known of its thresholds.

    Attributes
    ----------
    columns : index
        The thresholds that may pass a free label, or all of them.
    below : ndarray
        How many labels are below each of these at the origin of the window.
    free : tuple of ndarrays
        Free labels.
    may_be_certain : bool
        Whether any θ of the window may be certain of an outcome.
    largest : ndarray of shape (1, d)
        The largest entries of the gradient of the logit at the origin.
    logits, guard : ndarrays, optional
        Where labels are found by the logits of θ: those of uniforms, in single precision, and how
        far such logits may be from what they stand for, by threshold.
    """

    columns: Any
    below: Any
    free: Free
    may_be_certain: bool
    largest: FloatArray
    logits: Any = None
    guard: Any = None


@dataclass(eq=False)
class FreeLabels:
    """The free labels of a window by block of rows, and points at its origin by kind of columns."""

    window: Ellipsoid
    blocks: list[FreeInBlock] = field(default_factory=list)
    known: list[tuple[Any, FloatArray]] = field(default_factory=list)
    visited: list[Visited] = field(default_factory=list)

    def shorten(self) -> None:
        """Count labels of a row in one byte, if there are few: twice as many θ can be kept."""
        if all(block.free[0].max(initial=0) <= MOST_IN_BYTE for block in self.blocks):
            self.blocks[:] = [
                replace(block, below=block.below.astype(np.uint8)) for block in self.blocks
            ]

    @cached_property
    def most(self) -> int:
        """The largest number of free labels of any data set."""
        numbers = np.zeros(1, dtype=np.int64)
        for _, _, owner in (block.free for block in self.blocks):
            added = np.bincount(owner, minlength=len(numbers))
            added[: len(numbers)] += numbers
            numbers = added
        return int(numbers.max())

    @cached_property
    def columns(self) -> int:
        """Number of thresholds that may pass a free label."""
        return sum(len(block.below) for block in self.blocks)

    @cached_property
    def may_be_certain(self) -> bool:
        """Whether any θ of the window may be certain of an outcome."""
        return any(block.may_be_certain for block in self.blocks)

    @cached_property
    def largest(self) -> FloatArray:
        """The largest entries of the gradient of the logit at the origin: shape (1, d)."""
        return np.asarray(np.max([block.largest for block in self.blocks], axis=0))

    @staticmethod
    def has_room_for(size: int) -> bool:
        """Return whether the θ of a pass that take so many bytes can be kept."""
        return size <= VISITED_BYTES

    def keep(self, plan: ChunkPlan, z: FloatArray, places: Any, offsets: Any) -> None:
        """Remember the θ of a pass, and as many of those before as there is room for."""
        # copies: one of them should not keep the arrays of all
        new = [
            Visited(plan, *(array.copy() for array in one))
            for one in zip(z, places, offsets, strict=True)
        ]
        kept = [*new, *self.visited]
        sizes = np.cumsum([one.places.nbytes + one.offsets.nbytes for one in kept])
        self.visited[:] = kept[: int(np.searchsorted(sizes, VISITED_BYTES, side="right"))]

    def know(self, plan: ChunkPlan, points: FloatArray) -> None:
        """Remember the points (m, r) of all terms at the origin."""
        for term, columns in zip(flat(plan.terms), plan.columns_of_terms, strict=True):
            self.known.append((term.columns, np.ascontiguousarray(points[:, columns])))

    def points(self, plan: ChunkPlan) -> list[FloatArray | None]:
        """Return the points (m, r) at the origin for each term, if they were summed."""
        terms = flat(plan.terms)
        return [
            next(
                (points for columns, points in self.known if same_columns(columns, term.columns)),
                None,
            )
            for term in terms
        ]


def same_columns(one: Any, other: Any) -> bool:
    """Return whether two kinds of columns are the same function of the inputs."""
    if isinstance(one, Landmarks) and isinstance(other, Landmarks):
        same = one is other or (
            np.array_equal(one.M, other.M)
            and np.array_equal(one.points, other.points)
            and one.kernel == other.kernel
            and one.between == other.between
        )
        return bool(same)
    return one is other


@dataclass(frozen=True, eq=False)
class Tree:
    """From which θ each of T θ is reached: a near one, so that few labels flip on the way.

    Attributes
    ----------
    order : ndarray of shape (T,)
        An order in which each θ comes after the one that it is reached from, its parent.
    parent : ndarray of shape (T,)
        The place of each parent in this order. T and above stand for the roots, and the number
        after these for the origin of the window.
    roots : list of visited θ
        Parents from earlier passes.
    """

    order: IntArray
    parent: IntArray
    roots: list[Visited]

    @classmethod
    def of(cls, z: FloatArray, known: list[Visited]) -> Tree:
        """Take the nearest known θ, or the origin, or the nearest before it, for each z (T, d)."""
        T = len(z)
        distance, parent = np.full(T, np.inf), np.empty(T, dtype=np.int64)
        left, order = np.ones(T, dtype=np.bool_), []

        def offer(point: FloatArray, number: int) -> FloatArray:
            to_point: FloatArray = np.linalg.norm(z - point, axis=1)
            nearer = left & (to_point < distance)
            distance[nearer], parent[nearer] = to_point[nearer], number
            return to_point

        offer(np.zeros(z.shape[1]), T + len(known))
        for number, root in enumerate(known):
            offer(root.z, T + number)
        from_last = np.full(T, np.inf)
        for number in range(T):
            cost = np.minimum(from_last, distance + TURN)
            order.append(int(np.where(left, cost, np.inf).argmin()))
            left[order[-1]] = False
            if from_last[order[-1]] <= distance[order[-1]] + TURN:
                parent[order[-1]] = number - 1
            from_last = offer(z[order[-1]], number)
        numbers, used = np.full(T + len(known) + 1, -1), np.unique(parent)
        used = used[(used >= T) & (used < T + len(known))]
        numbers[:T], numbers[used], numbers[-1] = (
            np.arange(T),
            T + np.arange(len(used)),
            T + len(used),
        )
        return cls(np.array(order), numbers[parent][order], [known[root - T] for root in used])

    def places(self, rows: slice, at_origin: Any) -> Any:
        """Return how many free labels are successes, with room for T θ: (T + roots + 1, b)."""
        T = len(self.order)
        found = np.empty((T + len(self.roots) + 1, len(at_origin)), at_origin.dtype)
        for number, root in enumerate(self.roots):
            found[T + number] = root.places[rows]
        found[-1] = at_origin
        return found

    def add_up(self, steps: Any) -> None:
        """Turn steps (T, m, r) from each parent into offsets from the origin."""
        T = len(steps)
        for number, parent in enumerate(self.parent):
            if parent < T:
                steps[number] += steps[parent]
            elif parent < T + len(self.roots):
                steps[number] += self.roots[parent - T].offsets
