"""The information of columns as they are kept for sums."""

import numpy as np

from exactregion.data.sample import BLOCK_ROWS
from exactregion.engine.information import information_of_block, information_of_columns


def test_information_of_columns_has_the_bits_of_that_of_gradients():
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(BLOCK_ROWS, 5)).astype(np.float32)[:, 1:4]
    scale, p = np.array([0.5, 4.0, 1.0]), rng.uniform(size=BLOCK_ROWS)
    trials = rng.integers(0, 3, size=BLOCK_ROWS)
    gradient = np.ascontiguousarray((Phi * scale).T)[None]
    expected = information_of_block(gradient, p[None], trials)
    np.testing.assert_array_equal(information_of_columns(Phi, scale, p, trials), expected)
