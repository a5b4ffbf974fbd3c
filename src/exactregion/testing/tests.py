"""Exact tests of one candidate: any probability model, or the calibration of predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, overload

from exactregion.data.digest import seed_of
from exactregion.data.frames import encode_text
from exactregion.data.reading import collected
from exactregion.data.sample import Sample
from exactregion.data.sources import Rows, open_rows
from exactregion.errors import InvalidTypeError, InvalidValueError, with_named_seed
from exactregion.models import fixed_probabilities, needs_evaluation
from exactregion.resampling import (
    Draws,
    RNGLike,
    check_n_resamples,
    fresh_entropy,
    integer_seed,
    seeded,
)
from exactregion.statistics import Statistic, as_class_statistic, as_statistic
from exactregion.testing.class_result import ClassTestResult
from exactregion.testing.class_runner import ClassTest
from exactregion.testing.classes import candidate_of_two, table_of_classes, without_two
from exactregion.testing.groups import (
    groupings_of,
    holm,
    models_of,
    name_of_groups,
    of_model,
    table_of,
)
from exactregion.testing.result import ExactTestResult
from exactregion.testing.runner import CandidateTest

if TYPE_CHECKING:
    import pandas as pd


class Settings(TypedDict, total=False):
    """What `model_test` and `calibration_test` take besides rows, groups and classes."""

    data: Any
    statistic: str | Statistic | Any
    n_resamples: int
    rng: RNGLike
    pos_label: object
    n_jobs: int | None
    progress: bool


@overload
def model_test(
    candidate: Any, X: Any, y: Any, *, classes: None = None, **settings: Unpack[Settings]
) -> ExactTestResult: ...
@overload
def model_test(
    candidate: Any, X: Any, y: Any, *, classes: Sequence[object], **settings: Unpack[Settings]
) -> ClassTestResult | ExactTestResult: ...
@with_named_seed
def model_test(
    candidate: Any,
    X: Any,
    y: Any,
    *,
    data: Any = None,
    statistic: str | Statistic | Any = "multiscale",
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
    classes: Sequence[object] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> ExactTestResult | ClassTestResult:
    """Test whether a candidate can be the true P(Y=+1|x), exactly at every sample size.

    Alternative outcomes are drawn from the candidate; if it is true, the outcomes observed are one
    more draw, and the rank of their statistic among the m = n_resamples + 1 is uniform on 1..m.

    Parameters
    ----------
    candidate : array-like of shape (n,), classifier, statsmodels results, or callable X -> (n,)
        Probabilities of the positive class; or of all classes, shape (n, C). **The candidate must
        not have been fitted on this y**: for a fitted model X and y must be held out, or the test
        is not exact (it rejects too seldom).
    X : array-like of shape (n,) or (n, d), frame, or sequence of n objects
        Inputs; the statistic looks for structure in them. The candidate is given them as they are;
        for the statistic, text columns of a frame become indicators of their levels (at most 50),
        and dates become days.
    y : array-like of shape (n,) or (n, 2)
        Labels (-1/+1, 0/1, booleans, or two classes with `pos_label`), or successes and failures;
        labels of any kind where the candidate has more than two classes.
    data : frame, path, pattern, list of paths, or pyarrow data set, optional
        A table. X and y are then names of its columns (or lists of names), and so is a candidate
        given as text. Files are Parquet; rows that are not in memory are read in chunks.
    statistic : str, Statistic or callable (labels (m, n), probabilities (n,), X) -> Z (m,)
        "multiscale" (default), "discrepancy", "embedding" or "neighborhood", or an object of
        `exactregion.statistics`. With more than two classes these are summed over classes
        (`statistics.Joint`), and the statistics of `calibration_test` are there too.
    n_resamples : int
        Number of alternatives.
    rng : int, "data", Generator, SeedSequence or None
        Seed; the same seed gives the same result. "data" makes the seed from the data: repeatable,
        and another one for other data, as a test that is run again and again needs.
    pos_label : object, optional
        The positive class of y.
    classes : sequence, optional
        The class of each column of the candidate's probabilities. By default those of a classifier,
        the names of columns, or the sorted labels of y.
    n_jobs : int, optional
        Number of threads that work on the rows, where there are more than 65,536.
    progress : bool
        Show on stderr how many rows are processed, where they come in chunks.

    Returns
    -------
    ExactTestResult, or ClassTestResult with more than two classes

    Notes
    -----
    Memory maps, Parquet files and Dask arrays and frames are worked on in chunks: memory does not
    grow with the number of rows, and the result is the same as in memory, whatever the chunks. A
    candidate that has to be evaluated is evaluated chunk by chunk then. With more than 4,096
    rows, in memory or not, the kernel statistics look at the inputs through at most 256 features,
    which leave out a hundredth of the trace of the kernel, or more where that many do not reach
    it: this changes power a little, and exactness not at all.

    Ties are broken by the random seat of the original, which is what makes the p-value exact where
    Z has few values. Where all data sets are alike (probabilities of 0 and 1 that all came true),
    the seat alone decides, and the p-value says nothing about the candidate. An outcome that the
    candidate calls impossible has Z = ∞ and gives the smallest p-value, 1/m.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> x = np.linspace(-2, 2, 40)
    >>> y = np.random.default_rng(1).random(40) < 1 / (1 + np.exp(-2 * x))
    >>> er.model_test(lambda x: 1 / (1 + np.exp(-2 * x)), x, y, rng=0).pvalue > 0.05
    True
    >>> er.model_test(np.full(40, 0.5), x, y, rng=0).pvalue
    0.001
    """
    X, evaluated = collected(X), needs_evaluation(candidate)
    names = Rows("X", "y", "candidate")
    candidate, pos_label, several = candidate_of_two(
        candidate, y, names, data=data, classes=classes, pos_label=pos_label
    )
    rows = open_rows(Rows(X, y, None if evaluated else candidate), data, names)
    rng = seeded(rng, lambda: seed_of(rows))
    about: dict[str, Any] = {"draws": _draws(n_resamples, rng), "seed": integer_seed(rng)}
    about |= {"names": names, "n_jobs": n_jobs, "progress": progress}
    about["candidate"] = candidate if evaluated else None
    if several:
        for_classes = as_class_statistic(statistic, calibration=False)
        return ClassTest(for_classes, classes=classes, **about).run(rows)
    return CandidateTest(as_statistic(statistic), pos_label=pos_label, **about).run(rows)


def _draws(n_resamples: int, rng: RNGLike) -> Draws:
    return Draws(check_n_resamples(n_resamples), fresh_entropy(rng))


@with_named_seed
def compare(
    candidates: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    statistic: str | Statistic | Any = "multiscale",
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
    classes: Sequence[object] | None = None,
) -> pd.DataFrame:
    """Test several candidates on the same data with the same draws.

    Each row is what `model_test` gives for that candidate with this seed. Each p-value is exact on
    its own; pvalue_holm is adjusted for the number of candidates by Holm's method, which holds
    although all are tested on the same outcomes and draws.

    Parameters
    ----------
    candidates : mapping of name to candidate
        As for `model_test`.
    X, y, statistic, n_resamples, rng, pos_label, classes
        As for `model_test`.

    Returns
    -------
    pandas.DataFrame
        One row per candidate, with pvalue, pvalue_holm, rank, statistic, and the kind of misfit
        that is clearest, which matters where the p-value is small. With more than two classes, n
        and the class that is clearest instead of the misfit.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> x = np.linspace(-2, 2, 40)
    >>> y = np.random.default_rng(1).random(40) < 1 / (1 + np.exp(-2 * x))
    >>> table = er.compare(
    ...     {"steep": lambda x: 1 / (1 + np.exp(-2 * x)), "flat": np.full(40, 0.5)}, x, y, rng=0
    ... )
    >>> table.loc["flat", "pvalue"]
    np.float64(0.001)
    """
    import pandas as pd

    if not isinstance(candidates, Mapping):
        raise InvalidTypeError(
            f"must be a dict of name to candidate. Got {type(candidates).__name__} instead.",
            parameter="candidates",
        )
    if not candidates:
        raise InvalidValueError(
            "must have at least one candidate. Got none instead.", parameter="candidates"
        )
    rng = seeded(rng, lambda: seed_of(Rows(X, y, None)))
    draws = _draws(n_resamples, rng)
    names, X = Rows("X", "y", "candidate"), collected(X)
    choice: dict[str, Any] = {"data": None, "classes": classes, "pos_label": pos_label}
    read = {name: candidate_of_two(one, y, names, **choice) for name, one in candidates.items()}
    candidates = {name: candidate for name, (candidate, _, _) in read.items()}
    # all have the labels of y, and so the same positive class
    pos_label = next((label for _, label, _ in read.values() if label is not None), None)
    if any(several for _, _, several in read.values()):
        for_classes = as_class_statistic(statistic, calibration=False)
        found = {}
        for name, candidate in candidates.items():
            given = (candidate, None) if needs_evaluation(candidate) else (None, candidate)
            one = ClassTest(for_classes, draws, names, candidate=given[0], classes=classes)
            found[name] = one.run(Rows(X, y, given[1]))
        return table_of_classes(found, "candidate")
    test = CandidateTest(as_statistic(statistic), draws, names)
    numbers, shared = encode_text(X)
    sample = Sample.from_data(numbers, y, pos_label=pos_label, shared=shared)
    probabilities = {
        name: fixed_probabilities(candidate, X, len(sample), sample.classes)
        for name, candidate in candidates.items()
    }
    results = {name: test.on_sample(sample, p) for name, p in probabilities.items()}
    rows = {name: (r.pvalue, r.rank, r.statistic, r.misfit.kind) for name, r in results.items()}
    columns = ["pvalue", "rank", "statistic", "misfit"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    table.insert(1, "pvalue_holm", holm(table["pvalue"]))
    return table.rename_axis("candidate")


@overload
def calibration_test(
    y_true: Any,
    y_prob: Mapping[str, Any] | pd.DataFrame,
    *,
    by: Any = None,
    classes: Sequence[object] | None = None,
    **settings: Unpack[Settings],
) -> pd.DataFrame: ...
@overload
def calibration_test(
    y_true: Any,
    y_prob: Any,
    *,
    by: None = None,
    classes: None = None,
    **settings: Unpack[Settings],
) -> ExactTestResult: ...
@overload
def calibration_test(
    y_true: Any,
    y_prob: Any,
    *,
    by: None = None,
    classes: Sequence[object],
    **settings: Unpack[Settings],
) -> ClassTestResult | ExactTestResult: ...
@overload
def calibration_test(
    y_true: Any,
    y_prob: Any,
    *,
    by: Any,
    classes: Sequence[object] | None = None,
    **settings: Unpack[Settings],
) -> pd.DataFrame: ...
@with_named_seed
def calibration_test(
    y_true: Any,
    y_prob: Any,
    *,
    data: Any = None,
    by: Any = None,
    statistic: str | Statistic | Any | None = None,
    n_resamples: int = 999,
    rng: RNGLike = None,
    pos_label: object = None,
    classes: Sequence[object] | None = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> ExactTestResult | ClassTestResult | pd.DataFrame:
    """Test whether predicted probabilities are calibrated, P(Y=+1|p) = p, exactly at every n.

    The predicted probability is the input. The default statistic looks for five kinds of
    miscalibration at once and is dominated by the clearest (`statistics.Omnibus`): the score of the
    recalibration family expit(a + b logit p) at (0, 1), for wrong intercepts and slopes;
    Spiegelhalter's statistic, for over- and under-confidence; the curvature, for curves that bend;
    and a wide and a narrow kernel on p, for any other miscalibration. An outcome that contradicts a
    prediction of exactly 0 or 1 gives the smallest p-value there is, 1/m.

    With more than two classes, probabilities of shape (n, C), the hypothesis is P(Y=c|P) = P_c for
    all of them. The default statistic (`statistics.ClassOmnibus`) then has five parts as well, of
    which the clearest decides: the temperature and the Brier score, for over- and under-confidence;
    a kernel on the probabilities of all classes; each class by itself; and the top label, the class
    with the largest probability, with the five statistics for two classes.

    Parameters
    ----------
    y_true : array-like of shape (n,) or (n, 2)
        Labels, or successes and failures; **held out**, not used to fit the predictions.
    y_prob : array-like of shape (n,) or (n, C), mapping or frame
        Predicted probabilities of the positive class; or of C classes, as an array or a frame whose
        rows add up to 1. With a mapping of names to such arrays, or a frame with one column per
        model, each model is tested, with the same draws.
    data : frame, path, pattern, list of paths, or pyarrow data set, optional
        A table. y_true, y_prob and by are then names of its columns, or lists of names. Files are
        Parquet; rows that are not in memory are read in chunks, as are memory maps and Dask
        collections.
    by : array-like of shape (n,), mapping or frame, optional
        The group of each row. Each group is then tested on its own. Groups must not be made from
        the outcomes. With a mapping or frame, the groups of each column are tested. For many
        groups, or groups that overlap, use `segment_test`, which tests all of them at once.
    statistic : str, Statistic or callable
        "omnibus" where None, or another as in `model_test`. With more than two classes also
        "joint", "classwise", "toplabel", "temperature" and "brier".
    n_resamples : int
        Number of alternatives.
    rng : int, "data", Generator, SeedSequence or None
        Seed; the same seed gives the same result. "data" makes the seed from the data: repeatable,
        and another one for other data, as a test that is run again and again needs.
    pos_label : object, optional
        The positive class of y_true.
    classes : sequence, optional
        The class of each column of y_prob. By default the names of its columns, with or without a
        prefix such as "p_", or the sorted labels of y_true. Where y_prob names columns of `data`,
        `classes` says that they are classes, and not models.
    n_jobs : int, optional
        Number of threads that work on the rows, where there are more than 65,536.
    progress : bool
        Show on stderr how many rows are processed, where they come in chunks.

    Returns
    -------
    ExactTestResult, ClassTestResult, or DataFrame with several models or `by`
        That of classes, more than two, has a table of p-values by class. The table of several
        models has one row per model, group, or group of a model: n (trials), the observed and
        the mean predicted share, pvalue (that of this model and these rows alone; groups have draws
        of their own), pvalue_holm (valid for all rows of the table together: of those that are
        calibrated, one or more is ≤ α with probability at most α), rank, statistic, and the kind
        of misfit that is clearest, which matters where the p-value is small.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=100)
    >>> y = rng.uniform(size=100) < p
    >>> er.calibration_test(y, p, rng=0).pvalue > 0.05
    True
    >>> er.calibration_test(y, p**3, rng=0).pvalue
    0.001
    >>> group = np.where(np.arange(100) < 50, "old", "new")
    >>> table = er.calibration_test(y, np.where(group == "old", p, p**3), by=group, rng=0)
    >>> table["pvalue_holm"].round(3).to_dict()
    {'new': 0.002, 'old': 0.07}

    Several models at once:

    >>> table = er.calibration_test(y, {"as made": p, "cubed": p**3}, rng=0)
    >>> table["pvalue_holm"].round(3).to_dict()
    {'as made': 0.075, 'cubed': 0.002}

    Three classes, the logits of which are twice as large as they should be:

    >>> P = rng.dirichlet([1, 1, 1], size=200)
    >>> y = [rng.choice(["bird", "cat", "dog"], p=row) for row in P]
    >>> result = er.calibration_test(y, P**2 / (P**2).sum(axis=1, keepdims=True), rng=0)
    >>> result.pvalue
    0.001
    >>> result.table.loc["top label", ["observed", "expected"]].round(2).to_dict()
    {'observed': 0.63, 'expected': 0.73}
    """
    names = Rows(None, "y_true", "y_prob", "by")
    check_n_resamples(n_resamples)
    y_prob, pos_label, several = without_two(
        y_true, y_prob, names, data=data, classes=classes, pos_label=pos_label
    )
    if several and by is not None:
        raise InvalidValueError(
            "goes with labels of two classes. Got groups for more classes instead: use "
            "segment_test.",
            parameter="by",
        )
    named = isinstance(y_prob, Mapping)
    models = (y_prob if named else None) if several else models_of(y_prob, data)
    groupings = groupings_of(by, data)
    first = y_prob if models is None else next(iter(models.values()))  # all have the same draws
    rng = seeded(rng, lambda: seed_of(open_rows(Rows(None, y_true, first), data, names)))
    about: dict[str, Any] = {"draws": _draws(n_resamples, rng), "seed": integer_seed(rng)}
    about |= {"names": names, "calibration": True, "n_jobs": n_jobs, "progress": progress}
    chosen = "omnibus" if statistic is None else statistic
    test: Any = (
        ClassTest(as_class_statistic(chosen, calibration=True), classes=classes, **about)
        if several
        else CandidateTest(as_statistic(chosen), pos_label=pos_label, **about)
    )
    results: dict[Any, Any] = {}
    for model, p in ({"": y_prob} if models is None else models).items():
        for column, groups in ({"": by} if groupings is None else groupings).items():
            rows = open_rows(Rows(None, y_true, p, groups), data, names)
            with of_model(model):
                found = {"": test.run(rows)} if by is None else test.run_by_group(rows)
            results |= {(model, column, group): result for group, result in found.items()}
    if models is None and by is None:
        return next(iter(results.values()))  # type: ignore[no-any-return]
    if several:
        return table_of_classes({model: one for (model, _, _), one in results.items()}, "model")
    last = name_of_groups(by) if groupings is None else "group"
    unused = [models is None, groupings is None, by is None]
    table = table_of(results, "model", "by", last)
    return table.droplevel([level for level, drop in enumerate(unused) if drop])
