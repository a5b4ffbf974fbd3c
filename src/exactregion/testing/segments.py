"""One exact test of many segments of rows at once, with p-values adjusted for each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from exactregion.data.classes import are_classes
from exactregion.data.digest import seed_of
from exactregion.data.outcomes import check_total, no_trials_error
from exactregion.data.segments import ColumnSegments, GivenSegments, Segments
from exactregion.data.sources import ArraySource, Rows, Source, open_rows
from exactregion.data.workers import number_of_workers
from exactregion.engine.progress import advance, showing
from exactregion.engine.segments import SegmentPlan, segment_statistics
from exactregion.errors import InvalidValueError
from exactregion.ranking import AcceptedRanks
from exactregion.resampling import (
    Draws,
    RNGLike,
    check_n_resamples,
    fresh_entropy,
    integer_seed,
    seeded,
)
from exactregion.testing.chunks import matched_in_source
from exactregion.testing.classes import positive_column
from exactregion.testing.segment_checks import (
    NAMES,
    check_bins,
    check_names,
    check_no_column_knows,
    check_not_outcome,
    check_whole,
    requested_segments,
)
from exactregion.testing.segment_result import SegmentTestResult, segment_result
from exactregion.testing.segment_rows import CountPass, LookPass, SegmentReader, SumPass

STATISTICS = ("shift", "recalibration")

DEFAULT_DEPTH = 2
"""Pairs of columns: the number of segments grows with the square of the number of columns, and
people can still read what they mean."""

LEAST_ROWS = 20
"""Fewest outcomes of a segment by default; one in a thousand of all where that is more. The share
of 20 outcomes has a standard error of up to 0.11: only gross errors can be seen in fewer."""


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
    classes: Sequence[object] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> SegmentTestResult:
    r"""Find the segments of rows in which predicted probabilities are wrong, at every n.

    All segments are tested at once: the values of columns, the combinations of values of several
    columns, and all rows together. Outcomes are drawn from the predictions m - 1 times. Each
    segment has a statistic, and the largest of them is ranked, which gives one exact p-value for
    all. Adjusted p-values by the same maxima name the segments that are off: with probability at
    least 1 - α, none of those named is a segment in which all predictions are right.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, 2)
        Labels, or successes and failures; **held out**, not used to fit the predictions.
    y_prob : array-like of shape (n,) or (n, C)
        Predicted probabilities of the positive class; or of C classes, each of which is then looked
        at in each segment.
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
        "shift" compares the successes of a segment with those expected. "recalibration" also
        detects predictions that are too extreme, or not enough so, within a segment.
    confidence_level : float
        Of the intervals of all segments together.
    n_resamples : int
        Number of alternatives.
    rng : int, "data", Generator, SeedSequence or None
        Seed; the same seed gives the same result. "data" makes the seed from the data.
    pos_label : object, optional
        The positive class of y_true.
    classes : sequence, optional
        The class of each column of y_prob, as for `calibration_test`.
    n_jobs : int, optional
        Number of threads that work on the rows, where there are more than 65,536.
    progress : bool
        Show on stderr how many rows are processed.

    Returns
    -------
    SegmentTestResult
        With ``pvalue``, exact for all segments together, and ``table``, one row per segment with
        the strongest evidence first: n (outcomes), the observed and the expected share, their
        difference, lower and upper (limits of the true mean probability minus the predicted one,
        which hold for all segments together with at least `confidence_level`), envelope_low and
        envelope_high (where all differences lie together if all predictions are right), statistic,
        pvalue (exact for this segment alone) and pvalue_adjusted.

    Notes
    -----
    For a segment with successes K, Σ over its rows, the statistic "shift" is the normal deviate
    that belongs to the tail probability of

    .. math:: S = K - \sum_j p_j, \qquad V = \sum_j p_j (1 - p_j)

    by a saddlepoint approximation with the third moment: :math:`|S| / \sqrt V` in large segments,
    and less in small ones with rare outcomes, where that ratio is often large by chance.
    "recalibration" is :math:`(Z^2 + R^2)^{1/2}`, with this Z and with R the standardised sum of
    :math:`(x_j - \bar x)(y_j - p_j)`, x = logit p: the score of the recalibration family. An
    approximation is good enough here: p-values are exact by ranks, for any statistic.

    *What is named.* The hypothesis of a segment is that all its predictions are right. It fixes the
    distribution of the outcomes in its rows, whatever happens in others. Therefore adjusted
    p-values (Westfall and Young's step-down) control the family-wise error in the strong sense: the
    probability that a segment without any wrong prediction has an adjusted p-value ≤ α is at most
    α, also where others are wrong. A segment that contains a bad one is wrong itself, and may be
    named with it.

    *Classes.* With C classes there is a hypothesis for each segment and class: that this class has
    the right probability in all its rows. Those that hold fix the distribution of their classes
    together, so that the same control holds for all pairs.

    *When to use which.* `calibration_test` with ``by`` tests a few groups one by one, with a
    statistic that detects any miscalibration within a group. This test is for many segments, which
    may overlap, and looks mainly at their means.

    Combinations with the same rows as one with fewer columns are left out. Rows in chunks are read
    three times; where there are more than 65,536, quantiles are approximate (one row in
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
    if statistic not in STATISTICS:
        raise InvalidValueError(
            f"must be one of {', '.join(STATISTICS)}. Got {statistic!r} instead.",
            parameter="statistic",
        )
    X, given = requested_segments(segments, data)
    several = are_classes(y_prob, y_true, data, classes)
    if several:
        choice: dict[str, Any] = {"data": data, "classes": classes, "pos_label": pos_label}
        two = positive_column(y_true, y_prob, NAMES, **choice)
        if two is not None:
            (y_prob, pos_label), several = two, False
    rows = open_rows(Rows(X, y_true, y_prob), data, NAMES)
    rng = seeded(rng, lambda: seed_of(rows))
    settings = _Settings(
        depth=check_whole("depth", depth, DEFAULT_DEPTH, given),
        least=None if min_rows is None else check_whole("min_rows", min_rows, 1),
        bins=check_bins(bins, given),
        with_slope=statistic == "recalibration",
        confidence_level=confidence_level,
        draws=Draws(check_n_resamples(n_resamples), fresh_entropy(rng)),
        seed=integer_seed(rng),
        pos_label=pos_label,
        n_jobs=n_jobs,
    )
    number_of_workers(n_jobs)
    AcceptedRanks.at_level(confidence_level, settings.draws.m)
    source = ArraySource(rows, NAMES) if isinstance(rows, Rows) else rows
    if source.n_rows == 0:
        raise InvalidValueError("The data must have at least one row. Got 0 instead.")
    outcome = y_true if isinstance(y_true, str) else getattr(y_true, "name", None)
    with showing("segments", show=progress, unit="rows processed"):
        matched = None
        if several:
            P = next(source.chunks()).p
            matched = matched_in_source(source, P, classes, NAMES, n_jobs)
        reader = SegmentReader(
            NAMES,
            calibration=True,
            matched=matched,
            given=given,
            outcome=None if outcome is None else str(outcome),
        )
        return _run(source, reader, settings)


@dataclass(frozen=True, eq=False)
class _Settings:
    """What is requested, checked."""

    depth: int
    least: int | None
    bins: Any
    with_slope: bool
    confidence_level: float
    draws: Draws
    seed: int | None
    pos_label: object
    n_jobs: int | None


def _run(source: Source, reader: SegmentReader, settings: _Settings) -> SegmentTestResult:
    """Go through the rows: look, count cells, sum; then rank."""
    look = source.total(LookPass(reader, source.n_rows, settings.bins), advance, settings.n_jobs)
    labels = () if reader.matched is None else reader.matched.labels
    if reader.matched is None:
        classes = look.labels.find_classes(settings.pos_label, NAMES.y)
        reader = replace(reader, classes=classes)
    total = look.extent.total
    check_total(total, NAMES.y)
    if total == 0:
        raise no_trials_error(NAMES.y)
    segments: Segments
    if reader.given is None:
        least = max(LEAST_ROWS, -(-total // 1000)) if settings.least is None else settings.least
        every = ColumnSegments.up_to(look.cut(settings.bins), settings.depth)
        counts = source.total(CountPass(reader, every), advance, settings.n_jobs)
        segments, left_out = every.keep(counts, total, least)
    else:
        least = 1 if settings.least is None else settings.least
        segments = GivenSegments(reader.given, np.flatnonzero(look.sizes >= least))
        left_out = int((look.sizes < least).sum())
    names = segments.names
    check_names(names, least, settings.draws.m * max(1, len(labels)))
    plan = SegmentPlan(segments, len(names), settings.draws, look.extent, settings.with_slope)
    sums = source.total(SumPass(reader, plan), advance, settings.n_jobs)
    successes, Z = segment_statistics(sums, settings.draws)
    number = len(names)
    if labels:
        names = [f"{name}: {label}" for label in labels for name in names]
    for first in range(0, len(names), number):  # the segments of one class
        part = slice(first, first + number)
        seen = (successes[part], *sums.moments[part].T[:2])
        check_not_outcome(names[part], *seen)
        if isinstance(segments, ColumnSegments):
            check_no_column_knows(segments, *seen)
    columns = segments.columns if isinstance(segments, ColumnSegments) else ()
    return segment_result(
        names,
        successes,
        Z,
        sums.moments,
        settings.draws.seat,
        edges={one.name: one.edges for one in columns if one.edges is not None},
        method="recalibration" if settings.with_slope else "shift",
        columns=tuple(one.name for one in columns),
        depth=min(settings.depth, len(columns)) if columns else 1,
        min_rows=least,
        left_out=left_out,
        confidence_level=settings.confidence_level,
        classes=labels,
        seed=settings.seed,
    )
