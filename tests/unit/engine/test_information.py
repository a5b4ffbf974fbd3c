"""The information of columns as they are kept for sums."""

import numpy as np

from exactregion.data.sample import BLOCK_ROWS
from exactregion.engine.information import information_of_block, information_of_columns


def test_information_of_columns_has_the_bits_of_that_of_gradients():
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(BLOCK_ROWS, 5)).astype(np.float32)[:, 1:4]
    scale, P = np.array([0.5, 4.0, 1.0]), rng.uniform(size=(30, BLOCK_ROWS))
    trials = rng.integers(0, 3, size=BLOCK_ROWS)
    gradient = np.ascontiguousarray((Phi * scale).T)[None]
    for some in (P, P[:1], P[:1, :7], P[:, :1], P[:, :300]):
        here = slice(some.shape[1])
        every = np.broadcast_to(gradient[:, :, here], (len(some), 3, some.shape[1]))
        expected = information_of_block(every, some, trials[here])
        for columns in (Phi[here], np.asfortranarray(Phi[here])):
            found = information_of_columns(columns, scale, some, trials[here])
            np.testing.assert_array_equal(found, expected)
