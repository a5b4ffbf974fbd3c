"""Regions with one or two parameters on a grid, refined where membership changes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, cast

import numpy as np
from scipy import ndimage

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.reading import as_real
from exactregion.errors import InvalidValueError
from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.search.outline import Outline, outline_of
from exactregion.region.window import RankFunction

__all__ = ["Grid", "box_around", "evaluate_grid", "grid_of"]

COARSE = 4
"""The first grid has 2⁴ + 1 points per axis, all evaluated: a piece of the region between them is
missed, and each further level would cost four times as much in the plane."""

LEVELS = {1: 12, 2: 8}
"""Levels by number of parameters: 4,097 points on a line, 257 × 257 in the plane, finer than a
picture shows."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Ranks and membership on a regular grid of one or two parameters.

    Attributes
    ----------
    axes : tuple of ndarrays
        Values of each parameter.
    ranks : ndarray of shape (len(axes[0]), …)
        The rank where it was evaluated, 0 elsewhere.
    member : ndarray of the same shape
        Inside; between points evaluated it is that of their neighbours.
    pieces : int
        Number of connected pieces seen.
    status : {"bounded", "unbounded", "disconnected", "empty"}
        What kind of set the grid shows; unbounded if it touches an edge that is not a bound of the
        parameters. Ranks are whole numbers, so specks at the boundary count as pieces.
    resolution : tuple of float
        Spacing of the grid in each parameter.
    evaluations, seconds : int and float
        Number of θ evaluated, and time taken.
    """

    axes: tuple[FloatArray, ...]
    ranks: IntArray
    member: BoolArray
    pieces: int
    status: str
    resolution: tuple[float, ...]
    evaluations: int
    seconds: float

    @property
    def area(self) -> float:
        """Length or area of the region: grid points inside times the cell's size."""
        return float(self.member.sum() * np.prod(self.resolution))

    @property
    def area_bracket(self) -> tuple[float, float]:
        """Length or area of the cells surely inside, and of all that touch a member."""
        cell = float(np.prod(self.resolution))
        inner, outer = ndimage.binary_erosion(self.member), ndimage.binary_dilation(self.member)
        return float(inner.sum() * cell), float(outer.sum() * cell)


def grid_of(
    fitted: FittedRegion,
    box: Any,
    *,
    points: int | tuple[int, ...] | None,
    levels: int | None,
) -> Grid:
    """Put a region on a grid; see `ConfidenceRegion.grid`."""
    d = fitted.n_parameters
    if d > 2:
        raise InvalidValueError(
            f"A grid needs a family with one or two parameters. Got {d} instead: use intervals() "
            "or band()."
        )
    counts = points if isinstance(points, Sequence) else (points,) * d
    if points is not None and not (len(counts) == d and all(_is_whole(n, 2) for n in counts)):
        raise InvalidValueError(
            f"must be an integer of 2 or more, or {d} of them. Got {points!r} instead.",
            parameter="points",
        )
    if levels is not None and not _is_whole(levels, 0):
        raise InvalidValueError(
            f"must be an integer of 0 or more. Got {levels!r} instead.", parameter="levels"
        )
    try:
        ends = box_around(outline_of(fitted)) if box is None else as_real(box)
    except (TypeError, ValueError):
        ends = np.empty(0)
    if not np.isfinite(ends).all() or ends.shape != (d, 2) or not (ends[:, 0] < ends[:, 1]).all():
        raise InvalidValueError(
            f"must have a finite (low, high) with low < high for each of the {d} "
            f"parameters. Got {box!r} instead.",
            parameter="box",
        )
    return evaluate_grid(
        fitted.rank_function(), fitted.accepted, ends, points=points, levels=levels
    )


def _is_whole(number: object, least: int) -> bool:
    is_integer = isinstance(number, Integral) and not isinstance(number, bool)
    return is_integer and int(cast(int, number)) >= least


def box_around(outline: Outline, margin: float = 0.2) -> FloatArray:
    """Return (low, high) of each parameter around the ends of all rays: shape (d, 2).

    A fifth of the length is left free on each side. Rays that never left are cut at three times the
    median length of those that did, and all at thirty times, so that the rest of the region can
    still be seen; where none left, at ten standard errors. Around an empty region there are four.
    """
    window = outline.window
    if outline.rays is None:
        axes = np.eye(len(window.origin))
        ends = window.theta(np.vstack([axes, -axes]) * 4)
    else:
        lengths = np.where(np.isfinite(outline.rays.outer), outline.rays.outer, np.nan)
        far = 3 * np.nanmedian(lengths) if np.isfinite(lengths).any() else 10.0
        lengths = np.minimum(np.where(np.isnan(lengths), far, lengths), 10 * far)
        ends = window.theta(outline.rays.directions * lengths[:, None])
    low, high = ends.min(axis=0), ends.max(axis=0)
    pad = margin * np.where(high > low, high - low, 1.0)
    box = np.column_stack([low - pad, high + pad])
    return np.asarray(np.clip(box, window.bounds[:, :1], window.bounds[:, 1:]))


def evaluate_grid(
    ranks: RankFunction,
    accepted: AcceptedRanks,
    box: FloatArray,
    *,
    points: int | tuple[int, ...] | None = None,
    levels: int | None = None,
) -> Grid:
    """Evaluate all points of a grid over the box, or 2^levels + 1 per axis near the boundary."""
    started, before = time.perf_counter(), ranks.evaluations
    first = 2**COARSE + 1 if points is None else points
    counts = (first,) * len(box) if isinstance(first, int) else first
    axes = _axes(box, counts)
    mesh = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=-1)
    found = ranks(mesh)[0].reshape(counts)
    member = accepted.holds(found)
    if points is None:
        for level in range(COARSE + 1, (LEVELS[len(box)] if levels is None else levels) + 1):
            axes = _axes(box, [2**level + 1] * len(box))
            found, member = _refine(ranks, accepted, axes, found, member)
    pieces = int(ndimage.label(member, structure=np.ones((3,) * member.ndim))[1])
    status = "empty" if not pieces else "disconnected" if pieces > 1 else "bounded"
    if pieces and _touches_open_edge(axes, member, ranks.bounds):
        status = "unbounded"
    spacing = tuple(float(axis[1] - axis[0]) for axis in axes)
    evaluations, seconds = ranks.evaluations - before, time.perf_counter() - started
    return Grid(axes, found, member, pieces, status, spacing, evaluations, seconds)


def _axes(box: FloatArray, counts: Sequence[int]) -> tuple[FloatArray, ...]:
    return tuple(np.linspace(ends[0], ends[1], n) for ends, n in zip(box, counts, strict=True))


def _refine(
    ranks: RankFunction,
    accepted: AcceptedRanks,
    axes: tuple[FloatArray, ...],
    coarse_ranks: IntArray,
    coarse_member: BoolArray,
) -> tuple[IntArray, BoolArray]:
    """Return ranks and membership on axes of twice the density."""
    shape = tuple(len(axis) for axis in axes)
    known = (slice(None, None, 2),) * len(axes)
    fine_ranks = np.zeros(shape, dtype=np.int64)
    fine_ranks[known] = coarse_ranks
    near_boundary = np.zeros(shape, dtype=np.bool_)
    lowest = ndimage.minimum_filter(coarse_member, 3)
    near_boundary[known] = lowest != ndimage.maximum_filter(coarse_member, 3)
    fine_member = coarse_member[np.ix_(*[np.arange(n) // 2 for n in shape])]
    where = np.nonzero(ndimage.maximum_filter(near_boundary, 3) & (fine_ranks == 0))
    if len(where[0]):
        theta = np.stack([axis[index] for axis, index in zip(axes, where, strict=True)], axis=-1)
        fine_ranks[where] = ranks(theta)[0]
        fine_member[where] = accepted.holds(fine_ranks[where])
    return fine_ranks, fine_member


def _touches_open_edge(axes: tuple[FloatArray, ...], member: BoolArray, bounds: FloatArray) -> bool:
    for dimension, (axis, (low, high)) in enumerate(zip(axes, bounds, strict=True)):
        first, last = member.take(0, dimension).any(), member.take(-1, dimension).any()
        if (first and axis[0] > low) or (last and axis[-1] < high):
            return True
    return False
