"""ConfidenceRegion: the parameters of a family that are compatible with the data."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

import numpy.typing as npt

from exactregion._typing import FloatArray, IntArray
from exactregion.data.design import Design
from exactregion.data.sample import Sample
from exactregion.data.sources import Rows
from exactregion.engine import DEFAULT_BATCH
from exactregion.engine.progress import showing
from exactregion.errors import (
    InvalidTypeError,
    InvalidValueError,
    NotFittedError,
    with_named_seed,
)
from exactregion.features.threads import single_thread
from exactregion.models import ClassModel, Model, default_statistic
from exactregion.ranking import AcceptedRanks, pvalue_of
from exactregion.region.bands import Band, band_at, predictions_at
from exactregion.region.bounds import paving_of
from exactregion.region.fitted import Evaluation, FittedRegion
from exactregion.region.fitting import (
    family_for,
    fitted_to,
    fitted_to_rows,
    fitted_to_sample,
)
from exactregion.region.functionals import functional_interval
from exactregion.region.grid import Grid, grid_of
from exactregion.region.hypotheses.equations import read_hypothesis
from exactregion.region.hypotheses.goodness import GoodnessOfFit, goodness_of_fit
from exactregion.region.hypotheses.linear import HypothesisTest, hypothesis_test
from exactregion.region.intervals import Interval, Status, interval_table, status_of
from exactregion.region.proofs.paving import Paving
from exactregion.region.risk import Risk, decisions_at, risk_at
from exactregion.region.search.outline import Outline, estimate_of, likelihood_estimate, outline_of
from exactregion.region.summary import Summary, summarise
from exactregion.region.thresholds import Threshold, ThresholdPlan, plans_for, threshold_table
from exactregion.resampling import RNGLike
from exactregion.statistics import Statistic

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.plotting import CornerDisplay, CurveDisplay, PValueDisplay, RankDisplay
    from exactregion.plotting.class_curves import ClassBandDisplay

__all__ = ["ConfidenceRegion"]

Method = TypeVar("Method", bound=Callable[..., Any])


def _with_progress(label: str) -> Callable[[Method], Method]:
    """Show the label and the number of θ evaluated while a method works.

    It works with small matrices, for which threads of BLAS take more time than they save.
    """

    def decorate(method: Method) -> Method:
        @wraps(method)
        def shown(self: ConfidenceRegion, *args: Any, **kwargs: Any) -> Any:
            with showing(label, show=self.progress), single_thread():
                return method(self, *args, **kwargs)

        return cast("Method", shown)

    return decorate


def _for_two_classes(*, instead: str) -> Callable[[Method], Method]:
    """Raise an error where there are several classes, and no single P(Y=1|x)."""

    def decorate(method: Method) -> Method:
        @wraps(method)
        def checked(self: ConfidenceRegion, *args: Any, **kwargs: Any) -> Any:
            if isinstance(self.model_, ClassModel):
                raise InvalidTypeError(
                    f"{method.__name__}() is for families of two classes. Got "
                    f"{type(self.model_).__name__} instead: use {instead}."
                )
            return method(self, *args, **kwargs)

        return cast("Method", checked)

    return decorate


class ConfidenceRegion:
    """The parameters θ of a family whose P_θ(Y=+1|x) is compatible with the data.

    For each θ, alternative outcomes are drawn from P_θ with uniforms that all θ share; θ is in the
    region if the statistic of the observed outcomes does not rank among the highest. If θ* is the
    truth, P(θ* in the region) = q/m, exactly, at every n (Theorem 1 of the paper).

    Parameters
    ----------
    model : Model or {"logistic", "probit", "cloglog", "multinomial", "proportional-odds"}
        The family.
    statistic : str, Statistic or callable (labels (m, n), probabilities (n,), X) -> Z (m,)
        "combined", "ratio", "score", "discrepancy", "embedding", "neighborhood", or an object of
        `exactregion.statistics`. By default that of the family: "combined" for linear predictors
        and mixtures of two densities, "ratio" for all others.
    confidence_level : float
        Level required; the region has the least q/m at or above it.
    n_resamples : int
        Number of alternatives, m - 1.
    rng : int, "data", Generator, SeedSequence or None
        Seed; the same data and seed give the same region. "data" makes the seed from the data.
    accepted_ranks : (int, int), optional
        Accept ranks low..high instead of the q lowest; `confidence_level` is then not used.
    pos_label : object, optional
        The positive class of y.
    batch : int
        Memory in bytes for the θ evaluated at once. It changes speed, never the result.
    n_jobs : int, optional
        Number of joblib workers for many θ; it changes speed, never the result.
    progress : bool
        Show on stderr how far a search is.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> x = np.linspace(-2, 2, 40)
    >>> y = np.random.default_rng(1).random(40) < 1 / (1 + np.exp(-2 * x))
    >>> region = er.ConfidenceRegion(er.models.Logistic(), rng=0).fit(x, y)
    >>> region.coverage_
    0.95
    >>> region.contains([[0.0, 2.0], [0.0, -2.0]])
    array([ True, False])
    """

    @with_named_seed
    def __init__(
        self,
        model: Model | str,
        *,
        statistic: str | Statistic | Any | None = None,
        confidence_level: float = 0.95,
        n_resamples: int = 999,
        rng: RNGLike = None,
        accepted_ranks: tuple[int, int] | None = None,
        pos_label: object = None,
        batch: int = DEFAULT_BATCH,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self.model = model
        self.statistic = default_statistic(model) if statistic is None else statistic
        self.confidence_level = confidence_level
        self.n_resamples = n_resamples
        self.rng = rng
        self.accepted_ranks = accepted_ranks
        self.pos_label = pos_label
        self.batch = batch
        self.n_jobs = n_jobs
        self.progress = progress
        self._fitted: FittedRegion | None = None

    def __repr__(self) -> str:
        """Show model, statistic and level."""
        level = f"confidence_level={self.confidence_level}"
        if self.accepted_ranks is not None:
            level = f"accepted_ranks={self.accepted_ranks}"
        return f"{type(self).__name__}({self.model!r}, statistic={self.statistic!r}, {level})"

    def fit(self, X: Any, y: Any, *, data: Any = None, levels: Any = None) -> Self:
        """Read the data and draw what is random.

        Parameters
        ----------
        X : array-like of shape (n,) or (n, d), frame, or sequence of n objects
            Inputs.
        y : array-like of shape (n,) or (n, 2)
            Labels (-1/+1, 0/1, booleans, or two classes with `pos_label`), or successes and
            failures. For `Multinomial` and `ProportionalOdds` labels of any number of classes.
        data : frame, path, pattern, list of paths, or pyarrow data set, optional
            A table. X and y are then names of its columns, or lists of names. Files are Parquet.
            More than 65,536 rows, from files, memory maps, Dask collections or arrays, are read in
            chunks and kept in a temporary file.
        levels : sequence, optional
            For these two, all classes in order, as for the model itself.
        """
        rows = Rows(X, y, None)
        self._fitted = fitted_to_rows(rows, data, self._settings, levels=levels)
        return self

    def fit_sample(self, sample: Sample) -> Self:
        """Fit a sample that was read before."""
        self._fitted = fitted_to_sample(sample, self._settings)
        return self

    @property
    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    @classmethod
    def from_fitted(cls, fitted: FittedRegion) -> Self:
        """Return the region of a fit that was made elsewhere, read from a file for example."""
        region = cls(**fitted.settings)
        region._fitted = fitted
        return region

    @classmethod
    def from_formula(
        cls, formula: str, data: Any, *, model: Model | str = "logistic", **settings: Any
    ) -> Self:
        """Fit a region to the columns of a frame that a formula names.

        Needs formulaic, ``pip install exactregion[formula]``. Parameters are named after the
        columns that the formula makes: "temp", "sex[T.male]", "np.log2(dose)". New data for `band`,
        `classify` and `risk` are frames with the same columns as `data`; `design_` says which.

        Parameters
        ----------
        formula : str
            Left of ~ the outcomes: one column of labels (0/1, -1/+1, booleans, or two classes with
            `pos_label`; of any classes for "multinomial" and "proportional-odds"), two columns
            ``successes + failures``, or an expression such as ``I(score > 3)``. Right of it any
            terms of formulaic: columns, text and categories (coded by level, the first one left
            out), ``C(dose)``, ``np.log2(dose)``, ``a:b``, ``a*b``, ``bs(x, df=4)``, ``scale(x)``,
            `` `odd name` ``, ``.`` for all other columns; ``- 1`` leaves the intercept out. A
            formula is code: it may call transforms of formulaic and functions that work entry by
            entry, and nothing else.
        data : pandas or polars frame
            Missing values in columns that the formula uses are an error; rows are never dropped.
        model : Model or {"logistic", "probit", "cloglog", "multinomial", "proportional-odds"}
            The family.
        **settings
            As for `ConfidenceRegion`.

        Examples
        --------
        >>> import exactregion as er
        >>> flights = er.datasets.oring()
        >>> region = er.ConfidenceRegion.from_formula("y ~ temp", flights, rng=0)
        >>> region.parameter_names_
        ('intercept', 'temp')
        >>> region.contains([[15.04, -0.232], [-0.83, 0.0]])
        array([ True, False])
        """
        return cls.from_design(Design.from_formula(formula, data), model=model, **settings)

    @classmethod
    def from_design(
        cls, design: Design, *, model: Model | str = "logistic", **settings: Any
    ) -> Self:
        """Fit a region to the design of a formula; the rest is as for `from_formula`."""
        region = cls(family_for(design, model), **settings)
        found = fitted_to(design.matrix, design.outcomes, region._settings, design=design)
        region._fitted = found
        return region

    def rank(self, theta: npt.ArrayLike) -> Any:
        """Rank of the observed outcomes among the alternatives of θ, from 1 to m.

        Parameters
        ----------
        theta : array-like of shape (d,) or (T, d)
            One parameter, for a number, or many, for an array of shape (T,).
        """
        ranks, single = self._ranks(theta)
        return int(ranks[0]) if single else ranks

    def pvalue(self, theta: npt.ArrayLike) -> Any:
        """Exact p-value of θ, (m - rank + 1) / m; θ as for `rank`."""
        ranks, single = self._ranks(theta)
        pvalues = pvalue_of(ranks, self.accepted_ranks_.m)
        return float(pvalues[0]) if single else pvalues

    def contains(self, theta: npt.ArrayLike) -> Any:
        """Return whether θ is in the region; θ as for `rank`."""
        ranks, single = self._ranks(theta)
        inside = self.accepted_ranks_.holds(ranks)
        return bool(inside[0]) if single else inside

    def evaluate(self, theta: npt.ArrayLike) -> Evaluation:
        """Return the data sets, the seat and Z behind the rank of one θ, of shape (d,)."""
        batch, single = self.fitted_.as_batch(theta)
        if not single:
            raise InvalidValueError(
                "of evaluate must be one parameter, shape "
                f"({batch.shape[1]},). Got {batch.shape} instead.",
                parameter="theta",
            )
        return self.fitted_.evaluate(batch)

    @property
    def fitted_(self) -> FittedRegion:
        """Data, draws and settings of the fit, for code that works on regions."""
        if self._fitted is None:
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet: call fit(X, y) first."
            )
        return self._fitted

    @property
    def coverage_(self) -> float:
        """Exact probability that the region contains the truth, q/m."""
        return self.fitted_.accepted.coverage

    @property
    def accepted_ranks_(self) -> AcceptedRanks:
        """The ranks that keep a θ in the region."""
        return self.fitted_.accepted

    @property
    def model_(self) -> Model:
        """The family for the columns of X."""
        return self.fitted_.model

    @property
    def parameter_names_(self) -> tuple[str, ...]:
        """A name for each parameter."""
        return self.fitted_.model.parameter_names

    @property
    def design_(self) -> Design | None:
        """What a formula made of the data, with `transform` for new rows; None without one."""
        return self.fitted_.design

    @property
    def estimate_(self) -> FloatArray:
        """The θ of maximum likelihood where it is finite, else `most_compatible_`."""
        return estimate_of(self.fitted_)[0].copy()

    @property
    def estimate_kind_(self) -> str:
        """What `estimate_` is: "maximum likelihood" or "most compatible"."""
        return estimate_of(self.fitted_)[1]

    @property
    def most_compatible_(self) -> FloatArray:
        """The θ with the largest p-value that was found, ties by Z; it moves with the seed."""
        return self.outline().estimate.copy()

    @property
    def maximum_likelihood_(self) -> FloatArray | None:
        """The most likely θ, which does not depend on the seed; None where it is not finite."""
        found = likelihood_estimate(self.fitted_)
        return None if found is None else found.copy()

    @property
    def status_(self) -> str:
        """Kind of set: "bounded", "unbounded", "disconnected", "empty" or "unsettled".

        Unsettled regions look bounded, but a search kept missing members; `certified_` says whether
        the kind is proven.
        """
        return self._status().kind

    @property
    def certified_(self) -> bool:
        """Whether it is proven that the region is bounded, unbounded or empty; else searched."""
        return self._status().certified

    @property
    def is_empty_(self) -> bool:
        """Whether there is no member, which rejects the whole family; proven if `certified_`."""
        return self.outline().status == "empty"

    @_with_progress("region")
    def _status(self) -> Status:
        return status_of(self.fitted_)

    @_with_progress("region")
    def outline(self) -> Outline:
        """Find the region: its most compatible point, and its boundary along rays.

        Found at first use and kept until the next fit.
        """
        return outline_of(self.fitted_)

    @_with_progress("grid")
    def grid(
        self,
        box: Any = None,
        *,
        points: int | tuple[int, ...] | None = None,
        levels: int | None = None,
    ) -> Grid:
        """Put a region with one or two parameters on a grid.

        Parameters
        ----------
        box : array-like of shape (d, 2), optional
            (low, high) of each parameter; around the region by default.
        points : int or tuple of int, optional
            Evaluate every point of a grid of this size. By default a coarse grid is refined only
            where membership changes.
        levels : int, optional
            The refined grid has 2^levels + 1 points per axis; 8 for two parameters, 12 for one.
        """
        return grid_of(self.fitted_, box, points=points, levels=levels)

    @_with_progress("paving")
    def paving(self, *, tolerance: float = 0.05) -> Paving:
        """Cover a region by boxes that are proven to be inside or may hold members.

        For families with a linear predictor and up to three parameters, where the outcomes overlap.
        No member lies outside of the boxes, so that area, emptiness and the number of pieces are
        proven as well.

        Parameters
        ----------
        tolerance : float
            Boxes that may hold members are split until their share of the whole is at most this.

        Examples
        --------
        >>> import exactregion as er
        >>> flights = er.datasets.oring()
        >>> region = er.ConfidenceRegion("logistic", n_resamples=99, rng=0)
        >>> paving = region.fit(flights["temp"], flights["y"]).paving(tolerance=0.2)
        >>> smallest, largest = paving.area
        >>> paving.pieces >= 1 and 0.8 * largest <= smallest <= largest
        True
        """
        return paving_of(self.fitted_, tolerance)

    @_with_progress("intervals")
    def intervals(self, *, joint: bool = False, certify: bool | None = None) -> pd.DataFrame:
        """Return an interval for each parameter.

        Focused intervals (the default) are each valid on their own, with coverage at least
        `coverage_` at every n, and about as short as Wald's: a one-degree statistic at a slightly
        higher level, on the members of the joint region at level 0.995. Joint ones are the
        projections of the joint region, and hold all at once. With the statistic "ratio" and three
        parameters or more, as for `Psychometric` with a free lapse rate, both are the same.

        Parameters
        ----------
        joint : bool
            Project the joint region.
        certify : bool, optional
            Whether to prove that no member lies outside, which is possible for logistic, probit and
            cloglog families, recalibration and location mixtures, with up to three parameters, and
            for projections of the joint region of `Psychometric` and of families of your own that
            have `probability_bounds`. By default it is done for one and two parameters within a
            limited amount of work; True spends more, False nothing. What is not proven is searched
            and audited.

        Returns
        -------
        pandas.DataFrame
            One row per parameter: estimate, lower, upper, status, gap, certified, probes,
            evaluations, seconds.
        """
        return interval_table(self.fitted_, joint=joint, certify=certify)

    def functional(
        self,
        g: Callable[[FloatArray], Any] | npt.ArrayLike,
        name: str | None = None,
        *,
        joint: bool = False,
        certify: bool | None = None,
    ) -> Interval:
        """Return an interval for any number g(θ): an ED50, an odds ratio, a difference.

        Parameters
        ----------
        g : callable or array-like
            θ of shape (d,) to a number; or coefficients a of shape (d,) for a·θ, or (a, b) of shape
            (2, d) for a·θ / b·θ, whose intervals can be proven where those of parameters are.
        name : str, optional
            What to call it.
        joint : bool
            Project the joint region, instead of a focused interval.
        certify : bool, optional
            As for `intervals`. Callables are always searched, and focused intervals of ratios
            unless this is True: they are then longer, and proven.

        Examples
        --------
        >>> import exactregion as er
        >>> flights = er.datasets.oring()
        >>> region = er.ConfidenceRegion("logistic", rng=0).fit(flights["temp"], flights["y"])
        >>> even = region.functional([[-1, 0], [0, 1]], "temperature of even odds", joint=True)
        >>> even.lower < even.estimate < even.upper, even.certified
        (True, True)
        >>> alone = region.functional(lambda th: -th[0] / th[1])
        >>> even.lower < alone.lower < alone.upper < even.upper, alone.certified
        (True, False)
        """
        with showing(name or "functional", show=self.progress), single_thread():
            return functional_interval(self.fitted_, g, name=name, joint=joint, certify=certify)

    @_for_two_classes(instead="band or functional")
    @_with_progress("threshold")
    def threshold(
        self,
        input: str | None = None,
        probability: float | None = None,
        *,
        at: Mapping[str, Any] | None = None,
        relative_to: Mapping[str, Any] | None = None,
        compare: Literal["ratio", "difference"] | None = None,
        joint: bool = False,
        certify: bool | None = None,
    ) -> Threshold:
        """Return an interval for the value of an input at which P(Y=1|x) has a probability.

        With a linear predictor (s + t r)·θ along the input, t = x or a logarithm of x, the number
        is t = (g - s·θ) / (r·θ), where g is the predictor at the probability. It is bounded as by
        `functional`, and converted back to the units of the input. Where flat curves are compatible
        with the data, the interval has no end.

        Parameters
        ----------
        input : str, optional
            The input, a column of the data: "dose", not "np.log2(dose)". Without it the only one
            that is a number.
        probability : float, optional
            Of an event; 0.5 by default, and for psychometric families half way between the guess
            rate and one minus the lapse rate. 0.9 gives an ED90. A psychometric curve with free
            rates may never have the probability; the interval is that of the members which do.
        at : mapping, optional
            Values of other inputs. Levels must be given; numbers that are not are at their median,
            and the result says so.
        relative_to : mapping, optional
            Compare with the threshold at these values of other inputs, ``{"sex": "female"}``.
        compare : {"ratio", "difference"}, optional
            How; by default the ratio where the input enters by its logarithm (the relative
            potency), else the difference.
        joint, certify : bool
            As for `functional`.

        Examples
        --------
        >>> import exactregion as er
        >>> moths = er.datasets.budworm().assign(alive=lambda d: d["ntotal"] - d["ndead"])
        >>> region = er.ConfidenceRegion.from_formula(
        ...     "ndead + alive ~ sex + np.log2(dose)", moths, n_resamples=199, rng=0
        ... )
        >>> ed50 = region.threshold("dose", at={"sex": "male"})
        >>> round(ed50.estimate, 2), 3 < ed50.lower < 4 < 5 < ed50.upper < 7
        (4.69, True)
        >>> potency = region.threshold("dose", at={"sex": "female"}, relative_to={"sex": "male"})
        >>> potency.name, round(potency.estimate, 2)
        ('dose at P = 0.5, female / male', 2.05)
        """
        plan = ThresholdPlan.read(
            self.fitted_, input, probability, at, relative_to=relative_to, compare=compare
        )
        return plan.find(joint=joint, certify=certify)

    @_for_two_classes(instead="band or functional")
    @_with_progress("thresholds")
    def thresholds(
        self,
        input: str | None = None,
        probabilities: Any = (0.5,),
        *,
        at: Mapping[str, Any] | None = None,
        joint: bool = False,
        certify: bool | None = None,
    ) -> pd.DataFrame:
        """Return thresholds for several probabilities, at each level of inputs that have levels.

        Parameters
        ----------
        input, at, joint, certify
            As for `threshold`; there is a row for each level of an input that `at` leaves out.
            Intervals hold one at a time; with ``joint=True`` all at once.
        probabilities : float or sequence of float
            Such as (0.5, 0.9); None is that of `threshold`.

        Returns
        -------
        pandas.DataFrame
            The other inputs; probability, estimate, lower, upper, status, gap, certified; and
            whether the estimate lies outside the data (extrapolates).
        """
        plans = plans_for(self.fitted_, input, probabilities, at)
        return threshold_table(plans, joint=joint, certify=certify)

    @_for_two_classes(instead="band or functional")
    @_with_progress("width")
    def width(
        self,
        input: str | None = None,
        inner: float = 0.9,
        *,
        at: Mapping[str, Any] | None = None,
        joint: bool = False,
        certify: bool | None = None,
    ) -> Threshold:
        """Return an interval for the width of the curve: the distance over which it rises.

        From 5 to 95 % of the rise between the guess rate and one minus the lapse rate, with
        ``inner=0.9``. Where the input enters by its logarithm, it is the ratio of both ends.

        Parameters
        ----------
        input, at, joint, certify
            As for `threshold`.
        inner : float
            The share of the rise.
        """
        plan = ThresholdPlan.read(self.fitted_, input, None, at, inner=inner)
        return plan.find(joint=joint, certify=certify)

    @_with_progress("band")
    def band(self, X: Any, *, joint: bool = True, certify: bool | None = None) -> Band:
        """Return bounds of P(Y=1|x) at new inputs, or of P(Y=c|x) for each class of a family.

        Parameters
        ----------
        X : array-like or frame
            Inputs with the columns that fit was given; with a formula, a frame with its columns.
        joint : bool
            True: simultaneous, the whole true curve is inside with probability at least
            `coverage_`. False: focused at each input on its own, narrower.
        certify : bool, optional
            As for `intervals`. Focused bands are proven with True only, one input after the other;
            those of several classes are searched.

        Returns
        -------
        Band
            A `ClassBand`, with one column per class, for `Multinomial` and `ProportionalOdds`.
        """
        return band_at(self.fitted_, X, joint=joint, certify=certify)

    @_with_progress("predictions")
    def predict(self, X: Any, *, certify: bool | None = None) -> pd.DataFrame:
        """Return P(Y=1|x) at new inputs, with limits: a frame with the index of X.

        Parameters
        ----------
        X : array-like or frame
            Inputs, as for `band`.
        certify : bool, optional
            As for `band`.

        Returns
        -------
        pandas.DataFrame
            One row per row of X, or for a family of several classes one per row of X and class,
            with the class in a column "class":

            - estimate: at the maximum of the likelihood, or at `most_compatible_` where there is
              none;
            - lower, upper: each holds at its own row with probability at least `coverage_`;
            - simultaneous_lower, simultaneous_upper: all hold at once, as those of `band`;
            - extrapolates: whether an input lies outside the range of the data. The limits then
              rest on the family being right where there are no data;
            - certified, simultaneous_certified: whether it is proven that no member lies outside
              the limits of each kind, at all rows.

        Examples
        --------
        >>> import pandas as pd
        >>> import exactregion as er
        >>> flights = er.datasets.oring()
        >>> region = er.ConfidenceRegion.from_formula("y ~ temp", flights, n_resamples=199, rng=0)
        >>> table = region.predict(pd.DataFrame({"temp": [31, 65]}))
        >>> table["estimate"].round(3).tolist(), table["extrapolates"].tolist()
        ([1.0, 0.488], [True, False])
        """
        return predictions_at(self.fitted_, X, certify)

    @_for_two_classes(instead="predict")
    @_with_progress("decisions")
    def classify(self, X: Any) -> IntArray:
        """Decide for +1 or -1 where all members agree on the likelier class, else 0.

        All decisions other than 0 agree with the Bayes classifier of the truth with probability at
        least `coverage_`. X is as for `band`.
        """
        return decisions_at(self.fitted_, X)

    @_for_two_classes(instead="predict")
    @_with_progress("risk")
    def risk(self, X: Any, classifier: Any = None) -> Risk:
        """Bound the probability of misclassification, at each input and on average over them.

        The average is over the rows of X that are given, not over a population they come from.

        Parameters
        ----------
        X : array-like or frame
            Inputs, as for `band`.
        classifier : array-like of shape (n,), callable or fitted classifier, optional
            Whose errors; by default the Bayes classifier, sign of f_θ, of each member θ.
        """
        return risk_at(self.fitted_, X, classifier)

    @_with_progress("summary")
    def summary(self, *, certify: bool | None = None) -> Summary:
        """Summarise the coefficients: estimates, intervals, and p-values of "= 0".

        Estimates are `estimate_`, intervals the focused ones of `intervals`, and p-values those of
        `test`. For logistic families the table has odds ratios as well.

        Parameters
        ----------
        certify : bool, optional
            As for `intervals` and `test`.

        Examples
        --------
        >>> import exactregion as er
        >>> flights = er.datasets.oring()
        >>> region = er.ConfidenceRegion.from_formula("y ~ temp", flights, rng=0)
        >>> summary = region.summary()
        >>> summary.to_frame().loc["temp", "estimate"].round(4)
        np.float64(-0.2322)
        """
        return summarise(self.fitted_, certify=certify)

    @_with_progress("test")
    def test(self, hypothesis: Any, *, certify: bool | None = None) -> HypothesisTest:
        """Test a linear hypothesis about the parameters, with size at most the level at every n.

        The p-value is the largest of any θ that satisfies the hypothesis, within the joint region
        at level 1 - β, plus β, which is 0.001, or 1 / (n_resamples + 1) if that is more. Where the
        hypothesis holds, it is at most α with probability at most α. Data sets are ranked by the
        score for what the hypothesis is about; in families with a linear predictor the other
        parameters are refitted to each data set. For a two-by-two table this is near Boschloo's and
        Fisher's test. The test is often more powerful than focused intervals, which may
        contain a value that it rejects.

        Parameters
        ----------
        hypothesis : str, mapping or array-like
            Equations such as "temp = 0", "dose = 0, dose:sex = 0" or "a - b = 0"; values by name,
            ``{"temp": 0}``; a matrix A of shape (r, d) for A θ = 0; or all parameters, shape (d,).
        certify : bool, optional
            Whether to prove that no θ of the hypothesis has a larger p-value. It is possible, and
            done by default within a limited amount of work, where the hypothesis leaves at most one
            parameter free; else the largest is searched. True spends more, False nothing.

        Examples
        --------
        >>> import exactregion as er
        >>> flights = er.datasets.oring()
        >>> region = er.ConfidenceRegion.from_formula("y ~ temp", flights, rng=0)
        >>> region.test("temp = 0").pvalue < 0.05
        True
        """
        read = read_hypothesis(hypothesis, self.parameter_names_)
        return hypothesis_test(self.fitted_, read, certify)

    @_for_two_classes(instead="model_test with the probabilities of one theta")
    @_with_progress("goodness of fit")
    def goodness_of_fit(self, *, statistic: str | Statistic | None = None) -> GoodnessOfFit:
        """Test whether any member of the family is true, with size at most the level at every n.

        The p-value is the largest over the θ of the joint region at level 1 - β, β = 0.001, plus β;
        where the family contains the truth, it is at most α with probability at most α. Data sets
        are ranked by what no θ explains: the statistic's columns, made orthogonal to the score of
        the family at each θ. The largest p-value is searched around the estimate, not proven.

        Parameters
        ----------
        statistic : str or Statistic, optional
            What the misfit is looked for with, any that is made of sums; by default kernels of
            three widths.

        Examples
        --------
        >>> import numpy as np
        >>> import exactregion as er
        >>> x = np.linspace(-2, 2, 80)
        >>> y = np.random.default_rng(0).random(80) < 1 / (1 + np.exp(-2 * (x**2 - 1)))
        >>> settings = {"n_resamples": 199, "rng": 0}
        >>> line = er.ConfidenceRegion("logistic", **settings).fit(x, y)
        >>> line.goodness_of_fit().pvalue < 0.05
        True
        >>> parabola = er.ConfidenceRegion("logistic", **settings)
        >>> parabola.fit(np.column_stack([x, x**2]), y).goodness_of_fit().pvalue > 0.05
        True
        """
        return goodness_of_fit(self.fitted_, statistic)

    @_with_progress("picture")
    def plot(
        self, kind: str | None = None, **kwargs: Any
    ) -> PValueDisplay | RankDisplay | CornerDisplay | CurveDisplay | ClassBandDisplay:
        """Draw the region: needs matplotlib, ``pip install exactregion[plot]``.

        Parameters
        ----------
        kind : {"pvalue", "rank", "corner", "curve"}, optional
            The p-value function of one parameter; ranks over the plane of two; projections on all
            pairs of two or more; or the curve along one input, with its band, data and threshold,
            one curve per class where there are several. By default what fits the number of
            parameters, and for several classes the curves.
        **kwargs
            For `from_region` of the Display: ``ax``, ``truth`` of parameters, ``input`` and ``at``
            of a curve, and others.
        """
        from exactregion.plotting import display_region
        from exactregion.plotting.class_curves import ClassBandDisplay

        if isinstance(self.model_, ClassModel) and kind in (None, "curve"):
            return ClassBandDisplay.from_region(self, **kwargs)
        return display_region(self, kind, **kwargs)

    @_for_two_classes(instead="summary, plot and predict")
    def report(self, path: str | Path, *, title: str | None = None, **more: Any) -> Path:
        """Write one self-contained HTML page: needs Bokeh, ``pip install exactregion[report]``.

        Parameters
        ----------
        path : str or Path
            Where the page goes; an old one is replaced when the new one is complete.
        title : str, optional
            Heading of the page.
        **more
            For `exactregion.report.write_report`: ``tables``, ``about`` and ``command``.
        """
        from exactregion.report import write_report

        return write_report(self, path, title=title, **more)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the fitted region to a file, without pickle: `exactregion.load` reads it.

        The file holds the data, the settings and the seed of the draws, so the loaded region gives
        the same ranks, intervals and bands. A model or statistic with functions of your own is left
        out, and passed again to `load`. The file is written whole or not at all; an existing one is
        replaced.

        Parameters
        ----------
        path : str or path
            The file, usually with the extension ".npz".
        """
        from exactregion.save import save

        return save(self, path)

    def _ranks(self, theta: npt.ArrayLike) -> tuple[IntArray, bool]:
        batch, single = self.fitted_.as_batch(theta)
        return self.fitted_.ranks(batch)[0], single
