"""Count what a call goes through: functions, modules and depth of four journeys, and sizes of src.

    python benchmarks/journeys.py

It uses the public interface alone, so that it can be run on any version of the library.
"""

from __future__ import annotations

import ast
import contextlib
import io
import statistics
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pandas as pd

import exactregion as er

ROOT = Path(er.__file__).parent
FRONT = ("cli", "report", "plotting", "paper", "experiments")
"""Packages that are not the core; `paper` was called `experiments` once."""


def traced(call: Callable[[], Any]) -> tuple[int, int, int]:
    """Run a call, and count functions, modules and the deepest stack of the library's own."""
    functions: set[tuple[str, str, int]] = set()
    depth = deepest = 0
    prefix = str(ROOT)

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal depth, deepest
        code = frame.f_code
        if not code.co_filename.startswith(prefix) or code.co_name.startswith("<"):
            return
        if event == "call":
            functions.add((code.co_filename, code.co_name, code.co_firstlineno))
            depth += 1
            deepest = max(deepest, depth)
        elif event == "return":
            depth -= 1

    call()  # imports and compiled loops are loaded before anything is counted
    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(functions), len({name for name, _, _ in functions}), deepest


def journeys(folder: Path) -> dict[str, Callable[[], Any]]:
    """Make the four calls that docs/contributing.md follows."""
    predictions = er.datasets.pima_predictions()
    y, p = predictions["y"], predictions["p"]
    rng = np.random.default_rng(0)
    many = rng.random(70_000)
    rows = pd.DataFrame({"y": (rng.random(70_000) < many).astype(int), "p": many})
    rows.to_parquet(folder / "rows.parquet")
    flights = er.datasets.oring()
    flights.to_csv(folder / "oring.csv", index=False)

    def intervals() -> Any:
        region = er.ConfidenceRegion("logistic", n_resamples=199, rng=0)
        return region.fit(flights["temp"], flights["y"]).intervals()

    def command() -> None:
        from exactregion.cli import main

        page = str(folder / "page.html")
        options = ["--formula", "y ~ temp", "--resamples", "99", "--report", page, "--force"]
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            arguments = sys.argv
            sys.argv = ["exactregion", "fit", str(folder / "oring.csv"), *options]
            try:
                main()
            except SystemExit as end:
                if end.code not in (None, 0):
                    raise
            finally:
                sys.argv = arguments

    return {
        "calibration_test in memory": lambda: er.calibration_test(y, p, n_resamples=199, rng=0),
        "intervals of a region": intervals,
        "calibration_test on Parquet": lambda: er.calibration_test(
            "y", "p", data=folder / "rows.parquet", n_resamples=19, rng=0
        ),
        "fit --report": command,
    }


def sizes() -> dict[str, Any]:
    """Count lines, modules, files at the top, the median module, and classes of the core."""
    modules = sorted(ROOT.rglob("*.py"))
    lines = [len(path.read_text(encoding="utf8").splitlines()) for path in modules]
    trees = [
        ast.parse(path.read_text(encoding="utf8"))
        for path in modules
        if path.relative_to(ROOT).parts[0] not in FRONT
    ]
    classes = sum(isinstance(node, ast.ClassDef) for tree in trees for node in ast.walk(tree))
    cli = [n for path, n in zip(modules, lines, strict=True) if "cli" in path.parts]
    return {
        "lines": sum(lines),
        "modules": len(modules),
        "files at the top": len(list(ROOT.glob("*.py"))),
        "median module": statistics.median(lines),
        "lines of command line": sum(cli),
        "classes of the core": classes,
    }


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore")
    for name, number in sizes().items():
        print(f"{name:45} {number:>8,}")
    print(f"\n{'journey':30} {'functions':>10} {'modules':>8} {'depth':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for name, call in journeys(Path(folder)).items():
            functions, modules, depth = traced(call)
            print(f"{name:30} {functions:>10} {modules:>8} {depth:>6}")


if __name__ == "__main__":
    main()
