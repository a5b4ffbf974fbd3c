"""A seed made from the data: repeatable, and another one for other data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from exactregion.data.sample import Sample
from exactregion.data.sources import Rows, Source

MOST = 10_000
"""Labels that are looked at: with more of them outcomes are numbers, and are refused."""


def seed_of(rows: Rows | Source) -> int:
    """Make a seed from inputs and outcomes, whatever the order of rows, the chunks and the labels.

    Rows are hashed one by one, and the hashes added: a sum does not depend on their order. There is
    one sum per label, and the labels are put in order at the end, so that "no" and "yes" have the
    seed of 0 and 1. Probabilities take part where they are the inputs; otherwise candidates for the
    same data have the same draws.
    """
    try:
        sums = digest(0, rows) if isinstance(rows, Rows) else rows.total(digest, lambda rows: None)
    except (TypeError, ValueError, AttributeError, IndexError):
        return 0  # not data: reading them raises the error that says why
    return _as_seed([sums[label] for label in sorted(sums)])


def seed_of_sample(sample: Sample) -> int:
    """Make a seed from a sample; of inputs that are not numbers, from their outcomes alone."""
    X = () if isinstance(sample.inputs.X, tuple) else (sample.inputs.matrix,)
    return _as_seed([_sum(_hashes(*X, sample.successes, sample.inputs.trials))])


def digest(index: int, rows: Rows) -> Counter[str]:
    """Add up the hashes of the rows of a chunk, by label."""
    inputs, outcomes = rows.p if rows.X is None else rows.X, list(_columns(rows.y))
    columns = list(_columns(inputs))
    if rows.X is None and len(columns) > 1:  # classes, whatever the order of their columns
        inputs = np.sort(np.stack(columns, axis=1), axis=1)
    if len(outcomes) != 1:
        return Counter({"counts": _sum(_hashes(inputs, *outcomes))})
    hashes, (labels, codes) = _hashes(inputs), np.unique(outcomes[0], return_inverse=True)
    sums = np.zeros(len(labels), dtype=np.uint64)
    np.add.at(sums, codes.ravel(), hashes)
    return Counter({str(label): int(sums[k]) for k, label in enumerate(labels[:MOST])})


def _as_seed(sums: list[int]) -> int:
    """Return 32 bits: short enough to be typed again."""
    return int(np.random.SeedSequence([total % 2**64 for total in sums]).generate_state(1)[0])


def _sum(hashes: npt.NDArray[np.uint64]) -> int:
    return int(hashes.sum(dtype=np.uint64))


def _hashes(*arrays: Any) -> npt.NDArray[np.uint64]:
    import pandas as pd

    columns = [column for values in arrays for column in _columns(values)]
    frame = pd.DataFrame(dict(enumerate(columns)))
    return np.asarray(pd.util.hash_pandas_object(frame, index=False), dtype=np.uint64)


def _columns(values: Any) -> Iterator[npt.NDArray[Any]]:
    """Yield columns whose hashes do not depend on how numbers are stored."""
    names = getattr(values, "columns", None)
    if names is not None:
        for name in names:
            yield from _columns(values[name])
        return
    array = np.asarray(values)
    if array.ndim == 2:
        for j in range(array.shape[1]):
            yield from _columns(array[:, j])
    elif array.dtype.kind in "buif":
        yield array.astype(np.float64) + 0.0  # -0.0 becomes 0.0
    elif array.dtype.kind in "mM":
        yield array.astype(np.int64)
    elif array.ndim == 1:
        yield np.array([str(value) for value in array.tolist()], dtype=object)
