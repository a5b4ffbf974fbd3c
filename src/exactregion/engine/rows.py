"""The rows of a family, a block at a time: design, probabilities, features, and nodes for them.

All of that depends on inputs alone. Features are kept in a temporary file, in two bytes each, if
there is room for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.sample import CHUNK_ROWS, Sample, blocks
from exactregion.data.sources import release, scratch
from exactregion.engine.chunks import ChunkPlan
from exactregion.engine.flips import has_short_multiples
from exactregion.engine.nodes import Cells, Nodes, score_of
from exactregion.engine.shared import Products
from exactregion.engine.terms import flat
from exactregion.features.grid import on_grid, squared_lengths
from exactregion.features.landmarks import Landmarks, sample_rows
from exactregion.features.threads import single_thread
from exactregion.models.base import Model

__all__ = ["Rows", "as_table"]

KEPT_BYTES = 2**30
"""Features of several inputs take 6 µs per row to compute, a pass over the rest less than one: they
are kept in a temporary file of up to a gigabyte, as multiples of their unit in two bytes. Those of
one input are kept too: reading them takes a fifth of the time of computing them."""


@dataclass(frozen=True, eq=False)
class _Kept:
    """Columns of all terms of a plan, as multiples (n, r) of their units, and squared lengths (n,).

    The latter are those of each term whose columns are not multiplied with each other.
    """

    plan: ChunkPlan
    multiples: Any
    lengths: list[Any | None]


@dataclass(frozen=True, eq=False)
class Rows:
    """A sample of many rows, and a family whose link is known."""

    model: Model
    sample: Sample
    _kept: list[_Kept] = field(default_factory=list, init=False, repr=False)
    _nodes: list[tuple[ChunkPlan, Nodes]] = field(default_factory=list, init=False, repr=False)

    def chunks(self) -> Iterator[tuple[int, slice]]:
        """Go through the chunks of rows, with their numbers."""
        n = len(self.sample)
        for index, start in enumerate(range(0, n, CHUNK_ROWS)):
            yield index, slice(start, min(start + CHUNK_ROWS, n))

    def blocks(self) -> Iterator[tuple[int, slice]]:
        """Go through all blocks of rows, with the number of their chunk."""
        for chunk, rows in self.chunks():
            for within in blocks(rows.stop - rows.start):
                yield chunk, slice(rows.start + within.start, rows.start + within.stop)
            self.release()

    def release(self) -> None:
        """Release the pages of inputs, outcomes and features that were read."""
        inputs, successes = self.sample.inputs, self.sample.successes
        for array in (inputs.X, inputs.trials, successes, *self._kept_arrays):
            release(array)

    @cached_property
    def largest_entries(self) -> FloatArray:
        """The largest size of each column of the design: shape (d,)."""
        parts = [np.abs(self.design(rows)).max(axis=0) for _, rows in self.blocks()]
        return np.asarray(np.max(parts, axis=0))

    def inputs(self, rows: slice) -> FloatArray:
        """Return the inputs of some rows, without what a memory map adds to an array."""
        X: Any = self.sample.inputs.X
        return np.asarray(X[rows])

    def design(self, rows: slice) -> FloatArray:
        """Return the rows of the linear predictor."""
        return np.asarray(self.model.linear_design(self.inputs(rows)))

    def score(self, rows: slice) -> FloatArray:
        """Return the number that the columns of the design are powers of, where there are cells."""
        return np.asarray(self._scores[rows])

    @cached_property
    def _scores(self) -> Any:
        """Scores of all rows, kept in a temporary file: a logit takes longer than to read it."""
        found = scratch((len(self.sample),), np.float64)
        for _, rows in self.blocks():
            found[rows] = score_of(self.design(rows))
        return found

    def gradient(self, theta: FloatArray, rows: slice) -> FloatArray:
        """Return the gradient of the logit at θ (T, d): shape (T, b, d), or (1, b, d) for all."""
        if self.model.has_constant_gradient:
            return self.design(rows)[None]
        gradient = self.model.logit_gradient(theta, self.inputs(rows))
        return np.where(np.isfinite(gradient), gradient, 0.0)

    def at_some(self, theta: FloatArray, rows: slice) -> Callable[[slice], FloatArray]:
        """Return what evaluates the family at some of θ."""
        on_rows: Any = self.model.on_rows(self.inputs(rows))
        return lambda some: on_rows(theta[some])

    def gradient_of_some(self, theta: FloatArray, rows: slice, some: slice) -> FloatArray:
        """Return the gradient at some of θ."""
        return self.gradient(theta[some], rows)

    def multiples(self, plan: ChunkPlan, rows: slice) -> Any:
        """Return the columns of all terms in multiples of their units: shape (b, r)."""
        kept = self._kept_for(plan)
        if kept is not None:
            return np.asarray(kept.multiples[rows])
        dtype = np.int16 if has_short_multiples(plan) else np.float64
        found = np.empty((rows.stop - rows.start, plan.width), dtype)
        terms = zip(flat(plan.terms), plan.columns_of_terms, plan.units, strict=True)
        for term, columns, unit in terms:
            found[:, columns] = self._values(term.columns, unit, rows) / unit
        return found

    def lengths(self, plan: ChunkPlan, rows: slice) -> list[FloatArray | None]:
        """Return the squared lengths (b,) of the columns of each term, if they were kept."""
        kept = self._kept_for(plan)
        if kept is None:
            return [None] * len(plan.units)
        return [None if each is None else np.asarray(each[rows]) for each in kept.lengths]

    def probabilities(self, theta: FloatArray, rows: slice) -> FloatArray:
        """Evaluate the family at θ (T, d) on some rows."""
        on_rows: Any = self.model.on_rows(self.inputs(rows))
        found: FloatArray = on_rows(theta)
        return found

    def probabilities_of(self, theta: FloatArray, which: IntArray, row: IntArray) -> FloatArray:
        """Evaluate the family at theta[which], each on one row."""
        found = np.empty(len(row))
        for t in np.unique(which):
            some = which == t
            X: Any = self.sample.inputs.X
            on_rows: Any = self.model.on_rows(np.asarray(X[row[some]]))
            found[some] = on_rows(theta[t, None])[0]
        return found

    def keep(self, plan: ChunkPlan) -> None:
        """Compute the columns of a plan once and keep them, if there is room for them."""
        n = len(self.sample)
        if self._kept_for(plan) is not None or not has_short_multiples(plan):
            return
        if not 0 < 2 * n * plan.width <= KEPT_BYTES:
            return
        pairs = Products.of(plan).pairs
        lengths = [scratch((n,), np.float64) if of_term == [] else None for of_term in pairs]
        kept = _Kept(plan, scratch((n, plan.width), np.int16), lengths)
        self._kept[:] = [*self._kept[-1:], kept]
        terms = zip(flat(plan.terms), plan.columns_of_terms, plan.units, lengths, strict=True)
        parts = list(terms)
        with single_thread():
            for _, rows in self.blocks():
                for term, columns, unit, of_term in parts:
                    values = self._values(term.columns, unit, rows)
                    kept.multiples[rows, columns] = values / unit
                    if of_term is not None:
                        of_term[rows] = squared_lengths(values)

    def _values(self, columns: Any, unit: FloatArray, rows: slice) -> FloatArray:
        """Compute the columns of a term in some rows, on the grid: shape (b, r)."""
        if isinstance(columns, Landmarks):
            return columns.on_grid(as_table(self.inputs(rows)), unit, np.float64)
        found: FloatArray = on_grid(self.design(rows), unit)
        return found

    def _kept_for(self, plan: ChunkPlan) -> _Kept | None:
        return next((kept for kept in self._kept if kept.plan is plan), None)

    @property
    def _kept_arrays(self) -> list[Any]:
        arrays = [self._scores] if "_scores" in self.__dict__ else []
        for kept in self._kept:
            arrays += [kept.multiples, *(each for each in kept.lengths if each is not None)]
        return arrays

    @cached_property
    def cells(self) -> Cells | None:
        """Cells along the only input of a logistic family, if there are labels only."""
        inputs = self.sample.inputs
        if not self.model.has_constant_gradient or inputs.extent.row_trials > 1:
            return None
        some = self.model.linear_design(inputs.X[np.sort(sample_rows(len(inputs)))])
        return Cells.of(np.asarray(some), lambda: (self.design(rows) for _, rows in self.blocks()))

    def suited(self, theta: FloatArray) -> BoolArray:
        """Return for which θ (T, d) sums over rows are those of the nodes."""
        no: BoolArray = np.zeros(len(theta), dtype=np.bool_)
        return no if self.cells is None else self.cells.suit(theta)

    def nodes_of(self, plan: ChunkPlan) -> Nodes | None:
        """Return the weights of nodes for a plan; None without cells."""
        if self.cells is None:
            return None
        found = next((nodes for known, nodes in self._nodes if known is plan), None)
        if found is None:
            self.keep(plan)
            found = Nodes.of(self.cells, self._weighted(plan))
            self._nodes[:] = [*self._nodes[-1:], (plan, found)]
        return found

    def _weighted(self, plan: ChunkPlan) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
        """Go through the scores, columns in units and products of columns of all blocks."""
        products = Products.of(plan)
        left, right = products.factors
        for _, rows in self.blocks():
            multiples = self.multiples(plan, rows)
            values = products.values(multiples, self.lengths(plan, rows))
            yield self.score(rows), multiples.astype(np.float64), (values[left] * values[right]).T


def as_table(X: FloatArray) -> FloatArray:
    """Return inputs as rows of a table, (b, d)."""
    return np.asarray(X).reshape(len(X), -1)
