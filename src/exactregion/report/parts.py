"""The parts of a page, as the template takes them: text and numbers, no markup."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

__all__ = ["Explorer", "Figure", "Key", "Page", "Pointer", "Section", "Table", "Words"]


@dataclass(frozen=True)
class Key:
    """One entry of a figure's legend.

    Attributes
    ----------
    look : str
        Class of its sign in the style sheet: "line-blue", "area-blue", "dot", …
    text : str
        What it stands for.
    """

    look: str
    text: str


@dataclass(frozen=True)
class Pointer:
    """Texts that a figure shows next to the pointer, one for each stretch of x.

    Attributes
    ----------
    plot : str
        Name of the plot.
    start, stop : list of float
        Ends of each stretch, ascending.
    texts : list of str
        What to show.
    mark : dict of str to list
        Columns of the source "mark", of which the script shows one row.
    """

    plot: str
    start: list[float]
    stop: list[float]
    texts: list[str]
    mark: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Figure:
    """A figure with its legend and how to read it.

    Attributes
    ----------
    id : str
        Of the element it is drawn in.
    label : str
        What it shows, for readers who cannot see it.
    root : Bokeh model
        A figure, or a layout of figures.
    keys : list of Key
        The legend.
    reading : str
        How to read it, in a sentence or two.
    pointers : list of Pointer
        What pointing at it shows.
    """

    kind: ClassVar[str] = "figure"

    id: str
    label: str
    root: Any
    keys: list[Key]
    reading: str
    pointers: list[Pointer] = field(default_factory=list)


@dataclass(frozen=True)
class Table:
    """A table; the first cell of each row is its head.

    Attributes
    ----------
    caption : str
        What it shows.
    columns : list of str
        Heads of the columns.
    rows : list of list of str
        Cells.
    """

    kind: ClassVar[str] = "table"

    caption: str
    columns: list[str]
    rows: list[list[str]]


@dataclass(frozen=True)
class Words:
    """Sentences: a paragraph each, or the entries of a list.

    Attributes
    ----------
    texts : list of str
        The sentences.
    listed : bool
        Whether they are a list.
    """

    kind: ClassVar[str] = "words"

    texts: list[str]
    listed: bool = False


@dataclass(frozen=True, eq=False)
class Explorer:
    """Parameters to point at, and the curves that they mean.

    Attributes
    ----------
    plane : Figure
        Where parameters are pointed at.
    bands : list of Figure
        Where their curves are shown: one for each input.
    inputs : list of str
        Names of these inputs.
    hint : str
        What to do.
    parameters : list of dict
        Of each parameter its name, digits to write, limits to show, and best value.
    sliders : list of dict
        Label and number of positions of each slider.
    pairs : bool
        Whether the plane shows two of several parameters, which the reader chooses.
    ranks : dict of str to int
        m, and the lowest and highest rank that is in the region.
    """

    kind: ClassVar[str] = "explorer"

    plane: Figure
    bands: list[Figure]
    inputs: list[str]
    hint: str
    parameters: list[dict[str, Any]]
    sliders: list[dict[str, Any]]
    pairs: bool
    ranks: dict[str, int]

    @property
    def lines(self) -> tuple[int, int]:
        """Lines that the text of a pointed parameter takes, on a wide and on a narrow screen.

        The page keeps room for them, so that figures stay under the pointer.
        """
        said = sum(len(parameter["name"]) + 12 for parameter in self.parameters) + 60
        return max(1, math.ceil(said / 115)), min(8, max(4, math.ceil(said / 36)))

    @property
    def script(self) -> dict[str, Any]:
        """What the script needs to know."""
        return {
            "plane": self.plane.id,
            "bands": [band.id for band in self.bands],
            "parameters": self.parameters,
            "sliders": [slider["size"] for slider in self.sliders],
            "pairs": self.pairs,
            "ranks": self.ranks,
            "hint": self.hint,
        }


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it.

    Attributes
    ----------
    heading : str
        The heading.
    parts : list of Figure, Table, Words or Explorer
        What stands below it.
    beside : bool
        Whether the first part stands to the left of the others, where there is room.
    """

    heading: str
    parts: list[Figure | Table | Words | Explorer]
    beside: bool = False


@dataclass(frozen=True)
class Page:
    """A whole report.

    Attributes
    ----------
    title : str
        Its heading.
    question : str
        What was asked, in a sentence.
    answer, guarantee : str
        What was found, and what is certain of it.
    verdict : {"fits", "against", "open"}
        The colour of the answer.
    facts : list of (str, str)
        What was asked, item by item.
    sections : list of Section
        Figures and tables.
    assumptions : list of str
        What it rests on.
    code : str
        Python that makes the page again.
    """

    title: str
    question: str
    answer: str
    guarantee: str
    verdict: str
    facts: list[tuple[str, str]]
    sections: list[Section]
    assumptions: list[str]
    code: str

    @property
    def figures(self) -> list[Figure]:
        """All figures of the page, in order."""
        found: list[Figure] = []
        for section in self.sections:
            for part in section.parts:
                if isinstance(part, Figure):
                    found.append(part)
                elif isinstance(part, Explorer):
                    found += [part.plane, *part.bands]
        return found
