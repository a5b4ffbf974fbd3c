"""Results on stdout, as text for people or JSON for programs; notes on stderr."""

from __future__ import annotations

import codecs
import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from exactregion.cli.errors import printable
from exactregion.plotting.wording import interval_text, number

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import RenderableType

__all__ = [
    "INTERVAL_KEYS",
    "Page",
    "finite",
    "interval",
    "interval_records",
    "note",
    "plain_streams",
    "print_json",
    "shorten",
]

NARROWEST = 12
"""Names in a table keep this much room, however wide the numbers are."""

ROOM = 400
"""More than any table takes."""

WIDEST = 100
"""Lines of text are not longer than this even in a wide terminal."""

INTERVAL_KEYS = ("estimate", "lower", "upper", "status", "resolution")
"""What programs are told of an interval."""

PLAIN = {"−": "-", "∞": "inf", "≤": "<=", "≥": ">=", "…": "...", "θ": "theta", "·": "|", "–": "-"}


class Page:
    """What a command tells people, from top to bottom."""

    def __init__(self) -> None:
        self._parts: list[RenderableType | _Grid] = []

    def heading(self, text: str) -> None:
        """Add a line that stands out.

        Parameters
        ----------
        text : str
            The line.
        """
        from rich.text import Text

        self._parts += [Text(printable(text), style="bold"), ""]

    def facts(self, facts: Mapping[str, str]) -> None:
        """Add facts, each on a line with its name.

        Parameters
        ----------
        facts : mapping of str to str
            Name and fact.
        """
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2), pad_edge=False)
        table.add_column(no_wrap=True)
        table.add_column(ratio=1)
        for name, fact in facts.items():
            table.add_row(Text(f"  {name}", style="dim"), Text(printable(fact)))
        self._parts += [table, ""]

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table: names in the first column, then numbers.

        Parameters
        ----------
        columns : sequence of str
            Headings.
        rows : sequence of sequences of str
            A text for each column.
        """
        self._parts += [_Grid(columns, rows), ""]

    def say(self, text: str) -> None:
        """Add a paragraph.

        Parameters
        ----------
        text : str
            Sentences.
        """
        from rich.text import Text

        self._parts += [Text(printable(text)), ""]

    def show(self) -> None:
        """Print all of it on stdout."""
        from rich.console import Console

        console = Console(highlight=False, markup=False, emoji=False)
        width = min(console.width, WIDEST)
        with console.capture() as captured:
            for part in self._parts:
                console.width = ROOM if isinstance(part, _Grid) else width
                console.print(part.drawn(width) if isinstance(part, _Grid) else part)
        lines = captured.get().rstrip().split("\n")
        sys.stdout.write("".join(f"{line.rstrip()}\n" for line in lines))


@dataclass(frozen=True)
class _Grid:
    """A table whose numbers are always shown in full; names give way."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]

    def drawn(self, width: int) -> RenderableType:
        from rich import box
        from rich.cells import cell_len
        from rich.table import Table
        from rich.text import Text

        numbers = list(zip(self.columns[1:], *(row[1:] for row in self.rows), strict=True))
        taken = sum(max(map(cell_len, cells)) + 3 for cells in numbers) + 2
        room = max(NARROWEST, width - taken)
        table = Table(box=box.SIMPLE_HEAD, show_edge=False)
        for place, name in enumerate(self.columns):
            justify: Literal["left", "right"] = "right" if place else "left"
            table.add_column(Text(shorten(name, room)), justify=justify, no_wrap=True)
        for first, *others in self.rows:
            table.add_row(Text(shorten(first, room)), *(Text(printable(cell)) for cell in others))
        return table


def shorten(name: str, width: int) -> str:
    """Cut a long name in the middle.

    Examples
    --------
    >>> shorten("a rather long name of a column", 20)
    'a rather l…a column'
    """
    name = printable(name).replace("\n", "�")
    if len(name) <= width:
        return name
    left = width // 2
    return f"{name[:left]}…{name[len(name) - (width - left) + 2 :]}"


def interval_records(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Tell programs of the intervals of parameters."""
    return [
        {"parameter": name, **{key: row[key] for key in INTERVAL_KEYS}}
        for name, row in table.iterrows()
    ]


def interval(row: Any) -> tuple[str, str]:
    """Write estimate and interval of one row of `ConfidenceRegion.intervals`.

    Parameters
    ----------
    row : mapping or Series
        With estimate, lower, upper and status.
    """
    low, high, estimate = float(row["lower"]), float(row["upper"]), float(row["estimate"])
    if row["status"] == "empty":
        return number(estimate), "empty"
    width = high - low
    if not math.isfinite(width):
        ends = [abs(end - estimate) for end in (low, high) if math.isfinite(end)]
        width = 2 * max(ends, default=abs(estimate))
    return number(estimate, width), interval_text(low, high, width)


def note(text: str, *, quiet: bool) -> None:
    """Say something beside the results, on stderr.

    Parameters
    ----------
    text : str
        A sentence.
    quiet : bool
        Say nothing.
    """
    if not quiet:
        sys.stderr.write(printable(text) + "\n")


def print_json(content: Mapping[str, Any]) -> None:
    """Print one JSON object on stdout; what is not finite becomes null.

    Parameters
    ----------
    content : mapping
        Numbers, texts, lists and mappings of them.
    """
    unicode = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(finite(content), indent=2, ensure_ascii=not unicode, allow_nan=False)
    sys.stdout.write(text + "\n")


def finite(content: Any) -> Any:
    """Turn numbers into what JSON has; NaN and infinities into None.

    Parameters
    ----------
    content : object
        Anything made of mappings, sequences, arrays, numbers and texts.
    """
    if isinstance(content, Mapping):
        return {str(key): finite(value) for key, value in content.items()}
    if isinstance(content, np.generic):
        return finite(content.item())
    if isinstance(content, (list, tuple, np.ndarray)):
        return [finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content


def plain_streams() -> None:
    """Let streams that know no Unicode show a plain letter instead of stopping."""
    codecs.register_error("exactregion", _plain)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="exactregion")


def _plain(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    return "".join(PLAIN.get(character, "?") for character in text), error.end
