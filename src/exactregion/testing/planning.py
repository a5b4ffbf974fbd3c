"""How often a test rejects under a given truth, by simulation: power and sample sizes.

Rows of a sample are drawn, outcomes are drawn from the true probabilities of these rows, the test
is run, and rejections are counted. It is the same for every test and every truth.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Iterable, Iterator
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit, logit

from exactregion._typing import FloatArray
from exactregion.data.files import finite
from exactregion.data.reading import read_predictions
from exactregion.data.workers import check_n_jobs
from exactregion.engine.progress import advance, showing
from exactregion.errors import (
    ArgumentError,
    InvalidTypeError,
    InvalidValueError,
    with_named_seed,
)
from exactregion.models import fixed_probabilities
from exactregion.resampling import RNGLike, fresh_entropy, integer_seed
from exactregion.testing.tests import calibration_test

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PowerResult", "power"]

TestFunction = Callable[..., Any]

FIRST, LEAST, MOST = 100, 6, 51_200
"""Where the search for a sample size begins, and where it stops: 100 / 2⁴ and 100 · 2⁹ rows."""

CLOSE = 1.1
"""Ratio of neighbouring sizes at which the search ends.

With 400 simulations a power of 0.8 is known to ±0.04, which is a matter of some 10 % of the rows.
"""

QUICK_RESAMPLES = 199
"""Alternatives of the default test, which is run thousands of times."""

CONFIDENCE = 0.95
"""Of the limits of each power."""


@dataclass(frozen=True, eq=False)
class PowerResult:
    """The outcome of `power`: how often a test rejects, by sample size.

    It prints as text, and as a table in notebooks.

    Attributes
    ----------
    n_required : int or None
        The smallest sample size of the table from which on the estimated power is `target` or
        more; None where there is none.
    table : pandas.DataFrame
        One row per sample size, ``n``: power (share of simulations in which the test rejects),
        lower and upper (exact 95 % limits of the true power, Clopper and Pearson's, each for its
        row alone), rejections and simulations.
    pvalues : dict of int to ndarray
        The p-values of the simulations, by sample size.
    significance : float
        The test rejects where its p-value is this or less.
    target : float
        The target power.
    test : str
        Name of the test.
    seed : int or None
        ``rng`` where it was an integer, which gives the same simulations again.
    """

    n_required: int | None
    table: pd.DataFrame = field(repr=False)
    pvalues: dict[int, FloatArray] = field(repr=False)
    significance: float
    target: float
    test: str
    seed: int | None

    def to_frame(self) -> pd.DataFrame:
        """Return a copy of the table."""
        return self.table.copy()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the settings, n_required, and the table as a list of records."""
        found: dict[str, Any] = finite(
            {
                "test": self.test,
                "significance": self.significance,
                "target": self.target,
                "seed": self.seed,
                "n_required": self.n_required,
                "table": self.table.reset_index().to_dict("records"),
            }
        )
        return found

    def _lines(self) -> tuple[str, list[list[str]], str]:
        """Return a heading, the table as text, and a conclusion."""
        simulations = int(self.table["simulations"].iloc[0])
        heading = (
            f"Power of {self.test} at significance {self.significance:g}, "
            f"{simulations:,} simulations per n"
        )
        rows = [["n", "power", "95 % limits"]]
        for n, row in self.table.iterrows():
            limits = f"{row['lower']:.3f} to {row['upper']:.3f}"
            rows.append([f"{n:,}", f"{row['power']:.3f}", limits])
        if self.n_required is None:
            conclusion = f"Power {self.target:g} is not reached."
        else:
            conclusion = f"Power {self.target:g} is reached with n = {self.n_required:,}."
        return heading, rows, conclusion

    def __str__(self) -> str:
        """Return the text, at most 80 columns wide."""
        heading, rows, conclusion = self._lines()
        first, second, third = (max(map(len, column)) for column in zip(*rows, strict=True))
        lines = [f"{a:>{first}}  {b:>{second}}  {c:>{third}}" for a, b, c in rows]
        rule = "-" * len(lines[0])
        return "\n".join([heading, rule, lines[0], rule, *lines[1:], rule, conclusion])

    def _repr_html_(self) -> str:
        heading, rows, conclusion = self._lines()
        head, *body = (
            "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row)
            for tag, row in zip(["th", *["td"] * (len(rows) - 1)], rows, strict=True)
        )
        lines = "".join(f"<tr>{cells}</tr>" for cells in body)
        return (
            f"<p>{html.escape(heading)}</p><table><tr>{head}</tr>{lines}</table>"
            f"<p>{html.escape(conclusion)}</p>"
        )


@with_named_seed
def power(
    X: Any,
    truth: Any = None,
    *,
    shift: float = 0.0,
    slope: float = 1.0,
    test: TestFunction | None = None,
    n_observations: int | Iterable[int] | None = None,
    significance: float = 0.05,
    power: float = 0.8,
    n_simulations: int = 400,
    rng: RNGLike = None,
    n_jobs: int | None = None,
    progress: bool = False,
) -> PowerResult:
    """Estimate the power of a test by simulation, and the sample size that it needs.

    By default: how many rows does `calibration_test` need to find that predictions are off by a
    given amount? With `truth` and `test`, the same for any truth and any test.

    Parameters
    ----------
    X : array-like of shape (N,) or (N, d), or frame
        A sample of predicted probabilities, such as those of past data; or of inputs, for a `test`
        of another kind. For n rows each row of the sample is taken ⌊n/N⌋ times, and n mod N of
        them, chosen at random, once more: a designed experiment can be given by one row per
        setting.
    truth : array-like of shape (N,), classifier, statsmodels results, or callable X -> (N,)
        The true probability of the positive outcome in each row of the sample.
    shift, slope : float
        Without `truth`, X are predictions p, and the truth is expit(shift + slope · logit p): a
        shift of 0.3 means that the odds are 35 % higher than predicted, a slope below 1 that
        predictions are too extreme.
    test : callable (y, X, rng=seed) -> p-value, or result with a ``pvalue``
        y are outcomes 0 and 1. By default `calibration_test` with 199 resamples; for another
        statistic use ``functools.partial(er.calibration_test, statistic=...)``.
    n_observations : int or iterable of int, optional
        Sample sizes. By default the one that is needed is searched for, to within about 10 %,
        between 6 and 51,200.
    significance : float
        The test rejects where its p-value is this or less.
    power : float
        The target power.
    n_simulations : int
        Data sets per sample size.
    rng : int, Generator, SeedSequence or None
        Seed; the same seed gives the same result, for each sample size whatever the others are.
    n_jobs : int, optional
        Number of joblib workers (processes); the result is the same for any number.
    progress : bool
        Show on stderr how many data sets were simulated.

    Returns
    -------
    PowerResult
        With ``n_required`` and ``table``.

    Notes
    -----
    Each simulation draws its own rows, outcomes and seed of the test, so that the number of
    rejections is binomial and its limits are exact. They are limits for one sample size at a time.

    Examples
    --------
    Can 100 or 400 cases show that all odds are twice as high as predicted?

    >>> import numpy as np
    >>> import exactregion as er
    >>> p = np.random.default_rng(0).beta(1, 4, size=1000)
    >>> found = er.power(p, shift=np.log(2), n_observations=[100, 400], n_simulations=50, rng=0)
    >>> found.n_required
    400

    A test of whether four doses act alike, with the same number of animals per dose:

    >>> dose = np.array([1.0, 2.0, 3.0, 4.0])
    >>> def no_effect(y, X, rng):
    ...     return er.model_test(lambda x: np.full(len(x), 0.5), X, y, n_resamples=99, rng=rng)
    >>> er.power(
    ...     dose,
    ...     lambda x: 1 / (1 + np.exp(4 - 2 * x)),
    ...     test=no_effect,
    ...     n_observations=40,
    ...     n_simulations=20,
    ...     rng=0,
    ... ).table["power"].to_dict()
    {40: 1.0}
    """
    for name, value in (("significance", significance), ("power", power)):
        if not 0 < _real(value, name) < 1:
            raise InvalidValueError(
                f"must be between 0 and 1, both excluded. Got {value} instead.", parameter=name
            )
    if test is not None and not callable(test):
        raise InvalidTypeError(
            "must be a function of y, X and rng that returns a p-value. "
            f"Got {type(test).__name__} instead.",
            parameter="test",
        )
    check_n_jobs(n_jobs)
    sizes = None if n_observations is None else _sizes(n_observations)
    simulation = _Simulation(
        X,
        _true_probabilities(X, truth, shift, slope),
        partial(calibration_test, n_resamples=QUICK_RESAMPLES) if test is None else test,
        fresh_entropy(rng),
    )
    number = _whole(n_simulations, "n_simulations")
    pvalues: dict[int, FloatArray] = {}

    def share(n: int) -> float:
        pvalues[n] = np.fromiter(simulation.run(n, number, n_jobs), dtype=float, count=number)
        return float(np.mean(pvalues[n] <= significance))

    with showing("power", show=progress, unit="data sets simulated"):
        if sizes is None:
            _search(share, power)
        else:
            for n in sizes:
                share(n)
    table = _table(pvalues, significance)
    return PowerResult(
        n_required=_required(table, power),
        table=table,
        pvalues=dict(sorted(pvalues.items())),
        significance=significance,
        target=power,
        test=_name_of(simulation.test),
        seed=integer_seed(rng),
    )


@dataclass(frozen=True)
class _Simulation:
    """A sample of rows, their true probabilities, a test, and the seed of it all."""

    X: Any
    probabilities: FloatArray
    test: TestFunction
    entropy: int

    def run(self, n: int, number: int, n_jobs: int | None) -> Iterator[float]:
        """Yield the p-values of data sets of n rows."""
        if n_jobs in (None, 1):
            pvalues = (self.pvalue(n, index) for index in range(number))
        else:
            from joblib import Parallel, delayed

            pvalues = Parallel(n_jobs=n_jobs, return_as="generator")(
                delayed(self.pvalue)(n, index) for index in range(number)
            )
        for pvalue in pvalues:
            advance(1)
            yield pvalue

    def pvalue(self, n: int, index: int) -> float:
        """Draw a data set and test it; the draws depend on n and index alone."""
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(n, index)))
        copies, rest = divmod(n, len(self.probabilities))
        every = np.arange(len(self.probabilities))
        rows = np.concatenate([np.tile(every, copies), rng.permutation(every)[:rest]])
        y = (rng.random(n) < self.probabilities[rows]).astype(int)
        seed = int(rng.integers(2**63))
        # in a context of its own, so that a display of the test's progress is none of this one's
        found = Context().run(self.test, y, _taken(self.X, rows), rng=seed)
        return _as_pvalue(found)


def _search(share: Callable[[int], float], target: float) -> None:
    """Compute the power at sizes around the one that is needed: by halving, doubling, bisection."""
    low = high = FIRST
    if share(FIRST) >= target:
        while low > LEAST:
            low //= 2
            if share(low) < target:
                break
            high = low
    else:
        while high < MOST:
            high *= 2
            if share(high) >= target:
                break
            low = high
    while high > CLOSE * low and high - low > 1:
        middle = round((low * high) ** 0.5)
        low, high = (low, middle) if share(middle) >= target else (middle, high)


def _table(pvalues: dict[int, FloatArray], significance: float) -> pd.DataFrame:
    import pandas as pd
    from scipy.stats import binomtest

    records = []
    for n, found in sorted(pvalues.items()):
        rejections = int(np.sum(found <= significance))
        limits = binomtest(rejections, len(found)).proportion_ci(CONFIDENCE, method="exact")
        records.append(
            {
                "n": n,
                "power": rejections / len(found),
                "lower": limits.low,
                "upper": limits.high,
                "rejections": rejections,
                "simulations": len(found),
            }
        )
    return pd.DataFrame(records).set_index("n")


def _required(table: pd.DataFrame, target: float) -> int | None:
    """Return the first of the sizes at the end of the table that all have the power."""
    enough = list(takewhile(lambda n: table.loc[n, "power"] >= target, reversed(table.index)))
    return int(enough[-1]) if enough else None


def _true_probabilities(X: Any, truth: Any, shift: float, slope: float) -> FloatArray:
    is_shifted = (_real(shift, "shift"), _real(slope, "slope")) != (0.0, 1.0)
    if truth is None:
        if not is_shifted:
            raise InvalidValueError(
                "must be given, or a 'shift' or 'slope' by which predictions are off. Got none of "
                "them instead.",
                parameter="truth",
            )
        p = read_predictions(X, "X")
        certain = (p == 0) | (p == 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(certain, p, expit(shift + slope * logit(p)))
    if is_shifted:
        raise InvalidValueError(
            "must be left out where 'shift' or 'slope' is given. Got both instead.",
            parameter="truth",
        )
    if not hasattr(X, "__len__") or len(X) == 0:
        raise InvalidValueError(
            f"must be a sample of one row or more. Got {X!r} instead.", parameter="X"
        )
    try:
        return fixed_probabilities(truth, X, len(X))
    except ArgumentError as error:
        if error.parameter != "candidate":
            raise
        raise type(error)(error.requirement, parameter="truth") from error


def _taken(X: Any, rows: Any) -> Any:
    """Return rows of an array, a list or a frame."""
    if hasattr(X, "iloc"):
        return X.iloc[rows].reset_index(drop=True)
    return X[rows] if hasattr(X, "columns") else np.asarray(X)[rows]


def _as_pvalue(found: Any) -> float:
    value = getattr(found, "pvalue", found)
    try:
        pvalue = float(value)
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(
            "must return a p-value, or a result that has one as pvalue. "
            f"Got {type(found).__name__} instead.",
            parameter="test",
        ) from error
    if not 0 <= pvalue <= 1:
        raise InvalidValueError(
            f"must return a p-value between 0 and 1. Got {pvalue} instead.", parameter="test"
        )
    return pvalue


def _sizes(n_observations: int | Iterable[int]) -> list[int]:
    given = n_observations if np.iterable(n_observations) else [n_observations]
    sizes = sorted({_whole(n, "n_observations") for n in given})
    if not sizes:
        raise InvalidValueError(
            "must have at least one sample size. Got none instead.", parameter="n_observations"
        )
    return sizes


def _real(value: Any, parameter: str) -> float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InvalidTypeError(
            f"must be a number. Got {type(value).__name__} instead.", parameter=parameter
        )
    if not math.isfinite(value):
        raise InvalidValueError(f"must be finite. Got {value} instead.", parameter=parameter)
    return float(value)


def _whole(value: Any, parameter: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InvalidTypeError(
            f"must be an integer. Got {type(value).__name__} instead.", parameter=parameter
        )
    if value < 1:
        raise InvalidValueError(f"must be 1 or more. Got {value} instead.", parameter=parameter)
    return int(value)


def _name_of(test: Any) -> str:
    """Name a test as its author did."""
    inner = test.func if isinstance(test, partial) else test
    return str(getattr(inner, "__name__", type(inner).__name__))
