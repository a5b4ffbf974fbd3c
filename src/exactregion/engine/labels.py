"""Compiled loop that draws the labels of alternatives, as NumPy's generator would, in one go.

NumPy's uniforms are U = ⌊x / 2¹¹⌋ / 2⁵³ of 64 random bits x. So U < p is the same as ⌊x / 2¹¹⌋ <
⌈2⁵³ p⌉, and the uniforms need not be made: the bits of SFC64 are compared as they come.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from exactregion._typing import FloatArray

__all__ = ["draw_labels", "thresholds_of"]


def thresholds_of(p: FloatArray) -> Any:
    """⌈2⁵³ p⌉, exactly: shape (b,), unsigned."""
    return np.ceil(np.ldexp(p, 53)).astype(np.uint64)


@numba.njit(cache=True, nogil=True)
def draw_labels(state: Any, thresholds: Any, observed: Any, seat: int, K: Any) -> None:
    """Fill the labels K (q, b) of q data sets, a row after the other.

    Parameters
    ----------
    state : ndarray of shape (4,), unsigned
        State of SFC64; it moves on.
    thresholds : ndarray of shape (b,), unsigned
        A label is 1 where the random number is below.
    observed : ndarray of shape (b,)
        Labels of the original.
    seat : int
        The original's row in K, or -1.
    K : ndarray of shape (q, b)
        Where the labels go.
    """
    a, b, c, count = state[0], state[1], state[2], state[3]
    one, three, eleven = np.uint64(1), np.uint64(3), np.uint64(11)
    left, right = np.uint64(24), np.uint64(40)
    for i in range(K.shape[0]):
        if i == seat:
            for j in range(K.shape[1]):
                K[i, j] = observed[j]
            continue
        for j in range(K.shape[1]):
            x = a + b + count
            count += one
            a = b ^ (b >> eleven)
            b = c + (c << three)
            c = ((c << left) | (c >> right)) + x
            K[i, j] = (x >> eleven) < thresholds[j]
    state[0], state[1], state[2], state[3] = a, b, c, count
