"""Reliability diagrams of several classes and of the top label, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.calibration import CalibrationBelt, CalibrationBelts
from exactregion.errors import InvalidValueError
from exactregion.plotting import canvas, formats, wording
from exactregion.plotting.belt import BeltDisplay
from exactregion.plotting.reliability import (
    ProbabilityAxis,
    draw_diagonal,
    draw_shares,
    reliability,
)
from exactregion.testing.class_result import TOP_LABEL, ClassTestResult

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

WIDEST = 4
"""Panels beside each other: as wide as a page with panels that can still be read."""

GROUPS = 8
"""Most groups of a panel: it is a quarter as wide as other pictures."""


@dataclass(eq=False)
class ClassPanel:
    """One class: its probability in each row, whether it came true, and a belt where there is one.

    `adjusted` is the p-value of the class, adjusted for all classes; NaN where it has none.
    """

    y_prob: FloatArray
    successes: IntArray
    adjusted: float
    belt: BeltDisplay | None = None

    @property
    def is_off(self) -> bool:
        """Whether the adjusted p-value is 0.05 or less."""
        return self.adjusted <= wording.SURPRISE

    @cached_property
    def points(self) -> pd.DataFrame:
        """The reliability diagram, as `plotting.reliability` gives it."""
        trials = np.ones(len(self.y_prob), dtype=np.int64)
        # most rows have other classes: groups of equal size would all but one be next to 0
        return reliability(self.y_prob, self.successes, trials, most=GROUPS, by_variance=True)


@dataclass(eq=False, repr=False)
class ClassesDisplay(canvas.Display):
    """Observed shares of each class in groups of its predicted probability, one panel per class.

    Limits are exact (Clopper and Pearson), each at 95 % on its own. The last panel is the top
    label: how often the likeliest class came true, by its probability. Use `from_result`, or
    `ClassTestResult.plot`, to make one.

    Parameters
    ----------
    panels : dict of str to ClassPanel
        The classes, and the top label.
    pvalue : float, optional
        Exact p-value of all classes together.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> rng = np.random.default_rng(0)
    >>> P = rng.dirichlet([1, 1, 1], size=100)
    >>> y = [rng.choice(3, p=row) for row in P]
    >>> result = er.calibration_test(y, P, n_resamples=99, rng=0)
    >>> len(er.plotting.ClassesDisplay.from_result(result).figure_.axes)
    4
    """

    panels: Mapping[str, ClassPanel]
    pvalue: float | None = None

    axis: ClassVar[ProbabilityAxis] = ProbabilityAxis("linear", 0.0, 1.0)
    """The axis of predicted and of observed probabilities, in all panels."""

    @classmethod
    def from_belts(cls, belts: CalibrationBelts, *, draw: bool = True, **kwargs: Any) -> Self:
        """Take belts of classes, and draw them with p-values adjusted by Holm's method.

        Parameters
        ----------
        belts : CalibrationBelts
            Returned by `calibration_belt` for several classes.
        draw, **kwargs
            Whether to draw at once, which needs matplotlib, and arguments of `plot`.
        """
        shown = {name: (belt.y_prob, belt.successes) for name, belt in belts.items()}
        return cls(_panels(shown, belts.table["pvalue_holm"], belts))._drawn_if(draw, **kwargs)

    @classmethod
    def from_result(
        cls,
        result: ClassTestResult,
        *,
        belts: CalibrationBelts | None = None,
        draw: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Take predictions and outcomes of a test, and draw them.

        Parameters
        ----------
        result : ClassTestResult
            Returned by `calibration_test` or `model_test`, of rows that were in memory.
        belts : CalibrationBelts, optional
            Returned by `calibration_belt` for the same probabilities.
        draw, **kwargs
            Whether to draw at once, which needs matplotlib, and arguments of `plot`.
        """
        P, codes = result.probabilities, result.outcomes
        if P is None or codes is None:
            raise InvalidValueError(
                "must be of rows in memory, to show them in groups. Got a result of rows that came "
                "in chunks instead: draw a sample of them.",
                parameter="result",
            )
        shown = {str(label): (P[:, c], codes == c) for c, label in enumerate(result.classes)}
        shown[TOP_LABEL] = P.max(axis=1), codes == P.argmax(axis=1)
        adjusted = result.table["pvalue_adjusted"].rename(index=str)
        display = cls(_panels(shown, adjusted, belts or {}), result.pvalue)
        return display._drawn_if(draw, **kwargs)

    def _new_axes(self) -> Axes:
        import matplotlib.pyplot as plt

        columns = min(WIDEST, len(self.panels))
        rows = -(-len(self.panels) // columns)
        size = (0.6 + 2.3 * columns, 0.7 + 2.45 * rows)
        figure = plt.figure(figsize=size, layout="constrained")
        self._axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for unused in self._axes[len(self.panels) :]:
            unused.remove()
        first: Axes = self._axes[0]
        return first

    def plot(self, **kwargs: Any) -> Self:  # type: ignore[override]
        """Draw all panels in a new figure.

        Parameters
        ----------
        **kwargs
            For `matplotlib.axes.Axes.plot`, of the points.
        """
        return super().plot(**kwargs)

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        axis = self.axis
        for place, (name, panel) in zip(self._axes, self.panels.items(), strict=False):
            draw_diagonal(place, axis, axis)
            belt = panel.belt
            if belt is not None and belt.status != "empty":
                place.fill_between(belt.grid, belt.lower, belt.upper, **canvas.BAND_STYLE)
                place.plot(belt.grid, belt.estimate, color=canvas.BLUE, linewidth=1.2)
            colors = (canvas.VERMILION,) * 2 if panel.is_off else (canvas.INK, canvas.GREY)
            draw_shares(place, panel.points, axis, colors[0], kwargs=kwargs)
            p = "" if np.isnan(panel.adjusted) else f"adjusted p = {panel.adjusted:.3g}"
            title = canvas.as_text(formats.shortened(name, 24, middle=True))
            place.set_title(title, loc="left", fontsize="medium", fontweight="bold", pad=16)
            canvas.write_near(place, p, (0, 1), (0, 4), color=colors[1])
            place.set(xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), aspect="equal")
            place.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            place.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
            canvas.remove_spines(place)
        self.figure_.supxlabel("predicted probability", fontsize="medium")
        self.figure_.supylabel("observed share", fontsize="medium")
        drawn = [panel.belt for panel in self.panels.values() if panel.belt is not None]
        belts = f"{formats.percent(drawn[0].coverage)} belts; " if drawn else ""
        exact = "" if self.pvalue is None else f": exact p-value {self.pvalue:.4g}"
        self.figure_.suptitle(
            f"Calibration of {len(self.panels) - 1} classes{exact}\n"
            f"{belts}bars: 95% exact limits of each share",
            fontsize="medium",
            x=0.02,
            ha="left",
        )


def _panels(
    shown: Mapping[str, tuple[FloatArray, Any]],
    adjusted: pd.Series[float],
    belts: Mapping[str, CalibrationBelt],
) -> dict[str, ClassPanel]:
    """Make the panel of each class from its probabilities and whether it came true."""
    drawn = {name: BeltDisplay.from_belt(belt, draw=False) for name, belt in belts.items()}
    return {
        name: ClassPanel(
            p, hits.astype(np.int64), float(adjusted.get(name, np.nan)), drawn.get(name)
        )
        for name, (p, hits) in shown.items()
    }
