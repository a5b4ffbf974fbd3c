"""Sums of the gradient of the logit over many rows, where each θ has one of its own.

Of a logistic family the sums over known labels are the same for all θ of a window. Those of another
family have to be made anew, over all labels; so have those of any θ that is certain of an outcome,
where the gradient is zero. Labels at the origin of the window are drawn once for all θ of a pass,
and multiplied by the columns of all of them in one product; to each θ its free labels are added
that differ from those at the origin.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.data.sample import BLOCK_ROWS, Extent
from exactregion.engine.blocks import IMPOSSIBLE
from exactregion.engine.chunks import LabelsOfBlock, room_for_labels
from exactregion.engine.flips import TermSums
from exactregion.engine.information import information_of_block, scale_for
from exactregion.engine.shared import RowsAt
from exactregion.features.grid import add_products, grid_unit, on_grid, precision_of

__all__ = ["GradientSums", "largest_entries"]

FROM_ORIGIN = np.ones(1, dtype=np.int64)
"""The place of the origin, where it is the parent of a single θ."""

AT_ONCE = 8
"""θ whose columns in a block are worked on at once: 1 MB for four columns stays in the cache."""


class GradientSums:
    """Points, centre and information of T θ, by d columns of the gradient of each.

    The grid of a column depends on its largest entry in all rows, which is known at the end of the
    pass only. It is a power of two, nearly always the same for all θ of a window: that of a
    `guess` (T, d) is taken, and `is_wrong` says where it was not the right one. A last column finds
    the data sets that a θ rules out, if any θ may do so.
    """

    def __init__(self, guess: FloatArray, extent: Extent, m: int, *, may_be_certain: bool) -> None:
        T, d = guess.shape
        width = d + may_be_certain
        self.extent, self.m = extent, m
        self.largest = np.zeros((T, d))
        self.unit, self.scale = self._grid(guess)
        self.precision = precision_of(extent, guess)
        self.centre = np.zeros((T, d))
        self._at_origin, self._offsets = np.zeros((m, T * width)), np.zeros((T, m, width))
        self._information, self._in_chunk = np.zeros((2, T, d, d))
        self._certain = np.zeros(T, dtype=np.int64)
        self._columns = np.empty((BLOCK_ROWS, T, width), dtype=self.precision)
        self._labels = room_for_labels(m, extent, self.precision)

    def _grid(self, largest: FloatArray) -> tuple[FloatArray, FloatArray]:
        unit = grid_unit(largest, self.extent, self.m)
        return unit, scale_for(on_grid(largest, unit))

    @property
    def is_wrong(self) -> BoolArray:
        """At which θ the grid was not that of the largest entries: sums are of no use there."""
        unit, scale = self._grid(self.largest)
        return np.asarray(((unit != self.unit) | (scale != self.scale)).any(axis=1))

    def end_chunk(self) -> None:
        """Sum what is rounded within chunks first, as other engines do."""
        self._information = self._information + self._in_chunk
        self._in_chunk = np.zeros_like(self._in_chunk)

    def add(
        self, rows: RowsAt, gradient: Callable[[slice], FloatArray], labels: LabelsOfBlock
    ) -> None:
        """Add a block: `gradient` gives that of some θ (T', b, d), `labels` those at the origin."""
        from exactregion.engine import drawing  # Numba is slow to import

        T, b = rows.P.shape
        Phi, listed = self._columns[:b], rows.listed
        thresholds = rows.columns.thresholds(rows.P, listed.columns)
        of_columns = rows.columns.rows[listed.columns]
        exact = np.zeros(thresholds.shape[1], dtype=np.float32)
        for start in range(0, T, AT_ONCE):
            some = slice(start, start + AT_ONCE)
            columns = self._add_inputs(some, gradient(some), rows)
            Phi[:, some] = np.moveaxis(columns, 0, 1)
            for t, of_one in enumerate(columns, start):
                one = slice(t, t + 1)
                places = np.stack([listed.below] * 2)
                drawing.flip_free(
                    thresholds[one], np.zeros(0), of_columns, FROM_ORIGIN, places,
                    listed.free, exact, of_one, self._offsets[one],
                )  # fmt: skip
        for first, K in labels(rows.within, self._labels):
            add_products(self._at_origin[first : first + len(K)], K, Phi.reshape(b, -1))

    def of_term(self) -> TermSums:
        """Return the sums of the gradient, after all rows."""
        d = self.centre.shape[1]
        information = self._information + self._in_chunk
        zero, one = np.zeros((self.m, d)), np.ones(d)
        return TermSums(zero, self._points, 0, one, self.scale, self.centre, information)

    @property
    def is_ruled_out(self) -> BoolArray:
        """Which data sets have an outcome that a θ rules out: shape (T, m)."""
        counted = self._points[:, :, self.centre.shape[1] :].sum(axis=-1)
        return np.asarray(self._certain[:, None] + counted > 0)

    @property
    def _points(self) -> FloatArray:
        T, m, width = self._offsets.shape
        return self._offsets + np.moveaxis(self._at_origin.reshape(m, T, width), 1, 0)

    def _add_inputs(self, some: slice, gradient: FloatArray, rows: RowsAt) -> FloatArray:
        """Add to centre and information, and return the columns (T', b, …) of some θ."""
        P, trials = rows.P[some], rows.columns.trials
        more = []
        if self._offsets.shape[2] > gradient.shape[2]:
            gradient = np.where(((P > 0) & (P < 1))[:, :, None], gradient, 0.0)
            more.append(np.subtract(P < IMPOSSIBLE, P == 1, dtype=np.float64)[:, :, None])
            self._certain[some] += (P == 1) @ trials
        self.largest[some] = np.maximum(self.largest[some], largest_entries(gradient))
        columns = on_grid(gradient, self.unit[some, None])
        expected = (rows.mass[some, None] @ columns)[:, 0]  # which is exact
        self.centre[some] += on_grid(expected, self.unit[some] / 2)
        by_columns = np.array(np.moveaxis(columns, 1, 2), order="C")  # a copy, which is scaled
        by_columns *= self.scale[some, :, None]
        self._in_chunk[some] += information_of_block(by_columns, P, trials)
        return np.concatenate([columns, *more], axis=-1)


def largest_entries(gradient: FloatArray) -> FloatArray:
    """Return the largest size of each column of a gradient (T, b, d): shape (T, d)."""
    return np.asarray(np.abs(gradient).max(axis=1))
