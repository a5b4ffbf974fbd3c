"""A progress bar on stderr for work that takes a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Watch", "watching"]


class Watch:
    """Counts the θ asked, or the rows done, in one piece of work; shows the count if wanted."""

    def __init__(self) -> None:
        self._bar: Progress | None = None

    def advance(self, number: int) -> None:
        """Say that so many θ were asked, or rows done."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], number)


@contextmanager
def watching(
    watch: Watch, label: str, *, show: bool, counted: str = "parameters asked"
) -> Iterator[None]:
    """Show a bar while the work inside lasts; work within work keeps the outer one's bar."""
    if not show or watch._bar is not None:
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}: {task.completed:,.0f} " + counted),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(label, total=None)
        watch._bar = bar
        try:
            yield
        finally:
            watch._bar = None
