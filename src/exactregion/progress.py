"""A progress bar on stderr for searches that take a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

__all__ = ["Watch", "watching"]


class Watch:
    """Counts the θ asked during one piece of work, and shows the count if it is wanted."""

    def __init__(self) -> None:
        self._bar: Progress | None = None

    def advance(self, number: int) -> None:
        """Say that so many θ were asked."""
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0], number)


@contextmanager
def watching(watch: Watch, label: str, *, show: bool) -> Iterator[None]:
    """Show a bar while the work inside lasts; work within work keeps the outer one's bar."""
    if not show or watch._bar is not None:
        yield
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}: {task.completed:,.0f} parameters asked"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(label, total=None)
        watch._bar = bar
        try:
            yield
        finally:
            watch._bar = None
