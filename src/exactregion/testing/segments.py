"""One exact test of many segments of rows at once, with p-values adjusted for each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.data.frames import as_pandas
from exactregion.data.reading import (
    check_total,
    counted,
    labelled,
    no_trials_error,
    outcome_values,
    place_of,
    read_predictions,
)
from exactregion.data.sample import CHUNK_ROWS, Extent
from exactregion.data.segments import (
    MOST_VALUES,
    WHOLE,
    CellCounts,
    ColumnLook,
    ColumnSegments,
    OwnSegments,
    Segments,
)
from exactregion.data.sources import ArraySource, Rows, Source, number_of_workers, open_rows
from exactregion.engine.progress import advance, showing
from exactregion.engine.segments import (
    SegmentPlan,
    SegmentSums,
    segment_statistics,
    sums_of_segments,
)
from exactregion.errors import InvalidTypeError, InvalidValueError
from exactregion.ranking import AcceptedRanks, pvalue_of, rank_of, step_down
from exactregion.resampling import Draws, RNGLike, check_n_resamples, fresh_entropy, integer_seed
from exactregion.testing.chunks import SeenLabels
from exactregion.testing.segment_result import SegmentTestResult, envelope, share_limits

if TYPE_CHECKING:
    import pandas as pd

STATISTICS = ("shift", "recalibration")

NAMES = Rows("segments", "y_true", "y_prob")

DEFAULT_DEPTH, DEFAULT_BINS = 2, 4

LEAST_ROWS = 20
"""Fewest outcomes of a segment by default; one in a thousand of all where that is more."""

MOST_STATISTICS = 2**25
"""Most statistics, segments times data sets: 256 MiB, of which there are three copies at most."""


def segment_test(
    y_true: Any,
    y_prob: Any,
    segments: Any,
    *,
    data: Any = None,
    depth: int | None = None,
    min_rows: int | None = None,
    bins: int | Mapping[str, Any] | None = None,
    statistic: str = "shift",
    confidence_level: float = 0.95,
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> SegmentTestResult:
    """Find the segments of rows in which predicted probabilities are wrong, exactly at every n.

    All segments are tested at once: the values of columns, the combinations of values of several
    columns, and all rows together. Outcomes are drawn from the predictions m - 1 times. Each
    segment has a statistic, and the largest of them is ranked, which gives one exact p-value for
    all. Adjusted p-values by the same maxima name the segments that are off, all of them rightly
    with probability 1 - α.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, 2)
        Labels, or successes and failures; **held out**, not used to fit what predicts.
    y_prob : array-like of shape (n,)
        Predicted probabilities of the positive class.
    segments : frame, mapping of name to 0/1, or 0/1 array of shape (n, S)
        Columns of text, categories, booleans or numbers, whose values and combinations become
        segments; or segments of your own, which may overlap. **They must not be made from the
        outcomes.** What is missing in a column is a segment too.
    data : frame, path, pattern, list of paths, or pyarrow data set, optional
        A table. y_true, y_prob and segments are then names of its columns. Files are Parquet; rows
        that are not in memory are read in chunks, as are memory maps and Dask collections.
    depth : int, optional
        Most columns that are combined; 2 by default. Not for segments of your own.
    min_rows : int, optional
        Fewest outcomes of a segment that is tested: by default 20, or one in a thousand of all if
        that is more; 1 for segments of your own.
    bins : int, or mapping of column to int or edges, optional
        Numbers with more than 10 different values are cut at quantiles into this many ranges, 4
        by default, or at the edges given: (-∞, a], (a, b], (b, ∞).
    statistic : {"shift", "recalibration"}
        "shift" compares the successes of a segment with those expected. "recalibration" also sees
        predictions that are too extreme, or not enough so, within a segment.
    confidence_level : float
        Of the intervals of all segments together.
    n_resamples : int
        Number of alternatives.
    rng : int, Generator, SeedSequence or None
        Seed; the same seed gives the same result.
    pos_label : object, optional
        The positive class of y_true.
    n_jobs : int, optional
        Number of threads that work on the rows, where there are more than 65,536.
    progress : bool
        Show on stderr how many rows are processed.

    Returns
    -------
    SegmentTestResult
        With ``pvalue``, exact for all segments together, and ``table``, one row per segment with
        the strongest evidence first: n (outcomes), the observed and the expected share, their
        difference, lower and upper (exact limits of the true mean probability minus the predicted
        one, which hold for all segments together), envelope_low and envelope_high (where all
        differences lie together if all predictions are right), statistic, pvalue (exact
        for this segment alone) and pvalue_adjusted.

    Notes
    -----
    For a segment with successes K, Σ over its rows, the statistic "shift" is the normal deviate
    that belongs to the tail probability of

    .. math:: S = K - \\sum_j p_j, \\qquad V = \\sum_j p_j (1 - p_j)

    by a saddlepoint approximation with the third moment: :math:`|S| / \\sqrt V` in large segments,
    and less in small ones with rare outcomes, where that ratio is often large by chance.
    "recalibration" is :math:`(Z^2 + R^2)^{1/2}`, R the standardised sum of :math:`(x_j - \\bar x)(y_j
    - p_j)`, x = logit p, which is independent of S to first order. An approximation is good enough
    here: the p-values are exact by ranks, for any statistic.

    *What is named.* The hypothesis of a segment is that all its predictions are right. It fixes the
    distribution of the outcomes in its rows, whatever happens in others. Therefore adjusted
    p-values (Westfall and Young's step-down) control the family-wise error in the strong sense: the
    probability that a segment without any wrong prediction has an adjusted p-value ≤ α is at most
    α, also where others are wrong. A segment that contains a bad one is wrong itself, and may be
    named with it.

    *When to use which.* `calibration_test` with ``by`` tests few groups apart, with a statistic that
    sees any miscalibration within a group. This test is for many segments that overlap, and
    looks mainly at their means.

    Combinations with the same rows as one with fewer columns are left out. Rows in chunks are gone
    through three times; where there are more than 65,536, quantiles are approximate (one row in
    2,000), and the same for files, clusters and memory. The sums take 4 bytes per segment and data
    set for each thread, 12 with "recalibration", however many rows there are.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import exactregion as er
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=2000)
    >>> frame = pd.DataFrame(
    ...     {"sex": rng.choice(["f", "m"], 2000), "age": rng.integers(20, 80, 2000)}
    ... )
    >>> wrong = (frame["sex"] == "m") & (frame["age"] > 65)
    >>> y = rng.uniform(size=2000) < np.where(wrong, p**2, p)
    >>> result = er.segment_test(y, p, frame, rng=0)
    >>> result.pvalue
    0.001
    >>> result.named().index[0]
    'sex = m and age > 64'
    """
    X, own = _requested(segments, data)
    settings = _Settings(
        depth=_whole("depth", depth, DEFAULT_DEPTH, own),
        least=None if min_rows is None else _whole("min_rows", min_rows, 1),
        bins=_check_bins(bins, own),
        stretch=_check_statistic(statistic) == "recalibration",
        confidence_level=confidence_level,
        draws=Draws(check_n_resamples(n_resamples), fresh_entropy(rng)),
        seed=integer_seed(rng),
        pos_label=pos_label,
        n_jobs=n_jobs,
    )
    number_of_workers(n_jobs)
    AcceptedRanks.at_level(confidence_level, settings.draws.m)
    rows = open_rows(Rows(X, y_true, y_prob), data, NAMES)
    source = ArraySource(rows, NAMES) if isinstance(rows, Rows) else rows
    if source.n_rows == 0:
        raise InvalidValueError("The data must have at least one row. Got 0 instead.")
    outcome = y_true if isinstance(y_true, str) else getattr(y_true, "name", None)
    reader = _Reader(own, None if outcome is None else str(outcome))
    with showing("segments", show=progress, unit="rows processed"):
        return _run(source, reader, settings)


@dataclass(frozen=True, eq=False)
class _Settings:
    """What is requested, checked."""

    depth: int
    least: int | None
    bins: Any
    stretch: bool
    confidence_level: float
    draws: Draws
    seed: int | None
    pos_label: object
    n_jobs: int | None


@dataclass(frozen=True, eq=False)
class _Reader:
    """Turns the rows of a chunk into checked values; messages count from the first of all."""

    own: tuple[str, ...] | None  # names of segments that the user made
    outcome: str | None  # name of the column of outcomes

    def outcomes(self, index: int, rows: Rows) -> Any:
        """Read outcomes of any classes."""
        return outcome_values(rows.y, NAMES.y, first_row=index * CHUNK_ROWS)

    def table(self, index: int, rows: Rows) -> Any:
        """Read columns as a pandas frame, or segments as a matrix of booleans."""
        if self.own is not None:
            return self._matrix(np.asarray(rows.X), index * CHUNK_ROWS)
        frame = as_pandas(rows.X, NAMES.X)
        if frame.shape[1] == 0:
            raise InvalidValueError(
                "must have at least one column. Got 0 instead.", parameter=NAMES.X
            )
        for name in frame.columns:
            if self.outcome is not None and name.casefold() == self.outcome.casefold():
                raise InvalidValueError(
                    f"must not have the outcome as a column. Got {name!r} instead: leave it out, "
                    "no guarantee holds for segments that know the outcome.",
                    parameter=NAMES.X,
                )
        return frame

    def _matrix(self, matrix: Any, first_row: int) -> Any:
        if matrix.dtype.kind not in "biuf":
            raise InvalidTypeError(
                "must hold 0 and 1, or booleans, for segments of your own. Got "
                f"{matrix.dtype} instead: give columns of text as a frame.",
                parameter=NAMES.X,
            )
        wrong = np.argwhere((matrix != 0) & (matrix != 1))
        if len(wrong):
            row, column = wrong[0]
            labels: Any = self.own
            place = place_of(row, len(wrong), first_row, column=labels[column])
            raise InvalidValueError(
                "must hold 0 and 1 for segments of your own. "
                f"Got {matrix[row, column]} {place}: give columns of values as a frame.",
                parameter=NAMES.X,
            )
        return matrix.astype(np.bool_)


@dataclass(frozen=True, eq=False)
class _Look:
    """What the first pass sees: labels, numbers of trials, and columns or sizes of segments."""

    labels: SeenLabels
    extent: Extent
    columns: tuple[ColumnLook, ...]
    sizes: IntArray

    def __add__(self, other: _Look) -> _Look:
        pairs = zip(self.columns, other.columns, strict=True)
        return _Look(
            self.labels + other.labels,
            Extent.together([self.extent, other.extent]),
            tuple(a + b for a, b in pairs),
            self.sizes + other.sizes,
        )


@dataclass(frozen=True, eq=False)
class _FirstPass:
    reader: _Reader
    n_rows: int
    listed: int  # different numbers that are remembered

    def __call__(self, index: int, rows: Rows) -> _Look:
        """Look at a chunk."""
        read_predictions(rows.p, NAMES.p, first_row=index * CHUNK_ROWS)
        y = self.reader.outcomes(index, rows)
        trials = y.sum(axis=1) if y.ndim == 2 else np.ones(len(y), dtype=np.int64)
        table = self.reader.table(index, rows)
        columns: tuple[ColumnLook, ...] = ()
        sizes = np.zeros(0, dtype=np.int64)
        if self.reader.own is None:
            columns = tuple(
                ColumnLook.of(table[name], index, self.n_rows, self.listed)
                for name in table.columns
            )
        else:
            sizes = trials @ table
        return _Look(SeenLabels.of(y), Extent.of(trials), columns, sizes)


@dataclass(frozen=True, eq=False)
class _CountPass:
    reader: _Reader
    segments: ColumnSegments

    def __call__(self, index: int, rows: Rows) -> CellCounts:
        """Count the trials of a chunk in all cells."""
        y = self.reader.outcomes(index, rows)
        trials = y.sum(axis=1) if y.ndim == 2 else np.ones(len(y), dtype=np.int64)
        return self.segments.count(self.segments.keys(self.reader.table(index, rows)), trials)


@dataclass(frozen=True, eq=False)
class _SumPass:
    reader: _Reader
    plan: SegmentPlan
    classes: tuple[object, object] | None

    def __call__(self, index: int, rows: Rows) -> SegmentSums:
        """Sum over a chunk."""
        p = read_predictions(rows.p, NAMES.p, first_row=index * CHUNK_ROWS)
        y = self.reader.outcomes(index, rows)
        outcomes = counted(y) if self.classes is None else labelled(y, self.classes)
        keys = self.plan.segments.keys(self.reader.table(index, rows))
        return sums_of_segments(index, keys, p, outcomes.trials, outcomes.successes, self.plan)


def _run(source: Source, reader: _Reader, settings: _Settings) -> SegmentTestResult:
    """Go through the rows: look, count cells, sum; then rank."""
    numbers = [MOST_VALUES, *(b for b in _values(settings.bins) if np.ndim(b) == 0)]
    look = source.total(_FirstPass(reader, source.n_rows, max(numbers)), advance, settings.n_jobs)
    classes = look.labels.find_classes(settings.pos_label, NAMES.y)
    total = look.extent.total
    check_total(total, NAMES.y)
    if total == 0:
        raise no_trials_error(NAMES.y)
    segments: Segments
    if reader.own is None:
        least = max(LEAST_ROWS, -(-total // 1000)) if settings.least is None else settings.least
        _check_columns_cut(settings.bins, look.columns)
        every = ColumnSegments.up_to(
            [one.cut(settings.bins) for one in look.columns], settings.depth
        )
        counts = source.total(_CountPass(reader, every), advance, settings.n_jobs)
        segments, left_out = every.keep(counts, total, least)
    else:
        least = 1 if settings.least is None else settings.least
        segments = OwnSegments(reader.own, np.flatnonzero(look.sizes >= least))
        left_out = int((look.sizes < least).sum())
    names = segments.names
    _check_names(names, least, settings.draws.m)
    plan = SegmentPlan(segments, len(names), settings.draws, look.extent, settings.stretch)
    sums = source.total(_SumPass(reader, plan, classes), advance, settings.n_jobs)
    return _result(names, segments, sums, settings, (least, left_out))


def _result(
    names: list[str],
    segments: Segments,
    sums: SegmentSums,
    settings: _Settings,
    used: tuple[int, int],
) -> SegmentTestResult:
    draws, level = settings.draws, settings.confidence_level
    successes, Z = segment_statistics(sums, draws)
    trials, expected = sums.moments.T[:2]
    _check_not_outcome(names, successes, trials, expected)
    largest = Z.max(axis=0)
    rank = rank_of(largest, draws.seat)
    null = np.delete(largest, draws.seat)
    critical = float(np.sort(null)[AcceptedRanks.at_level(level, draws.m).high - 1])
    table = _table(names, successes, Z, sums.moments, draws.seat, level, critical)
    columns = segments.columns if isinstance(segments, ColumnSegments) else ()
    least, left_out = used
    return SegmentTestResult(
        pvalue=float(pvalue_of(rank, draws.m)),
        rank=int(rank),
        statistic=float(largest[draws.seat]),
        null_distribution=null,
        table=table,
        edges={one.name: one.edges for one in columns if one.edges is not None},
        method="recalibration" if settings.stretch else "shift",
        columns=tuple(one.name for one in columns),
        depth=min(settings.depth, len(columns)) if columns else 1,
        min_rows=least,
        left_out=left_out,
        confidence_level=level,
        successes=int(successes[0]),
        trials=int(trials[0]),
        seed=settings.seed,
    )


def _table(
    names: list[str],
    successes: IntArray,
    Z: FloatArray,
    moments: FloatArray,
    seat: int,
    level: float,
    critical: float,
) -> pd.DataFrame:
    import pandas as pd

    trials, expected = moments.T[:2]
    low, high = share_limits(successes, trials, (1 - level) / (2 * len(names)))
    predicted = expected / trials
    outer = envelope(critical, trials, expected, moments)
    table = pd.DataFrame(
        {
            "n": trials.astype(np.int64),
            "observed": successes / trials,
            "expected": predicted,
            "difference": successes / trials - predicted,
            "lower": low - predicted,
            "upper": high - predicted,
            "envelope_low": outer[0],
            "envelope_high": outer[1],
            "statistic": Z[:, seat],
            "pvalue": pvalue_of(rank_of(Z, seat), Z.shape[1]),
            "pvalue_adjusted": step_down(Z, seat),
        },
        index=pd.Index(names, name="segment", dtype=object),
    )
    return table.iloc[np.argsort(-Z[:, seat], kind="stable")]


# --- arguments ---


def _requested(segments: Any, data: Any) -> tuple[Any, tuple[str, ...] | None]:
    """Return columns or a matrix of segments, with the names of those that the user made."""
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
    values = segments if hasattr(segments, "ndim") else np.asarray(segments)
    if values.ndim == 1:
        name = getattr(segments, "name", None)
        if hasattr(values, "to_frame"):
            named = values if name is not None else values.rename("segment")
            return named.to_frame(), None
        import pandas as pd

        entries = list(segments) if isinstance(segments, (list, tuple)) else values
        return pd.DataFrame({"segment": entries}), None
    if values.ndim != 2:
        raise InvalidValueError(
            f"must have shape (n, S), one column per segment. Got {values.shape} instead.",
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


def _whole(name: str, value: Any, default: int, own: tuple[str, ...] | None = None) -> int:
    if value is None:
        return default
    if own is not None:
        raise InvalidValueError(
            f"goes with columns, and not with segments of your own. Got {value!r} instead: leave "
            "it out.",
            parameter=name,
        )
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidTypeError(
            f"must be an integer. Got {type(value).__name__} instead.", parameter=name
        )
    if value < 1:
        raise InvalidValueError(f"must be 1 or more. Got {value} instead.", parameter=name)
    return int(value)


def _values(bins: Any) -> Sequence[Any]:
    return list(bins.values()) if isinstance(bins, Mapping) else [bins]


def _check_bins(bins: Any, own: tuple[str, ...] | None) -> Any:
    if bins is None:
        return DEFAULT_BINS
    _whole("bins", 1, 1)
    for one in _values(bins):
        if np.ndim(one) == 0:
            if _whole("bins", one, 1, own) < 2:
                raise InvalidValueError("must be 2 or more. Got 1 instead.", parameter="bins")
            continue
        edges = np.asarray(one)
        if edges.ndim != 1 or edges.dtype.kind not in "iuf" or not (np.diff(edges) > 0).all():
            raise InvalidValueError(
                f"must have edges that are numbers in ascending order. Got {one!r} instead.",
                parameter="bins",
            )
    if own is not None:
        _whole("bins", bins, 1, own)
    return bins


def _check_columns_cut(bins: Any, columns: Sequence[ColumnLook]) -> None:
    names = [column.name for column in columns]
    unknown = [name for name in bins if name not in names] if isinstance(bins, Mapping) else []
    if unknown:
        raise InvalidValueError(
            f"must name columns of the segments, {names}. Got {unknown[0]!r} instead.",
            parameter="bins",
        )


def _check_statistic(statistic: Any) -> str:
    if statistic not in STATISTICS:
        raise InvalidValueError(
            f"must be one of {', '.join(STATISTICS)}. Got {statistic!r} instead.",
            parameter="statistic",
        )
    return str(statistic)


def _check_names(names: list[str], least: int, m: int) -> None:
    """Check that there are segments, not too many, and that their names differ."""
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


def _check_not_outcome(
    names: list[str], successes: IntArray, trials: FloatArray, expected: FloatArray
) -> None:
    """Refuse a segment that has all successes and nothing else, or all failures.

    Not where the predictions say so as well, and not where there are few: that may be chance.
    """
    k, n = int(successes[0]), int(trials[0])
    share = expected / trials
    positive = (trials == k) & (successes == k) & (share < 0.9)
    negative = (trials == n - k) & (successes == 0) & (share > 0.1)
    found = np.flatnonzero(positive | negative) if min(k, n - k) >= LEAST_ROWS // 2 else []
    if len(found):
        side = "positive" if positive[found[0]] else "negative"
        raise InvalidValueError(
            f"must not be made from the outcomes. Got {names[found[0]]!r} instead, which has all "
            f"{side} outcomes and no other: leave it out.",
            parameter=NAMES.X,
        )
