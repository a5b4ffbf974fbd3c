"""Arguments of `segment_test` as users give them, checked, and segments that know the outcome."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from exactregion._typing import BoolArray, FloatArray, IntArray
from exactregion.data.segment_columns import DEFAULT_BINS
from exactregion.data.segments import WHOLE, ColumnSegments
from exactregion.data.sources import Rows
from exactregion.errors import InvalidTypeError, InvalidValueError

NAMES = Rows("segments", "y_true", "y_prob")
"""What the user calls the parts of the data."""

FEW = 10
"""Fewer outcomes of a kind than this may be alone in segments by chance, and are no sign that the
segments were made from them."""

NO_CHANCE = np.log(1e-9)
"""Log-probability of what is no chance, if the predictions are right: a column
is refused by mistake with a probability of 10⁻⁹ at most."""

MOST_STATISTICS = 2**25
"""Most statistics, segments times data sets: 256 MiB, of which there are three copies at most, so
that a test fits into 1 GiB."""


def requested_segments(segments: Any, data: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Return columns or a matrix of segments, with the names of those that the user gave."""
    if data is not None:
        return ([segments] if isinstance(segments, str) else segments), None
    if isinstance(segments, Mapping):
        return _stacked(segments)
    if hasattr(segments, "columns"):
        return segments, None
    if isinstance(segments, (str, bytes)) or not hasattr(segments, "__len__"):
        raise InvalidTypeError(
            "must be a frame, a mapping of name to 0/1, or a 0/1 array with one row per outcome. "
            f"Got {type(segments).__name__} instead.",
            parameter=NAMES.X,
        )
    values: Any = segments if hasattr(segments, "ndim") else np.asarray(segments)
    if values.ndim == 1:
        name = getattr(segments, "name", None)
        if hasattr(values, "to_frame"):
            named = values if name is not None else values.rename("segment")
            return named.to_frame(), None
        import pandas as pd

        entries = list(segments) if isinstance(segments, (list, tuple)) else values
        return pd.DataFrame({"segment": entries}), None
    if values.ndim != 2 or values.shape[1] == 0:
        raise InvalidValueError(
            "must have shape (n, S), one column per segment, and at least one. "
            f"Got {values.shape} instead.",
            parameter=NAMES.X,
        )
    return values, tuple(f"segment {column}" for column in range(values.shape[1]))


def _stacked(segments: Mapping[Any, Any]) -> tuple[Any, tuple[str, ...]]:
    names = [str(name) for name in segments]
    columns = [np.asarray(values) for values in segments.values()]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not names or twice or WHOLE in names:
        got = f"{twice[0]!r} more than once" if twice else repr(WHOLE) if names else "none"
        raise InvalidValueError(
            f"must have at least one segment, of different names, and none called {WHOLE!r}. Got "
            f"{got} instead.",
            parameter=NAMES.X,
        )
    for name, column in zip(names, columns, strict=True):
        if column.shape != (len(columns[0]),):
            raise InvalidValueError(
                "must have one 0 or 1 per row in each segment, shape "
                f"({np.shape(columns[0])[:1] and len(columns[0])},). Got {column.shape} for "
                f"{name!r} instead.",
                parameter=NAMES.X,
            )
    return np.stack(columns, axis=1), tuple(names)


def check_whole(
    name: str, value: Any, default: int, given: tuple[str, ...] | None = None, least: int = 1
) -> int:
    """Check a whole number, which must be left out where the user gave the segments."""
    if value is None:
        return default
    if given is not None:
        raise InvalidValueError(
            f"goes with columns, and not with segments of your own. Got {value!r} instead: leave "
            "it out.",
            parameter=name,
        )
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidTypeError(
            f"must be an integer. Got {type(value).__name__} instead.", parameter=name
        )
    if value < least:
        raise InvalidValueError(f"must be {least} or more. Got {value} instead.", parameter=name)
    return int(value)


def check_bins(bins: Any, given: tuple[str, ...] | None) -> Any:
    """Check a number of ranges, or numbers and edges by column."""
    if bins is None:
        return DEFAULT_BINS
    if given is not None:
        return check_whole("bins", bins, 1, given)
    for one in each_of(bins):
        if np.ndim(one) == 0:
            check_whole("bins", one, DEFAULT_BINS, least=2)
            continue
        edges = np.asarray(one)
        if edges.ndim != 1 or edges.dtype.kind not in "iuf" or not (np.diff(edges) > 0).all():
            raise InvalidValueError(
                f"must have edges that are numbers in ascending order. Got {one!r} instead.",
                parameter="bins",
            )
    return bins


def each_of(bins: Any) -> list[Any]:
    """List the numbers and edges that `bins` has, whatever their columns."""
    return list(bins.values()) if isinstance(bins, Mapping) else [bins]


def check_names(names: list[str], least: int, m: int) -> None:
    """Check that there are segments, not too many, and that their names differ."""
    if len(names) == 1 and least == 1:
        raise InvalidValueError(
            "must have at least one segment with outcomes besides all rows. Got none instead.",
            parameter=NAMES.X,
        )
    if len(names) == 1:
        raise InvalidValueError(
            f"must leave at least one segment besides all rows. Got none with {least} outcomes or "
            "more and fewer than all: lower it, or take other columns.",
            parameter="min_rows",
        )
    if len(names) * m > MOST_STATISTICS:
        raise InvalidValueError(
            f"must leave at most {MOST_STATISTICS // m:,} segments with {m - 1:,} resamples. Got "
            f"{len(names):,} of at least {least} outcomes instead: raise it, lower 'depth', or "
            "take fewer columns.",
            parameter="min_rows",
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidValueError(
            f"must give segments different names. Got {twice!r} more than once instead: rename "
            "columns or values.",
            parameter=NAMES.X,
        )


def check_not_outcome(
    names: list[str], successes: IntArray, trials: FloatArray, expected: FloatArray
) -> None:
    """Refuse a segment that has all successes and nothing else, or all failures.

    Not where the predictions say so as well, and not where there are few: that may be chance.
    """
    k, n = int(successes[0]), int(trials[0])
    positive, negative = _surprisingly_pure(successes, trials, expected)
    positive, negative = positive & (trials == k), negative & (trials == n - k)
    found = np.flatnonzero(positive | negative)
    if len(found) and min(k, n - k) >= FEW:
        side = "positive" if positive[found[0]] else "negative"
        raise InvalidValueError(
            f"must not be made from the outcomes. Got {names[found[0]]!r} instead, which has all "
            f"{side} outcomes and no other: leave it out.",
            parameter=NAMES.X,
        )


def check_no_column_knows(
    segments: ColumnSegments, successes: IntArray, trials: FloatArray, expected: FloatArray
) -> None:
    """Refuse a column each of whose values has outcomes of one kind alone, and some of both.

    Not where values have few outcomes, as ids do, and not where that may be chance: by Jensen's
    inequality its probability is at most the product of the mean predictions.
    """
    positive, negative = _surprisingly_pure(successes, trials, expected)
    large, first = trials >= FEW, 1
    for combination, cells in zip(segments.combinations, segments.kept, strict=True):
        values = np.arange(first, first + len(cells))
        first += len(cells)
        values = values[large[values]]
        pure = [float(trials[values] @ side[values]) for side in (positive, negative)]
        is_pure = bool((positive | negative)[values].all()) and min(pure) >= FEW
        share = np.where(positive, expected, trials - expected)[values] / trials[values]
        if len(combination) == 1 and is_pure and trials[values] @ np.log(share) < NO_CHANCE:
            name = segments.columns[combination[0]].name
            raise InvalidValueError(
                f"must not be made from the outcomes. Got column {name!r} instead, each of whose "
                "values has positive outcomes alone or negative ones alone: leave it out.",
                parameter=NAMES.X,
            )


def _surprisingly_pure(
    successes: IntArray, trials: FloatArray, expected: FloatArray
) -> tuple[BoolArray, BoolArray]:
    """Return which segments have successes alone, and failures alone, unlike the predictions."""
    share = expected / trials
    return (successes == trials) & (share < 0.9), (successes == 0) & (share > 0.1)
