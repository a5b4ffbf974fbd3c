"""Centre, information and variance over many rows with one input, from a few nodes.

Where the logit is a polynomial of one number s per row, probabilities are a smooth function of s.
Within a short cell it is given by its values at eight Chebyshev nodes, but for rounding errors. So
sums over rows of features times probabilities are sums over nodes, with weights that are the same
for all θ: they are found in one pass, and a θ needs no other. Weights depend on inputs alone, and
all m data sets have the same, so that ranks are exact whatever the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.polynomial.chebyshev import chebvander
from scipy.special import expit, logit

from exactregion._typing import BoolArray, FloatArray, IntArray

__all__ = ["Cells", "Nodes", "guard_of", "score_of"]

ORDER = 8
"""Nodes of a cell, and rows up to which a cell has its rows as nodes."""

CELLS_PER_SPREAD = 32
"""Cells between the quartiles of s."""

MOST_NODES = 2**16
"""Nodes of all cells: with more of them, little is saved."""

MOST_CHANGE = 0.25
"""How far the logit may be at the ends of a cell from that in the middle: a probability is wrong by
less than 1e-9 then, with either sign."""

MOST_LOGIT = 30.0
"""The largest logit at a node: no outcome is certain then."""

LARGEST_LOGIT = 37.0
"""The largest logit of a uniform, which is a multiple of 2⁻⁵³, unless it is 0."""

UNITS = np.cos(np.pi * (np.arange(ORDER) + 0.5) / ORDER)
"""The nodes of a cell that reaches from -1 to 1."""

FROM_POLYNOMIALS = chebvander(UNITS, ORDER - 1).T * np.where(np.arange(ORDER) > 0, 2, 1)[:, None]
FROM_POLYNOMIALS /= ORDER
"""Turns values of Chebyshev polynomials at a place into the weights of the nodes there."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Cells of equal width along one input, and the nodes that stand for their rows.

    Attributes
    ----------
    start, width : float
        Where cell 0 begins, and how wide each is.
    crowded : ndarray of shape (C,)
        Numbers of the cells with more rows than nodes, ascending.
    scores : ndarray of shape (8 C + S,)
        The nodes of these cells, then the rows of all others.
    powers : ndarray of shape (d,)
        The logit is Σ_k θ_k s^powers[k].
    """

    start: float
    width: float
    crowded: IntArray
    scores: FloatArray
    powers: IntArray

    @classmethod
    def of(cls, sample: FloatArray, designs: Callable[[], Iterable[FloatArray]]) -> Cells | None:
        """Choose cells by the designs (b, d) of all blocks, and by a `sample` of them.

        None where they are not powers of one number, or where nodes are too many.
        """
        powers = powers_of(sample)
        if powers is None:
            return None
        low, high = np.quantile(score_of(sample), [0.25, 0.75])
        found = cls(
            low, ((high - low) or 1.0) / CELLS_PER_SPREAD, powers[:0], sample[:0, 0], powers
        )
        cells, rows = np.zeros((2, 0), dtype=np.int64)
        for design in designs():
            here = found.of_rows(score_of(design))
            if here is None or powers_of(design) is None:
                return None
            cells, place = np.unique(np.concatenate([cells, here]), return_inverse=True)
            rows = np.bincount(place, np.concatenate([rows, np.ones(len(here))]))
            if np.minimum(rows, ORDER).sum() > MOST_NODES:
                return None
        crowded = cells[rows > ORDER]
        middle = low + found.width * (crowded + 0.5)
        scores = [(middle[:, None] + found.width / 2 * UNITS).ravel()]
        for design in designs():
            score = score_of(design)
            cell = found.of_rows(score)
            assert cell is not None
            scores.append(score[~np.isin(cell, crowded)])
        return cls(low, found.width, crowded, np.concatenate(scores), powers)

    def of_rows(self, score: FloatArray) -> IntArray | None:
        """Return the numbers of the cells of some rows; None where they are too large."""
        with np.errstate(over="ignore"):
            number = np.floor((score - self.start) / self.width)
        return number.astype(np.int64) if bool((np.abs(number) < 2**52).all()) else None

    def weights(self, score: FloatArray, rows_before: int) -> tuple[IntArray, FloatArray]:
        """Return the first node (b,) of the cells of a block of rows, and weights of its nodes.

        Rows that are nodes themselves are numbered after `rows_before` others of this kind, and
        have no weight at the nodes that follow.
        """
        cell = self.of_rows(score)
        assert cell is not None
        place = np.searchsorted(self.crowded, cell)
        is_crowded = np.append(self.crowded, cell.max() + 1)[place] == cell
        first = np.where(is_crowded, ORDER * place, 0)
        alone = ~is_crowded
        first[alone] = ORDER * len(self.crowded) + rows_before + np.arange(np.count_nonzero(alone))
        within = 2 * ((score - self.start) / self.width - cell) - 1
        weights = chebvander(within, ORDER - 1) @ FROM_POLYNOMIALS
        weights[alone] = np.eye(ORDER)[0]
        return first, weights

    def polynomial(self, theta: FloatArray) -> FloatArray:
        """Return the coefficients of the logit of each θ, of ascending powers of s: (T, e)."""
        coefficients = np.zeros((len(theta), int(self.powers[-1]) + 1))
        coefficients[:, self.powers] = theta
        return coefficients

    def suit(self, theta: FloatArray) -> BoolArray:
        """Return at which θ (T, d) probabilities are those of the nodes, and none is certain."""
        coefficients = self.polynomial(theta)
        in_cells = np.abs(self.scores[: ORDER * len(self.crowded)]).max(initial=0.0)
        powers = np.arange(1, coefficients.shape[1])
        with np.errstate(over="ignore", invalid="ignore"):
            slope = np.abs(coefficients[:, 1:]) @ (powers * in_cells ** (powers - 1))
            logits = polynomials(coefficients, self.scores)
            largest = np.abs(logits).max(axis=1)
        suited: BoolArray = (slope * self.width / 2 <= MOST_CHANGE) & (largest <= MOST_LOGIT)
        return suited


@dataclass(frozen=True, eq=False)
class Nodes:
    """Weights of nodes, for the columns of a plan in units, and for products of columns."""

    cells: Cells
    of_columns: FloatArray
    of_products: FloatArray

    @classmethod
    def of(cls, cells: Cells, blocks: Iterable[tuple[FloatArray, FloatArray, FloatArray]]) -> Nodes:
        """Sum over blocks of rows, by their scores (b,), columns (b, r) and products (b, q)."""
        from exactregion.engine.compiled import add_weighted  # Numba is slow to import

        found: list[FloatArray] = []
        rows = 0
        for score, *values in blocks:
            first, weights = cells.weights(score, rows)
            rows += int(np.count_nonzero(first >= ORDER * len(cells.crowded)))
            # the last rows that are nodes have no others after them
            size = len(cells.scores) + ORDER
            found = found or [np.zeros((size, each.shape[1])) for each in values]
            for each, total in zip(values, found, strict=True):
                add_weighted(first, weights, each, total)
        return cls(cells, *(total[: len(cells.scores)] for total in found))

    def at(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the sums of columns times p, (T, r), and of products times p (1 - p), (T, q).

        The former are rounded to half units, as by other engines, so that points and their mirror
        images under p = 1/2 are as far from the centre.
        """
        from exactregion.engine.compiled import sum_weighted  # Numba is slow to import

        P = expit(polynomials(self.cells.polynomial(theta), self.cells.scores))
        centre = np.zeros((len(P), self.of_columns.shape[1]))
        products = np.zeros((len(P), self.of_products.shape[1]))
        sum_weighted(P, self.of_columns, centre)
        sum_weighted(P * (1 - P), self.of_products, products)
        return np.rint(2 * centre) / 2, products


def polynomials(coefficients: FloatArray, scores: FloatArray) -> FloatArray:
    """Evaluate polynomials (T, e), of ascending powers, at scores (b,): shape (T, b)."""
    found = np.empty((len(coefficients), len(scores)))
    found[:] = coefficients[:, -1:]
    for power in range(coefficients.shape[1] - 2, -1, -1):
        found *= scores
        found += coefficients[:, power, None]
    return found


def guard_of(low: FloatArray, high: FloatArray, size: FloatArray) -> FloatArray:
    """Bound how far computed logits may be from those of θ, and of uniforms, in each row.

    Probabilities are from `low` to `high`, and the summands of a logit are at most `size`. Logits
    of uniforms are rounded to single precision. A rounding error of a probability p is one of its
    logit that is 1 / (1 - p) times as large, where θ that suit the nodes have 1 - p > 2⁻⁴⁴.
    """
    largest = np.minimum(np.maximum(np.abs(logit(low)), np.abs(logit(high))), LARGEST_LOGIT)
    guard = 2.0**-22 * largest + 2.0**-46 * (1 + size) + 2.0**-48 / np.maximum(1 - high, 2.0**-44)
    return np.minimum(guard, 2.0**100).astype(np.float32)


def score_of(design: FloatArray) -> FloatArray:
    """Return the number that the columns of a design (b, d) are powers of."""
    return design[:, min(1, design.shape[1] - 1)]


def powers_of(design: FloatArray) -> IntArray | None:
    """Return which powers of one number the columns of a design are; None if they are others."""
    d = design.shape[1]
    if d == 1:
        return np.ones(1, dtype=np.int64)
    score = score_of(design)
    with np.errstate(over="ignore"):
        same = all(np.array_equal(design[:, power], score**power) for power in range(d))
    return np.arange(d) if same else None
