"""Regions with one or two parameters on a grid, refined where membership changes."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.ranking import AcceptedRanks
from exactregion.region.outline import Outline
from exactregion.region.window import Probe

__all__ = ["Grid", "box_around", "full_grid", "refined_grid"]

COARSE = 4
"""The first grid has 2⁴ + 1 points an axis."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Ranks and membership on a regular grid of one or two parameters.

    Attributes
    ----------
    axes : tuple of ndarrays
        Values of each parameter on the grid.
    ranks : ndarray of shape (len(axes[0]), …)
        The rank where it was asked, 0 elsewhere.
    member : ndarray of the same shape
        Inside; between points asked it is that of their neighbours.
    pieces : int
        Number of connected pieces seen.
    status : {"bounded", "unbounded", "disconnected", "empty"}
        What kind of set the grid shows; unbounded if it touches an edge that is not a bound of the
        parameters. Ranks are whole numbers, so specks at the boundary count as pieces.
    resolution : tuple of float
        Spacing of the grid in each parameter.
    evaluations : int
        Number of θ asked.
    seconds : float
        Time taken.
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


def box_around(outline: Outline, margin: float = 0.2) -> FloatArray:
    """Give (low, high) of each parameter around all that the rays met: shape (d, 2).

    Rays that never left are followed to a few times the reach of those that did.
    """
    window = outline.window
    if outline.rays is None:
        reach = window.theta(
            np.vstack([np.eye(len(window.origin)), -np.eye(len(window.origin))]) * 4
        )
    else:
        ends = np.where(np.isfinite(outline.rays.outer), outline.rays.outer, np.nan)
        far = 3 * np.nanmedian(ends) if np.isfinite(ends).any() else 10.0
        lengths = np.minimum(np.where(np.isnan(ends), far, ends), 10 * far)
        reach = window.theta(outline.rays.directions * lengths[:, None])
    low, high = reach.min(axis=0), reach.max(axis=0)
    pad = margin * np.where(high > low, high - low, 1.0)
    box = np.column_stack([low - pad, high + pad])
    return np.asarray(np.clip(box, window.bounds[:, :1], window.bounds[:, 1:]))


def full_grid(
    probe: Probe, accepted: AcceptedRanks, box: FloatArray, points: int | tuple[int, ...]
) -> Grid:
    """Ask at every point of a grid with this many points an axis."""
    begun, asked = time.perf_counter(), probe.evaluations
    counts = (points,) * len(box) if isinstance(points, int) else points
    axes = tuple(np.linspace(ends[0], ends[1], n) for ends, n in zip(box, counts, strict=True))
    ranks = probe(_mesh(axes))[0].reshape(counts)
    cost = probe.evaluations - asked, time.perf_counter() - begun
    return _result(axes, ranks, accepted.holds(ranks), probe.bounds, cost)


def refined_grid(
    probe: Probe, accepted: AcceptedRanks, box: FloatArray, *, levels: int | None = None
) -> Grid:
    """Halve the spacing again and again, asking only next to where membership changes.

    Parameters
    ----------
    probe : Probe
        Ranks at θ.
    accepted : AcceptedRanks
        Which ranks are inside.
    box : ndarray of shape (1, 2) or (2, 2)
        (low, high) of each parameter.
    levels : int, optional
        The last grid has 2^levels + 1 points an axis: 8 for two parameters, 12 for one.
    """
    begun, asked = time.perf_counter(), probe.evaluations
    levels = (12 if len(box) == 1 else 8) if levels is None else levels
    axes = tuple(np.linspace(ends[0], ends[1], 2**COARSE + 1) for ends in box)
    ranks = probe(_mesh(axes))[0].reshape([len(axis) for axis in axes])
    member = accepted.holds(ranks)
    for level in range(COARSE + 1, levels + 1):
        axes = tuple(np.linspace(ends[0], ends[1], 2**level + 1) for ends in box)
        ranks, member = _refine(probe, accepted, axes, ranks, member)
    cost = probe.evaluations - asked, time.perf_counter() - begun
    return _result(axes, ranks, member, probe.bounds, cost)


def _mesh(axes: tuple[FloatArray, ...]) -> FloatArray:
    return np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=-1)


def _refine(
    probe: Probe,
    accepted: AcceptedRanks,
    axes: tuple[FloatArray, ...],
    ranks: IntArray,
    member: BoolArray,
) -> tuple[IntArray, BoolArray]:
    shape = tuple(len(axis) for axis in axes)
    coarse = tuple(slice(None, None, 2) for _ in axes)
    fine_ranks = np.zeros(shape, dtype=np.int64)
    fine_ranks[coarse] = ranks
    changes = ndimage.maximum_filter(member, 3) != ndimage.minimum_filter(member, 3)
    wanted = np.zeros(shape, dtype=np.bool_)
    wanted[coarse] = changes
    wanted = ndimage.maximum_filter(wanted, 3) & (fine_ranks == 0)
    near = np.ix_(*[np.arange(n) // 2 for n in shape])
    fine_member = member[near].copy()
    fine_member[coarse] = member
    where = np.nonzero(wanted)
    if len(where[0]):
        theta = np.stack([axis[index] for axis, index in zip(axes, where, strict=True)], axis=-1)
        fine_ranks[where] = probe(theta)[0]
        fine_member[where] = accepted.holds(fine_ranks[where])
    return fine_ranks, fine_member


def _result(
    axes: tuple[FloatArray, ...],
    ranks: IntArray,
    member: BoolArray,
    bounds: FloatArray,
    cost: tuple[int, float],
) -> Grid:
    structure = np.ones((3,) * member.ndim)
    pieces = int(ndimage.label(member, structure=structure)[1])
    status = "empty" if not pieces else "disconnected" if pieces > 1 else "bounded"
    if pieces and _touches_open_edge(axes, member, bounds):
        status = "unbounded"
    spacing = tuple(float(axis[1] - axis[0]) for axis in axes)
    return Grid(axes, ranks, member, pieces, status, spacing, *cost)


def _touches_open_edge(axes: tuple[FloatArray, ...], member: BoolArray, bounds: FloatArray) -> bool:
    for dimension, (axis, (low, high)) in enumerate(zip(axes, bounds, strict=True)):
        first, last = member.take(0, dimension).any(), member.take(-1, dimension).any()
        if (first and axis[0] > low) or (last and axis[-1] < high):
            return True
    return False
