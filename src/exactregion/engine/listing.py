"""Lists of the free labels of a chunk: those whose uniforms lie between limits of a window.

Uniforms are those that other engines draw: all take the bits of a block's generator in the same
order. Where blocks are drawn side by side, the labels at the origin come along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logit

from exactregion._typing import FloatArray, IntArray
from exactregion.data.sample import BLOCK_ROWS, number_of_block
from exactregion.engine.chunks import FEWEST_CODED, GROUP, MOST_CODED, room_for_codes
from exactregion.engine.free_labels import Free, FreeInBlock
from exactregion.resampling import Columns, Draws

__all__ = ["FreeBetween", "list_free"]

COUNT_ERROR = 1e-11
"""By how much thresholds of counts are moved outwards: ten times the error of SciPy's incomplete
beta function, which need not increase to the last digit."""

MOST_FREE = 2**18
"""Free labels of a block that are listed side by side with those of others: 64 MB for all lanes."""

MOST_PASSING = 0.8
"""If a larger share of the thresholds may pass a free label, all are gone through."""

SPARE = 10.0
"""Standard deviations by which there is more room for free labels than are expected."""


@dataclass(frozen=True, eq=False)
class FreeBetween:
    """Between which random numbers the labels of a block are free, for each threshold (c,).

    `at_origin` are the thresholds at the origin of the window.
    """

    columns: Columns
    low: IntArray
    high: IntArray
    at_origin: FloatArray

    @classmethod
    def of(
        cls, columns: Columns, low: FloatArray, high: FloatArray, at_origin: FloatArray
    ) -> FreeBetween:
        """Take smallest and largest probabilities (b,), and those at the origin."""
        from exactregion.engine.drawing import thresholds_of  # Numba is slow to import

        limits = columns.thresholds(np.stack([low, high]))
        if not columns.are_labels:
            limits *= np.array([[1 - COUNT_ERROR], [1 + COUNT_ERROR]])
        (middle,) = columns.thresholds(at_origin[None])
        return cls(columns, thresholds_of(limits[0]), thresholds_of(limits[1]), middle)

    @property
    def share(self) -> float:
        """Expected number of free labels per data set."""
        return float((self.high - self.low).sum(dtype=np.float64)) * 2.0**-53

    def found(self, free: Free, guard: Any = None, **known: Any) -> FreeInBlock:
        """Return free labels and what is known of the block.

        With a guard (c,), labels may be found by logits.
        """
        from exactregion.engine import drawing  # Numba is slow to import

        counts, uniforms, _ = free
        rows = self.columns.rows
        which: Any = slice(None)
        low, high = (
            drawing.number_below(limits * 2.0**-53, rows, counts, uniforms)
            for limits in (self.low, self.high)
        )
        may_pass = low < high
        if may_pass.mean() < MOST_PASSING:
            which = np.flatnonzero(may_pass).astype(np.int32)
        below = drawing.number_below(self.at_origin[which], rows[which], counts, uniforms)
        if guard is not None:
            known |= {"logits": logit(uniforms).astype(np.float32), "guard": guard[which]}
        return FreeInBlock(which, below, free, **known)


def list_free(
    blocks: Sequence[FreeBetween], draws: Draws, chunk: int
) -> tuple[list[Free], Any | None]:
    """List the free labels of all blocks of a chunk, whole blocks of labels side by side.

    Returned are also the labels of these at the origin, as `chunks.labels_of` takes them, if there
    is room for them.
    """
    first = number_of_block(chunk, slice(0, BLOCK_ROWS))
    number = sum(len(each.columns.trials) == BLOCK_ROWS for each in blocks)
    together: list[Free] = []
    codes = None
    are_coded = number >= FEWEST_CODED and draws.m <= MOST_CODED
    if are_coded and all(each.columns.are_labels for each in blocks[:number]):
        codes = room_for_codes(draws.m)
        together = _side_by_side(blocks[:number], draws, first, codes)
    if not together:
        codes = None
    rest = range(len(together), len(blocks))
    return together + [_alone(blocks[index], draws, first + index) for index in rest], codes


def _side_by_side(
    blocks: Sequence[FreeBetween], draws: Draws, first: int, codes: Any
) -> list[Free]:
    """List those of whole blocks of labels; none where they are many, or more than expected."""
    from exactregion.engine import drawing  # Numba is slow to import

    expected = draws.m * max(block.share for block in blocks)
    if expected > MOST_FREE:
        return []
    lanes = drawing.LANES
    low = np.zeros((lanes, BLOCK_ROWS), dtype=np.int64)
    width, middle = np.zeros_like(low), np.zeros_like(low)
    states = np.zeros((lanes, 4), dtype=np.uint64)
    for lane, block in enumerate(blocks):
        low[lane], width[lane] = block.low, block.high - block.low
        middle[lane] = drawing.thresholds_of(block.at_origin)
        states[lane] = drawing.state_of(draws.of_block(first + lane))
    capacity = int(expected + SPARE * np.sqrt(expected)) + 100
    found = drawing.room_for(lanes * capacity)
    row, uniform, owner = (array.reshape(lanes, capacity) for array in found)
    numbers = np.zeros(lanes, dtype=np.int64)
    is_enough = drawing.list_free(
        states.T.ravel(), low.T.ravel(), width.T.ravel().view(np.uint64), middle.T.ravel(),
        draws.seat, codes, row, uniform, owner, numbers,
    )  # fmt: skip
    if not is_enough:
        return []
    return [
        _sorted((row[lane, :size], uniform[lane, :size], owner[lane, :size]), BLOCK_ROWS, draws.m)
        for lane, size in enumerate(numbers[: len(blocks)])
    ]


def _alone(block: FreeBetween, draws: Draws, number: int) -> Free:
    """List those of one block."""
    from exactregion.engine import drawing  # Numba is slow to import

    columns, b = block.columns, len(block.columns.trials)
    K, room = np.empty((GROUP, b), dtype=np.float32), drawing.room_for(GROUP * b)
    state, observed, listed = drawing.state_of(draws.of_block(number)), np.zeros(b, np.float32), []
    for first in range(0, draws.m, GROUP):
        size = drawing.draw_known(
            state, columns.ends, block.low, block.low, block.high, observed, first, draws.seat,
            K[: draws.m - first], *room,
        )  # fmt: skip
        listed.append([array[:size].copy() for array in room])
    return _sorted([np.concatenate(part) for part in zip(*listed, strict=True)], b, draws.m)


def _sorted(parts: Sequence[Any], b: int, m: int) -> Free:
    """Sort rows, uniforms and data sets of the free labels of b rows."""
    from exactregion.engine import drawing  # Numba is slow to import

    first_of, uniforms, owner = drawing.sorted_by_row(b, *parts)
    owner_type = np.uint16 if m <= 2**16 else np.int32
    return np.diff(first_of).astype(owner_type), uniforms, owner.astype(owner_type)
