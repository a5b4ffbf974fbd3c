"""Progress on stderr for work that takes a while.

Work opens a display with `showing` and reports with `advance`. Work inside other work uses the
display of the outer one, and changes its label only. Nothing is shown unless stderr is a terminal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["advance", "showing"]

Update = Callable[[str | None, int], None]
_DISPLAY: ContextVar[Update | None] = ContextVar("exactregion_progress", default=None)


def advance(number: int) -> None:
    """Report that `number` more parameters were evaluated, or rows processed."""
    update = _DISPLAY.get()
    if update is not None:
        update(None, number)


@contextmanager
def showing(label: str, *, show: bool, unit: str = "parameters evaluated") -> Iterator[None]:
    """Show a label, a count and the elapsed time while the work inside lasts.

    Parameters
    ----------
    label : str
        What is being done.
    show : bool
        Whether to open a display, if stderr is a terminal. A display that is open already is used
        in any case.
    unit : str
        What is counted.

    Examples
    --------
    >>> with showing("intervals", show=False):
    ...     advance(100)
    """
    outer = _DISPLAY.get()
    if outer is not None:
        outer(label, 0)
        yield
        return
    console = _terminal() if show else None
    if console is None:
        yield
        return
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}: {task.completed:,.0f} " + unit, markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as display:
        task = display.add_task(label, total=None)

        def update(label: str | None, number: int) -> None:
            display.update(task, advance=number, description=label)

        token = _DISPLAY.set(update)
        try:
            yield
        finally:
            _DISPLAY.reset(token)


def _terminal() -> Console | None:
    """Return a console on stderr, or None where nobody can watch it."""
    from rich.console import Console

    console = Console(stderr=True)
    wanted = console.file.isatty() or os.environ.get("TTY_INTERACTIVE") == "1"
    return console if wanted and console.is_interactive else None
