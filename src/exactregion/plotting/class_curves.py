"""The probabilities of several classes along one input, each with its band."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.errors import optional_module
from exactregion.plotting import canvas
from exactregion.plotting.bands import _NOTES, _varying_column
from exactregion.region import ClassBand, ConfidenceRegion
from exactregion.region.places import read_place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 21
"""Inputs at which the bands are searched: curves in one input bend little between them."""

RUG = 0.03
"""Height of the marks of the data of each class, below 0."""


@dataclass(eq=False, repr=False)
class ClassBandDisplay(canvas.Display):
    """Bounds of P(Y = c | x) of each class along one input, with estimates and the data.

    Use `from_region`, or `ConfidenceRegion.plot`, to make one. Further arguments of `plot` are
    those of `matplotlib.axes.Axes.fill_between`.

    Parameters
    ----------
    x : ndarray of shape (k,)
        Values of the input, in ascending order.
    lower, upper, estimate : ndarrays of shape (k, C)
        Bounds, and the values at the estimate.
    classes : tuple
        The classes.
    coverage, joint : float and bool
        P(the true probabilities are within the bounds), at least, and whether all are at once.
    status : str
        What kind of set the region is.
    data_x, codes : ndarrays of shape (n,), optional
        Inputs of the data, and the number of the class of each.
    name : str
        Name of the input.

    Attributes
    ----------
    bands_ : list of matplotlib PolyCollection
        The band of each class.
    lines_ : list of matplotlib Line2D
        The estimate of each class.
    """

    x: FloatArray
    lower: FloatArray
    upper: FloatArray
    estimate: FloatArray
    classes: tuple[Any, ...]
    _: KW_ONLY
    coverage: float
    joint: bool
    status: str = "bounded"
    data_x: FloatArray | None = None
    codes: IntArray | None = None
    name: str = "x"

    @classmethod
    def from_band(
        cls,
        band: ClassBand,
        *,
        name: str = "x",
        data: tuple[FloatArray, IntArray] | None = None,
        ax: Axes | None = None,
        draw: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Draw a band along the one input that varies in it.

        Parameters
        ----------
        band : ClassBand
            Returned by `ConfidenceRegion.band`; its inputs may differ in one column only.
        name : str
            Name of the input.
        data : (x, codes), optional
            Inputs of data to draw, and the number of the class of each.
        ax, **kwargs
            For `plot`.
        draw : bool
            Whether to draw at once.
        """
        if draw:
            optional_module("matplotlib", f"{cls.__name__}.from_band", "plot")
        x = _varying_column(band.X)
        order = np.argsort(x, kind="stable")
        display = cls(
            x[order],
            band.lower[order],
            band.upper[order],
            band.estimate[order],
            band.classes,
            coverage=band.coverage,
            joint=band.joint,
            status=band.status,
            data_x=None if data is None else data[0],
            codes=None if data is None else data[1],
            name=name,
        )
        return display.plot(ax, **kwargs) if draw else display

    @classmethod
    def from_region(
        cls,
        region: ConfidenceRegion,
        *,
        input: str | None = None,
        at: Mapping[str, Any] | None = None,
        points: int = POINTS,
        ax: Axes | None = None,
        draw: bool = True,
        **kwargs: Any,
    ) -> Self:
        """Compute the band of each class along one input.

        Parameters
        ----------
        region : ConfidenceRegion
            Fitted, of a family of several classes.
        input : str, optional
            The input; without it the only one that is a number.
        at : mapping, optional
            Values of other inputs; numbers that are not given are at their median.
        points : int
            Number of values of the input, over the range of the data.
        ax, **kwargs
            For `plot`.
        draw : bool
            Whether to draw at once.
        """
        if draw:  # an error before the work
            optional_module("matplotlib", f"{cls.__name__}.from_region", "plot")
        inputs, name, _, held = read_place(region.fitted_, input, at)
        column = inputs[name].to_numpy(dtype=np.float64)
        frame = inputs.iloc[[0] * points].reset_index(drop=True)
        grid = np.linspace(column.min(), column.max(), points)
        band: Any = region.band(frame.assign(**{name: grid, **held}))
        data = column, region.fitted_.sample.codes
        return cls.from_band(band, name=name, data=data, ax=ax, draw=draw, **kwargs)

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        self.bands_, self.lines_ = [], []
        for c, label in enumerate(self.classes):
            color = canvas.MODELS[c % len(canvas.MODELS)]
            dash = canvas.DASHES[c // len(canvas.MODELS) % len(canvas.DASHES)]
            style = {**canvas.BAND_STYLE, "alpha": 0.2, "color": color, **kwargs}
            self.bands_.append(ax.fill_between(self.x, self.lower[:, c], self.upper[:, c], **style))
            self.lines_ += ax.plot(
                self.x, self.estimate[:, c], color=color, linestyle=dash, label=str(label)
            )
            if self.data_x is not None and self.codes is not None:
                own = self.data_x[self.codes == c]
                height = -RUG * (c + 1.0)
                marks: dict[str, Any] = {
                    "linestyle": "none",
                    "marker": "|",
                    "markersize": 6,
                    "alpha": 0.6,
                }
                ax.plot(own, np.full(len(own), height), color=color, **marks)
        ax.set_xlabel(self.name)
        ax.set_ylabel("probability of each class")
        ax.set_ylim(-RUG * (len(self.classes) + 1) if self.data_x is not None else 0.0, 1.0)
        ax.set_yticks(np.linspace(0, 1, 6))
        kind = "all at once" if self.joint else "each on its own"
        title = f"{100 * self.coverage:g} % band, {kind}"
        ax.set_title(f"{title}\n{_NOTES[self.status]}" if self.status in _NOTES else title)
        ax.legend(frameon=False, loc="best")
