"""Labels that differ between the candidates of an analysis, and sums of all others.

A search looks at candidates near one another. If the probabilities of a row stay between two
bounds, a resampled label of that row is *known* where its uniform lies outside of them, and *free*
where it lies between them. Of n·m labels only about 10·m·√n are free within a few standard errors
of an estimate: after one pass over the rows, a candidate costs what its free labels cost, however
many rows there are. Where data are few, all labels are free, and no pass is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray
from exactregion.data.sample import BLOCK_ROWS, blocks
from exactregion.engine.chunks import GROUP
from exactregion.features.grid import add_products
from exactregion.features.threads import single_thread
from exactregion.resampling import Columns, Resampling

__all__ = ["FreeLabels", "same_features"]

Bounds = tuple[FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class FreeLabels:
    """The uniforms of free labels, sorted by row and size, and points of the known labels.

    Attributes
    ----------
    resampling : Resampling
        Outcomes and draws.
    bounds : pair of ndarrays of shape (n,), optional
        Smallest and largest probability of each row. Without them all labels are free.
    """

    resampling: Resampling
    bounds: Bounds | None = None
    _known: list[tuple[Any, FloatArray]] = field(default_factory=list, repr=False)
    _listed: list[tuple[Any, FloatArray, Any]] = field(default_factory=list, repr=False)

    @cached_property
    def columns(self) -> Columns:
        """The thresholds of all rows."""
        return Columns(self.resampling.sample.inputs.trials)

    @cached_property
    def limits(self) -> FloatArray | None:
        """Smallest and largest threshold of each column: shape (2, columns)."""
        return None if self.bounds is None else self.columns.thresholds(np.stack(self.bounds))

    def holds(self, thresholds: FloatArray) -> BoolArray:
        """Return which candidates have all their thresholds (T, columns) within the limits."""
        if self.limits is None:
            return np.ones(len(thresholds), dtype=np.bool_)
        low, high = self.limits
        return np.array([bool((low <= q).all() and (q <= high).all()) for q in thresholds])

    @cached_property
    def may_have_zero(self) -> bool:
        """Whether a uniform may be 0, below every probability; known labels do not keep theirs."""
        return self.limits is not None or not self.arrays[1].all()

    @property
    def arrays(self) -> tuple[Any, FloatArray, Any]:
        """Where the uniforms of each data row begin, uniforms in ascending order, their data sets.

        Of shapes (n + 1,), (F,) and (F,).
        """
        if not self._listed:
            self._listed.append(self._all_uniforms())
        return self._listed[0]

    def _all_uniforms(self) -> tuple[Any, FloatArray, Any]:
        parts = [self.resampling.uniforms(rows).T for rows in blocks(len(self.resampling.sample))]
        U = np.concatenate(parts)
        order = np.argsort(U, axis=1)
        owner = order + (order >= self.resampling.seat)  # the original sits among them
        first = U.shape[1] * np.arange(len(U) + 1)
        sorted_uniforms = np.take_along_axis(U, order, axis=1)
        # half the size of the usual integers: there are as many as labels
        owners: Any = owner.astype(np.int32).ravel()
        return first, sorted_uniforms.ravel(), owners

    def is_known(self, features: Any) -> bool:
        """Return whether features were summed before."""
        return any(same_features(known, features) for known, _ in self._known)

    def known(self, features: Any) -> FloatArray:
        """Sum features (n, r) over known labels: the points of all data sets, (m, r)."""
        self.sum_known([features])
        return next(points for known, points in self._known if same_features(known, features))

    def sum_known(self, features: Sequence[Any]) -> None:
        """Sum several features in one pass, those that were not summed before."""
        new = [each for each in features if not self.is_known(each)]
        if not new:
            return
        if self.limits is None:
            sample, seat = self.resampling.sample, self.resampling.seat
            for each in new:
                points = np.zeros((self.resampling.m, each.shape[1]))
                points[seat] = each.T @ sample.successes.astype(np.float64)
                self._known.append((each, points))
            return
        # several terms may have the same features
        new = [one for k, one in enumerate(new) if not any(same_features(one, o) for o in new[:k])]
        ends = np.cumsum([each.shape[1] for each in new])
        points = self._pass(new, int(ends[-1]))
        self._known.extend(zip(new, np.split(points, ends[:-1], axis=1), strict=True))

    def _pass(self, features: Sequence[FloatArray], width: int) -> FloatArray:
        """Go through all rows once: list free labels, and sum features (m, width) over the others.

        Labels are those that `Resampling` draws, since both take the bits of a block's generator in
        the same order; see `drawing.draw_known`.
        """
        from exactregion.engine import drawing  # Numba is slow to import

        resampling, limits = self.resampling, self.limits
        assert limits is not None
        trials, successes = resampling.sample.inputs.trials, resampling.sample.successes
        low, high = (drawing.thresholds_of(each) for each in limits)
        ends = self.columns.ends
        precision = np.result_type(*features)
        points = np.zeros((resampling.m, width))
        K = np.empty(GROUP * BLOCK_ROWS, dtype=precision)
        found = drawing.room_for(GROUP * BLOCK_ROWS)
        listed: list[tuple[Any, FloatArray, Any]] = []
        with single_thread():
            for rows in blocks(len(trials)):
                b = rows.stop - rows.start
                Phi = np.concatenate([each[rows] for each in features], axis=1, dtype=precision)
                state = drawing.state_of(resampling.draws.of_block(rows.start // BLOCK_ROWS))
                columns = ends[rows.start : rows.stop + 1]
                here = slice(columns[0], columns[-1])
                observed = successes[rows].astype(precision)
                in_block = []
                for first in range(0, resampling.m, GROUP):
                    q = min(GROUP, resampling.m - first)
                    labels = K[: q * b].reshape(q, b)
                    number = drawing.draw_known(
                        state,
                        columns - columns[0],
                        low[here],
                        low[here],
                        high[here],
                        observed,
                        first,
                        resampling.seat,
                        labels,
                        *found,
                    )
                    in_block.append([array[:number].copy() for array in found])
                    add_products(points[first : first + q], labels, Phi)
                if not self._listed:
                    parts = [np.concatenate(part) for part in zip(*in_block, strict=True)]
                    listed.append(drawing.sorted_by_row(b, *parts))
        if not self._listed:
            numbers = np.concatenate([[0], *(np.diff(first) for first, _, _ in listed)])
            uniforms = np.concatenate([part for _, part, _ in listed])
            owner = np.concatenate([part for _, _, part in listed])
            self._listed.append((np.cumsum(numbers), uniforms, owner))
        return points


def same_features(one: Any, other: Any) -> bool:
    """Return whether two arrays of features are the same; sparse ones only if they are one."""
    if one is other:
        return True
    arrays = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
    return arrays and np.array_equal(one, other)
