"""The probabilities of several classes along one input, each with its band."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from exactregion._typing import FloatArray, IntArray
from exactregion.plotting import canvas
from exactregion.plotting.bands import NOTES, arrays_of, band_along
from exactregion.region import ClassBand, ConfidenceRegion
from exactregion.region.places import read_place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 21
"""Inputs at which the bands are searched: curves in one input bend little between them."""

RUG = 0.03
"""Height of the marks of the data of each class, below 0: as much as a mark is high."""


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
    coverage, joint, status
        As of a `ClassBand`.
    data_x, codes : ndarrays of shape (n,), optional
        Inputs of the data, and the number of the class of each.
    name : str
        Name of the input.

    Attributes
    ----------
    bands_, lines_ : lists of matplotlib PolyCollection and Line2D
        The band and the estimate of each class.
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
        draw, **kwargs
            Whether to draw at once, and arguments of `plot`.
        """
        cls._check_matplotlib("from_band", draw)
        data_x, codes = (None, None) if data is None else data
        shown: dict[str, Any] = {"data_x": data_x, "codes": codes, "name": name}
        return cls(**arrays_of(band), classes=band.classes, **shown)._drawn_if(draw, **kwargs)

    @classmethod
    def from_region(
        cls,
        region: ConfidenceRegion,
        *,
        input: str | None = None,
        at: Mapping[str, Any] | None = None,
        points: int = POINTS,
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
        draw, **kwargs
            Whether to draw at once, and arguments of `plot`.
        """
        cls._check_matplotlib("from_region", draw)
        inputs, name, _, held = read_place(region.fitted_, input, at)
        column = inputs[name].to_numpy(dtype=np.float64)
        grid = np.linspace(column.min(), column.max(), points)
        data = column, region.fitted_.sample.codes
        band = band_along(region, inputs, grid, name, held)
        return cls.from_band(band, name=name, data=data, draw=draw, **kwargs)

    def _draw(self, ax: Axes, **kwargs: Any) -> None:
        self.bands_, self.lines_ = [], []
        for c, label in enumerate(self.classes):
            color, dash = canvas.look_of(c)
            style = {**canvas.BAND_STYLE, "alpha": 0.2, "color": color, **kwargs}
            self.bands_.append(ax.fill_between(self.x, self.lower[:, c], self.upper[:, c], **style))
            line: dict[str, Any] = {"color": color, "linestyle": dash}
            line["label"] = canvas.as_text(str(label))
            self.lines_ += ax.plot(self.x, self.estimate[:, c], **line)
            if self.data_x is not None and self.codes is not None:
                x = self.data_x[self.codes == c]
                marks: dict[str, Any] = {"linestyle": "none", "marker": "|", "markersize": 6}
                height = np.full(len(x), -RUG * (c + 1.0))
                ax.plot(x, height, color=color, alpha=0.6, **marks)
        lowest = -RUG * (len(self.classes) + 1) if self.data_x is not None else 0.0
        ax.set(xlabel=canvas.as_text(self.name), ylabel="probability of each class")
        ax.set_ylim(lowest, 1.0)
        ax.set_yticks(np.linspace(0, 1, 6))
        kind = "all at once" if self.joint else "each on its own"
        title = f"{100 * self.coverage:g} % band, {kind}"
        ax.set_title(f"{title}\n{NOTES[self.status]}" if self.status in NOTES else title)
        ax.legend(frameon=False, loc="best")
