"""Progress on stderr for searches that take a while.

A single search shows how many θ it has asked. Whoever asks for several things in a row, as the
command line does, says so beforehand by `planned`, and gets one bar for all with the time left.
Nothing is shown where stderr is not a terminal.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

__all__ = ["Plan", "Stage", "Watch", "planned", "watching"]

ALMOST = 0.97
"""Most of a stage that counts as done before it is: a guess of its length may be too low."""


class _Shown(Protocol):
    def advance(self, number: int) -> None: ...


class Watch:
    """Counts the θ asked, or the rows done, in one piece of work; shows the count if wanted."""

    def __init__(self) -> None:
        self._shown: _Shown | None = None

    def advance(self, number: int) -> None:
        """Say that so many θ were asked, or rows done."""
        if self._shown is not None:
            self._shown.advance(number)


@contextmanager
def watching(
    watch: Watch, label: str, *, show: bool, counted: str = "parameters asked"
) -> Iterator[None]:
    """Show progress while the work inside lasts.

    Work within work, and work that is part of a plan, keeps the bar of the whole.
    """
    if watch._shown is not None:
        yield
        return
    plan = _PLAN.get()
    console = None if plan is not None or not show else _terminal()
    if plan is None and console is None:
        yield
    elif plan is not None:
        with _shown_on(watch, plan):
            yield
    else:
        with _counter(label, counted, console) as counter, _shown_on(watch, counter):
            yield


@contextmanager
def _shown_on(watch: Watch, shown: _Shown) -> Iterator[None]:
    watch._shown = shown
    try:
        yield
    finally:
        watch._shown = None


def _terminal() -> Console | None:
    """Give a console on stderr if somebody can be watching it."""
    from rich.console import Console

    console = Console(stderr=True)
    wanted = console.file.isatty() or os.environ.get("TTY_INTERACTIVE") == "1"
    return console if wanted and console.is_interactive else None


class _Counter:
    """How many θ one search has asked."""

    def __init__(self, bar: Progress, label: str) -> None:
        self._bar = bar
        self._task = bar.add_task(label, total=None)

    def advance(self, number: int) -> None:
        self._bar.advance(self._task, number)


@contextmanager
def _counter(label: str, counted: str, console: Console | None) -> Iterator[_Counter]:
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}: {task.completed:,.0f} " + counted, markup=False),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield _Counter(bar, label)


# --- plans --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Stage:
    """A part of the work.

    Attributes
    ----------
    label : str
        What it is called.
    parameters : float
        How many θ it will ask, roughly.
    cost : float
        What one θ costs beside one of the other stages.
    """

    label: str
    parameters: float
    cost: float = 1.0

    @property
    def work(self) -> float:
        """Length of the stage on the bar."""
        return self.parameters * self.cost


class Plan:
    """Stages of the work, of which some are done.

    Parameters
    ----------
    stages : sequence of Stage
        In the order in which they come.
    bar : Progress, optional
        Where to show them.
    """

    def __init__(self, stages: Sequence[Stage], bar: Progress | None = None) -> None:
        self._left = list(stages)
        self._now: Stage | None = None
        self._asked = 0
        self._done = 0.0
        self._bar = bar
        if bar is not None:
            bar.add_task("", total=sum(stage.work for stage in stages))

    @property
    def completed(self) -> float:
        """Work done so far."""
        if self._now is None:
            return self._done
        share = min(self._asked / max(1.0, self._now.parameters), ALMOST)
        return self._done + share * self._now.work

    @contextmanager
    def stage(self, label: str) -> Iterator[None]:
        """Work on the stage of this name; one that was not planned counts nothing.

        Parameters
        ----------
        label : str
            Its name.
        """
        self._now = next((stage for stage in self._left if stage.label == label), Stage(label, 0))
        self._asked = 0
        self._update(at_once=True)
        yield
        self._done += self._now.work
        self._left = [stage for stage in self._left if stage is not self._now]
        self._now = None
        self._update()

    def advance(self, number: int) -> None:
        """Say that so many θ were asked.

        Parameters
        ----------
        number : int
            How many.
        """
        self._asked += number
        self._update()

    def _update(self, *, at_once: bool = False) -> None:
        if self._bar is not None:
            label = "" if self._now is None else self._now.label
            task = self._bar.task_ids[0]
            self._bar.update(task, completed=self.completed, description=label, refresh=at_once)


_PLAN: ContextVar[Plan | None] = ContextVar("exactregion_plan", default=None)


@contextmanager
def planned(stages: Sequence[Stage], *, show: bool) -> Iterator[Plan]:
    """Show one bar, with the time left, for all searches inside.

    Parameters
    ----------
    stages : sequence of Stage
        What will be done, in this order.
    show : bool
        Whether to show it, if there is a terminal to show it on.

    Examples
    --------
    >>> with planned([Stage("region", 100), Stage("band", 300)], show=False) as plan:
    ...     with plan.stage("region"):
    ...         plan.advance(50)
    ...         print(plan.completed)
    ...     print(plan.completed)
    50.0
    100.0
    """
    console = _terminal() if show else None
    if console is None:
        yield Plan(stages)
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    width = max((len(stage.label) for stage in stages), default=0)
    columns = (
        TextColumn(f"{{task.description:<{width}}}", markup=False),
        BarColumn(),
        TimeRemainingColumn(),
        TextColumn("left", markup=False),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        plan = Plan(stages, bar)
        token = _PLAN.set(plan)
        try:
            yield plan
        finally:
            _PLAN.reset(token)
