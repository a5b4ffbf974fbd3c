"""`python -m validation`: run the study, all of it or some parts."""

from __future__ import annotations

import argparse
import warnings

import pandas as pd
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from validation.parts import PARTS
from validation.study import Part, Task

MOST_COLUMNS = 14


def main() -> None:
    asked = _arguments()
    parts = [Part(name) for name in asked.parts or PARTS]
    console = Console(stderr=True)
    for part in parts:
        if asked.again:
            part.forget()
        tasks = part.tasks(full=asked.full, at_most=asked.at_most)
        _run(part, [task for task in tasks if not task.done], asked.jobs, console)
        for name, table in part.finish().items():
            _show(f"{part.name}: {name}", table)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m validation", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)}")
    parser.add_argument("--full", action="store_true", help="hours instead of minutes")
    parser.add_argument("--at-most", type=int, metavar="N", help="repetitions of each case")
    parser.add_argument("--again", action="store_true", help="forget the records there are")
    parser.add_argument("--jobs", type=int, default=-1, help="processes, all cores by default")
    asked = parser.parse_args()
    unknown = sorted(set(asked.parts) - set(PARTS))
    if unknown:
        parser.error(f"There is no part {', '.join(unknown)}. Choose from {', '.join(PARTS)}.")
    return asked


def _run(part: Part, todo: list[Task], jobs: int, console: Console) -> None:
    """Work on what is not done yet; stopping loses no more than the tasks under way."""
    if not todo:
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task(part.title, total=len(todo))
        results = Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_quietly)(task) for task in todo
        )
        for _ in results:
            progress.advance(bar)


def _quietly(task: Task) -> None:
    """Run a task without the warnings of peers: what fails is counted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        task.run()


def _show(title: str, table: pd.DataFrame) -> None:
    if len(table.columns) > MOST_COLUMNS:
        Console().print(f"{title}: in validation/results, too wide to be shown")
        return
    shown = Table(title=title, title_justify="left")
    for column in table.columns:
        shown.add_column(str(column))
    for row in table.itertuples(index=False):
        shown.add_row(*(f"{v:.4g}" if isinstance(v, float) else str(v) for v in row))
    Console().print(shown)


if __name__ == "__main__":
    main()
