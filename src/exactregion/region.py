"""ConfidenceRegion: the parameters of a family that are compatible with the data."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from exactregion import inference
from exactregion._typing import FloatArray, IntArray
from exactregion.inference import Band, Interval, Risk
from exactregion.membership import Membership
from exactregion.models import Model, as_model
from exactregion.progress import watching
from exactregion.reading import read_outcomes
from exactregion.search import Grid, Outline

if TYPE_CHECKING:
    import pandas as pd

    from exactregion.design import Design
    from exactregion.plotting import CornerDisplay, PValueDisplay, RankDisplay

__all__ = ["ConfidenceRegion"]


class ConfidenceRegion(Membership):
    """The parameters θ of a family whose P_θ(Y=+1|x) is compatible with the data.

    For each θ, alternative outcomes are drawn from P_θ with uniforms that all θ share; θ is in the
    region if the statistic of the observed outcomes does not rank among the highest. If θ* is the
    truth,
    P(θ* in the region) = q/m, exactly, at every n (Theorem 1 of the paper).

    Parameters
    ----------
    model : Model or {"logistic", "probit", "cloglog"}
        The family.
    statistic : str, Statistic or callable (labels (m, n), probabilities (n,), X) -> Z (m,)
        "combined" (default), "score", "discrepancy", "embedding", "neighborhood", or an object of
        `exactregion.statistics`.
    confidence_level : float
        Level asked for; the region has the least q/m at or above it.
    n_resamples : int
        Number of alternatives, m - 1.
    rng : int, Generator, SeedSequence or None
        Seed; the same data and seed give the same region.
    accepted_ranks : (int, int), optional
        Accept ranks low..high instead of the q lowest; `confidence_level` is then not used.
    pos_label : object, optional
        The positive class of y.
    batch : int
        Memory in bytes that the θ worked on at once may take. It changes speed, never the result.
    n_jobs : int, optional
        Number of joblib workers for many θ; it changes speed, never the result.
    progress : bool
        Show on stderr how far a search is.

    Attributes
    ----------
    coverage_ : float
        P(θ* in the region), exactly.
    accepted_ranks_ : AcceptedRanks
        The ranks that keep a θ in the region.
    model_ : Model
        The family for the columns of X.
    parameter_names_ : tuple of str
        A name for each parameter.
    design_ : Design or None
        What a formula made of the data, with `transform` for new rows; None without a formula.
    estimate_ : ndarray of shape (d,)
        The most compatible θ found.
    status_ : str
        "bounded", "unbounded", "disconnected" or "empty", as far as the search saw.
    is_empty_ : bool
        Whether no member was found: an exact-level rejection of the whole family.

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
            `pos_label`), two columns ``successes + failures``, or an expression such as ``I(score >
            3)``. Right of it any terms of formulaic: columns, text and categories (coded by
            level, the first one left out), ``C(dose)``, ``np.log2(dose)``, ``a:b``, ``a*b``,
            ``bs(x, df=4)``, ``scale(x)``, `` `odd name` ``, ``.`` for all other columns;
            ``- 1`` leaves the intercept out. A formula is code: it may call transforms of
            formulaic and functions that work entry by entry, and nothing else.
        data : pandas or polars frame
            Missing values in columns that the formula uses are an error; rows are never dropped.
        model : Model or {"logistic", "probit", "cloglog"}
            The family.
        **settings
            As for `ConfidenceRegion`.

        Returns
        -------
        ConfidenceRegion
            Fitted.

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
        from exactregion.design import Design, model_of

        design = Design.from_formula(formula, data)
        region = cls(model_of(as_model(model), design), **settings)
        # a first look, whose messages call the outcomes as the formula does
        read_outcomes(design.outcomes, region.pos_label, design.outcome)
        region.fit(design.matrix, design.outcomes)
        region._state = replace(region._fitted, design=design)
        return region

    @property
    def design_(self) -> Design | None:
        """What the formula made of the data; None without a formula."""
        return self._fitted.design

    @property
    def estimate_(self) -> FloatArray:
        """The most compatible θ found: largest p-value, ties by Z."""
        return self.outline().estimate

    @property
    def status_(self) -> str:
        """What kind of set the region is, as far as the search saw."""
        return self.outline().status

    @property
    def is_empty_(self) -> bool:
        """Whether the search found no member of the family that fits."""
        return self.status_ == "empty"

    def outline(self) -> Outline:
        """Find the region: its most compatible point, and its boundary along rays.

        Made at first use and kept until the next fit.
        """
        with self._watching("region"):
            return inference.outline(self)

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
            Ask at every point of a grid of this size. By default a coarse grid is refined only
            where membership changes.
        levels : int, optional
            The refined grid has 2^levels + 1 points an axis; 8 for two parameters, 12 for one.

        Returns
        -------
        Grid
            Ranks, membership, area, status and cost.
        """
        with self._watching("grid"):
            return inference.grid(self, box, points=points, levels=levels)

    def intervals(self, *, joint: bool = False) -> pd.DataFrame:
        """Give an interval for each parameter.

        Focused intervals (the default) are each valid on their own, with coverage at least
        `coverage_` at every n, and about as short as Wald's: a one-degree statistic at a slightly
        higher level, on the members of the joint region at level 0.999. Joint ones are the
        projections of the joint region, and hold all at once.

        Parameters
        ----------
        joint : bool
            Project the joint region.

        Returns
        -------
        pandas.DataFrame
            One row a parameter: estimate, lower, upper, status, resolution, evaluations, seconds.
        """
        with self._watching("intervals"):
            return inference.intervals(self, joint=joint)

    def functional(
        self, g: Callable[[FloatArray], Any], name: str | None = None, *, joint: bool = False
    ) -> Interval:
        """Give an interval for any number g(θ): an ED50, an odds ratio, a difference.

        Parameters
        ----------
        g : callable
            θ of shape (d,) to a number.
        name : str, optional
            What to call it.
        joint : bool
            Project the joint region, instead of a focused interval.

        Returns
        -------
        Interval

        Examples
        --------
        >>> import exactregion as er
        >>> flights = er.datasets.oring()
        >>> region = er.ConfidenceRegion("logistic", rng=0).fit(flights["temp"], flights["y"])
        >>> even = region.functional(lambda th: -th[0] / th[1], name="temperature of even odds")
        >>> even.lower < even.estimate < even.upper
        True
        """
        with self._watching(name or "functional"):
            return inference.functional(self, g, name=name, joint=joint)

    def band(self, X: Any, *, joint: bool = True) -> Band:
        """Give bounds of P(Y=1|x) at new inputs.

        Parameters
        ----------
        X : array-like or frame
            Inputs with the columns that fit was given; with a formula, a frame with its columns.
        joint : bool
            True: simultaneous, the whole true curve is inside with probability `coverage_`. False:
            focused at each input on its own, narrower.

        Returns
        -------
        Band
        """
        with self._watching("band"):
            return inference.band(self, X, joint=joint)

    def classify(self, X: Any) -> IntArray:
        """Decide for +1 or -1 where all members agree on the likelier class, else 0.

        All decisions other than 0 agree with the Bayes classifier of the truth with probability at
        least `coverage_`.

        Parameters
        ----------
        X : array-like or frame
            Inputs with the columns that fit was given; with a formula, a frame with its columns.
        """
        with self._watching("decisions"):
            return inference.classify(self, X)

    def risk(self, X: Any, classifier: Any = None) -> Risk:
        """Bound the probability of misclassification, at each input and on average.

        Parameters
        ----------
        X : array-like or frame
            Inputs with the columns that fit was given; with a formula, a frame with its columns.
        classifier : array-like of shape (n,), callable or fitted classifier, optional
            Whose errors; by default the Bayes classifier, sign of f_θ, of each member θ.

        Returns
        -------
        Risk
        """
        with self._watching("risk"):
            return inference.risk(self, X, classifier)

    def plot(
        self, kind: str | None = None, **kwargs: Any
    ) -> PValueDisplay | RankDisplay | CornerDisplay:
        """Draw the region: needs matplotlib, ``pip install exactregion[plot]``.

        Parameters
        ----------
        kind : {"pvalue", "rank", "corner"}, optional
            The p-value function of one parameter; ranks over the plane of two; projections on all
            pairs of two or more. By default what fits the number of parameters.
        **kwargs
            For `from_region` of the Display: ``truth``, ``ax`` and others.

        Returns
        -------
        PValueDisplay, RankDisplay or CornerDisplay
            With ``ax_`` and ``figure_``.
        """
        from exactregion.plotting import display_region

        with self._watching("picture"):
            return display_region(self, kind, **kwargs)

    def report(self, path: str | Path, *, title: str | None = None) -> Path:
        """Write one self-contained HTML page: needs Bokeh, ``pip install exactregion[report]``.

        Parameters
        ----------
        path : str or Path
            Where the page goes; an old one is replaced when the new one is complete.
        title : str, optional
            Heading of the page.

        Returns
        -------
        Path
            The page.
        """
        from exactregion.report import write_region_report

        return write_region_report(self, path, title=title)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Save the fitted region to a file, without pickle: `exactregion.load` brings it back.

        The file holds the data, the settings and the seed of the draws, so the loaded region gives
        the same ranks, intervals and bands. A model or statistic with functions of your own is left
        out, and passed again to `load`. The file appears whole or not at all; one that is there is
        replaced.

        Parameters
        ----------
        path : str or path
            Where to; taken as it is, usually with the ending ".npz".

        Returns
        -------
        Path
            The file.
        """
        from exactregion.saving import save

        return save(self, path)

    def _watching(self, label: str) -> AbstractContextManager[None]:
        return watching(self._watch, label, show=self.progress)
