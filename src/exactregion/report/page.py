"""A page: its parts, as text and numbers without markup, and the HTML made of them."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Literal

import numpy as np
from bokeh.embed import json_item
from bokeh.resources import Resources
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from exactregion._typing import FloatArray
from exactregion._version import __version__
from exactregion.plotting.wording import SURPRISE, answer_of, guarantee_of
from exactregion.report.facts import code_of, facts_of
from exactregion.report.figures import THEMES


@dataclass(frozen=True)
class Key:
    """One entry of a figure's legend; `look` is a class of the style sheet, such as "line-blue"."""

    look: str
    text: str


@dataclass(frozen=True, eq=False)
class Pointer:
    """Texts shown next to the pointer in the plot of this name, one per interval of x, or of y.

    `mark` has columns for the source "mark", of which the script shows the row of the interval.
    """

    plot: str
    start: FloatArray
    stop: FloatArray
    texts: list[str]
    mark: dict[str, FloatArray] = field(default_factory=dict)
    along: Literal["x", "y"] = "x"


@dataclass(frozen=True, eq=False)
class Figure:
    """A Bokeh figure or layout, with its legend.

    `label` is for readers who cannot see it; `reading` says how to read it.
    """

    id: str
    label: str
    root: Any
    keys: list[Key]
    reading: str
    pointers: list[Pointer] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Panels:
    """Small figures side by side, each below its heading, with one legend for all."""

    figures: dict[str, Figure]
    keys: list[Key]
    reading: str


@dataclass(frozen=True)
class Table:
    """A table; the first cell of each row is its head. A sortable one has buttons in its heads."""

    caption: str
    columns: list[str]
    rows: list[list[str]]
    sortable: bool = False


@dataclass(frozen=True)
class Words:
    """Sentences: a paragraph each, or the entries of a list."""

    texts: list[str]
    listed: bool = False


@dataclass(frozen=True, eq=False)
class Explorer:
    """A plane of parameters to point at, and their curves: one band per input.

    `parameters` have a name, digits to write, limits to show and a best value; `sliders` a label,
    a size and a start. With `pairs` the reader chooses which two of them the plane shows.
    """

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
        length = sum(len(parameter["name"]) + 12 for parameter in self.parameters) + 60
        return max(1, math.ceil(length / 115)), min(8, max(4, math.ceil(length / 36)))

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
    """A heading and parts; with `beside` the first stands to the left of the others."""

    heading: str
    parts: list[Figure | Panels | Table | Words | Explorer]
    beside: bool = False


@dataclass(frozen=True)
class Page:
    """A whole report; `verdict` ("fits", "against" or "open") gives the answer its colour."""

    title: str
    question: str
    answer: str
    guarantee: str
    verdict: str
    facts: list[tuple[str, str]]
    sections: list[Section]
    assumptions: list[str]
    code: str

    @classmethod
    def of(cls, result: Any, *, verdict: str | None = None, **parts: Any) -> Page:
        """Make the page of a result: its answer, settings and code, with the other fields given.

        Without a verdict the p-value of the result decides.
        """
        if verdict is None:
            verdict = "against" if result.pvalue <= SURPRISE else "fits"
        said: dict[str, Any] = {"answer": answer_of(result), "guarantee": guarantee_of(result)}
        said |= {"verdict": verdict, "facts": facts_of(result), "code": code_of(result)}
        return cls(**{**said, **parts})

    @property
    def explorer(self) -> Explorer | None:
        """The explorer of the page, if it has one."""
        parts = [part for section in self.sections for part in section.parts]
        return next((part for part in parts if isinstance(part, Explorer)), None)

    @property
    def figures(self) -> list[Figure]:
        """All figures of the page, in order."""
        parts = [part for section in self.sections for part in section.parts]
        explored = [self.explorer.plane, *self.explorer.bands] if self.explorer else []
        panels = [part for part in parts if isinstance(part, Panels)]
        small = [figure for part in panels for figure in part.figures.values()]
        return explored + small + [part for part in parts if isinstance(part, Figure)]


def render(page: Page) -> str:
    """Write the page as HTML."""
    # Every text goes through the template's escaping or into a block of JSON, and the policy of the
    # page lets no script run but the two written here, by their hashes: what is in names and titles
    # stays text.
    # figures only: no widgets, nothing that loads more
    code = Resources(mode="inline", components=["bokeh"], log_level="error").js_raw
    library, script = "\n".join(code).replace("</script", r"<\/script"), _packaged("page.js")
    figures = [
        {
            "id": figure.id,
            "item": json_item(figure.root, target=None),
            "pointers": [vars(pointer) for pointer in figure.pointers],
        }
        for figure in page.figures
    ]
    explorer = page.explorer.script if page.explorer else None
    content = {"themes": THEMES, "figures": figures, "explorer": explorer}
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["unbroken"] = _unbroken
    return environment.from_string(_packaged("page.html")).render(
        page=page,
        policy=_policy(library, script),
        style=Markup(_packaged("page.css")),
        library=Markup(library),
        script=Markup(script),
        data=Markup(_json_block(content)),
        version=__version__,
    )


def _unbroken(text: str) -> str:
    """Keep "p = 0.03" on one line."""
    for sign in "=≤":
        text = text.replace(f" {sign} ", f"\N{NO-BREAK SPACE}{sign}\N{NO-BREAK SPACE}")
    return text


def _packaged(name: str) -> str:
    return files("exactregion.report").joinpath(name).read_text(encoding="utf-8")


def _policy(*scripts: str) -> str:
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _json_block(content: Any) -> str:
    """Write JSON that no parser of HTML takes for markup."""
    arrays = np.ndarray.tolist
    text = json.dumps(content, allow_nan=False, default=arrays, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
