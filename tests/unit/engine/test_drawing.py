"""Labels that are drawn side by side are those that each generator draws alone."""

import numpy as np
import pytest

from exactregion.data.sample import BLOCK_ROWS, CHUNK_ROWS
from exactregion.engine import chunks, drawing, listing
from exactregion.resampling import Columns, Draws


def labels_of(drawn, chunk, m, group=chunks.GROUP):
    """Collect the labels (m, n) that a chunk is given, block by block."""
    found = np.full((m, len(chunk.p)), -1.0)
    buffer = np.empty(min(m, group) * BLOCK_ROWS, dtype=np.float32)
    for start in range(0, len(chunk.p), BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, len(chunk.p)))
        for first, K in drawn(rows, buffer):
            found[first : first + len(K), rows] = K
    return found


def a_chunk(n):
    rng = np.random.default_rng(n)
    p = rng.uniform(size=n)
    p[:4] = [0.0, 1.0, 1e-300, 2.0**-53]
    trials = np.ones(n, dtype=np.int64)
    trials[7] = 0
    return chunks.Chunk(3, p[:, None], trials, (rng.uniform(size=n) < p) * trials, p)


def test_there_is_a_lane_for_each_block_of_a_chunk():
    assert drawing.LANES * BLOCK_ROWS == CHUNK_ROWS


def test_few_trials_are_drawn_as_many():
    """Comparing with each threshold finds the quantiles that sorted uniforms give."""
    n, m, rng = BLOCK_ROWS + 50, 70, np.random.default_rng(1)
    trials, p = rng.integers(0, 6, size=n), rng.uniform(size=n)
    p[:4], trials[:4] = [0.0, 1.0, 1e-300, 2.0**-53], 3
    chunk = chunks.Chunk(3, p[:, None], trials, rng.binomial(trials, p), p)
    draws = Draws(m - 1, 12345)
    few = labels_of(chunks._FewTrials(chunk, draws), chunk, m)
    many = labels_of(chunks._Counts(chunk, draws), chunk, m, group=m)
    np.testing.assert_array_equal(few, many)


@pytest.mark.parametrize("n", [CHUNK_ROWS, 5 * BLOCK_ROWS + 100, BLOCK_ROWS, 50])
@pytest.mark.parametrize("m", [2, 70])
def test_blocks_are_drawn_side_by_side_as_alone(n, m):
    chunk, draws = a_chunk(n), Draws(m - 1, 12345)
    alone = labels_of(chunks._Labels(chunk, draws), chunk, m)
    together = labels_of(chunks._CodedLabels(chunk, draws), chunk, m)
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(alone[draws.seat], chunk.successes)
    for start in range(0, n, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        number = chunk.index * drawing.LANES + start // BLOCK_ROWS
        U = draws.of_block(number).random((m - 1, len(chunk.p[block])))
        others = np.delete(alone, draws.seat, axis=0)[:, block]
        np.testing.assert_array_equal(others, chunk.p[block] * chunk.trials[block] > U)


@pytest.mark.parametrize("number", [16, 5])
def test_free_labels_are_listed_side_by_side_as_alone(number):
    rng, draws = np.random.default_rng(2), Draws(69, 12345)
    low = rng.uniform(size=(number, BLOCK_ROWS))
    low[0, :2] = 0.0, 1.0
    high = np.minimum(low + rng.uniform(0, 0.05, size=low.shape), 1.0)
    columns = Columns(np.ones(BLOCK_ROWS, dtype=np.int64))
    middle = low + rng.uniform(size=low.shape) * (high - low)
    limits = zip(low, high, middle, strict=True)
    blocks = [listing.FreeBetween.of(columns, *of_block) for of_block in limits]
    listed, codes = listing.list_free(blocks, draws, chunk=2)
    together = listing._side_by_side(blocks, draws, 2 * drawing.LANES, np.zeros_like(codes))
    assert len(together) == number
    for index, (one, other) in enumerate(zip(listed, together, strict=True)):
        alone = listing._alone(blocks[index], draws, 2 * drawing.LANES + index)
        for found, expected in zip((*one, *other), (*alone, *alone), strict=True):
            np.testing.assert_array_equal(found, expected)
        U = draws.of_block(2 * drawing.LANES + index).random((69, BLOCK_ROWS))
        free = (low[index] <= U) & (high[index] > U)
        np.testing.assert_array_equal(alone[0], free.sum(axis=0))
        labels = np.empty((70, BLOCK_ROWS), dtype=np.float32)
        drawing.spread_codes(codes[index], labels)
        np.testing.assert_array_equal(np.delete(labels, draws.seat, axis=0), middle[index] > U)
