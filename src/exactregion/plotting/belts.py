"""Calibration belts of several models in one picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from exactregion.calibration import CalibrationBelts
from exactregion.plotting import canvas, wording
from exactregion.plotting.belt import BeltDisplay, draw_diagonal, ends_of_points
from exactregion.plotting.reliability import ProbabilityAxis, axes_for

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(eq=False, repr=False)
class BeltsDisplay(canvas.Display):
    """Belts of several models over one diagonal, with observed shares in groups as points.

    Use `from_belts`, or `CalibrationBelts.plot`, to make one. Arguments of `plot` are those of
    `BeltDisplay.plot`.

    Parameters
    ----------
    belts : dict of str to BeltDisplay
        What is drawn of each model.
    adjusted : dict of str to float
        p-value of each model, adjusted for their number by Holm's method.

    Examples
    --------
    >>> import numpy as np
    >>> import exactregion as er
    >>> p = np.linspace(0.05, 0.95, 40)
    >>> y = np.random.default_rng(0).random(40) < p
    >>> belts = er.calibration_belt(y, {"a": p, "b": p**2}, n_resamples=39, rng=0)
    >>> er.plotting.BeltsDisplay.from_belts(belts).ax_.get_title(loc="left")
    'Calibration of 2 models (n = 40)'
    """

    belts: Mapping[str, BeltDisplay]
    adjusted: Mapping[str, float]

    @classmethod
    def from_belts(
        cls, belts: CalibrationBelts, *, draw: bool = True, ax: Axes | None = None, **kwargs: Any
    ) -> Self:
        """Take the arrays of belts, and draw them.

        Parameters
        ----------
        belts : CalibrationBelts
            Returned by `calibration_belt` for several models.
        draw : bool
            Whether to draw at once; if not, matplotlib is not needed.
        ax, **kwargs
            For `plot`.
        """
        parts = {name: BeltDisplay.from_belt(belt, draw=False) for name, belt in belts.items()}
        adjusted = dict(zip(belts, belts.table["pvalue_holm"], strict=True))
        display = cls(parts, adjusted)
        return display.plot(ax, **kwargs) if draw else display

    def axes(self, scale: str | None = None) -> tuple[ProbabilityAxis, ProbabilityAxis]:
        """Return the axes of predicted and of observed probabilities, for all models."""
        parts = list(self.belts.values())
        shown = [one for one in parts if one.status != "empty"]
        curves = [curve for one in shown for curve in (one.lower, one.upper)]
        points = np.concatenate([ends_of_points(one.points)[::3] for one in parts])
        predictions = np.concatenate([one.y_prob[one.trials > 0] for one in parts])
        return axes_for(predictions, curves, points, scale)

    def legend_of(self, name: str) -> str:
        """Write what the legend says of a model."""
        empty = ", no belt" if self.belts[name].status == "empty" else ""
        return f"{wording.shortened(name, 30)}: p = {self.adjusted[name]:.4g}{empty}"

    def plot(self, ax: Axes | None = None, *, scale: str | None = None, **kwargs: Any) -> Self:
        """Draw all belts on the axes given, or in a new figure, as `BeltDisplay.plot` does one."""
        self._axes = self.axes(scale)
        return super().plot(ax, **kwargs)

    @property
    def _size(self) -> tuple[float, float]:
        return 5.6, 5.2

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        across, up = self._axes
        across.apply_to(ax, "x")
        up.apply_to(ax, "y")
        draw_diagonal(ax, across, up)
        for index, (name, one) in enumerate(self.belts.items()):
            color = canvas.MODELS[index % len(canvas.MODELS)]
            dash = canvas.DASHES[index // len(canvas.MODELS) % len(canvas.DASHES)]
            label: dict[str, Any] = {"label": canvas.as_text(self.legend_of(name))}
            if one.status != "empty":
                band = {**canvas.BAND_STYLE, "color": color, "alpha": 0.18, **kwargs}
                ax.fill_between(one.grid, one.lower, one.upper, **band)
                ax.plot(one.grid, one.estimate, color=color, linestyle=dash, **label)
                label = {}
            x, y = one.points[["predicted", "observed"]].to_numpy().T
            ax.plot(x, y, "o", color=color, markersize=3.5, **label)
        ax.set(xlabel="predicted probability", ylabel="probability of the outcome")
        canvas.remove_spines(ax)
        canvas.add_legend(ax, title="p-values adjusted (Holm)", title_fontsize="small")
        n = int(next(iter(self.belts.values())).trials.sum())
        level = wording.percent(next(iter(self.belts.values())).coverage)
        canvas.add_note(ax, f"Calibration of {len(self.belts)} models (n = {n:,})", "")
        style: dict[str, Any] = {"ha": "right", "fontsize": "small", "color": canvas.GREY}
        note = f"{level} belts; points: observed shares in groups"
        ax.text(0.99, 0.015, note, transform=ax.transAxes, **style)
