"""The experiment of the paper, from data to figure: ``python -m exactregion.paper.paper``.

A mixture of two Laplace densities with known locations ±1, true (p, λ) = (1/2, 1), n = 500, m = 50,
σ = 1/2, 90 %. Ranks of Algorithms I, II and III, and of score and combined, over (p, λ), and the
90 % regions beside the likelihood-ratio region and the two stripes.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from exactregion.data.files import write_whole
from exactregion.paper import setting
from exactregion.paper.study import Found, Study, study

__all__ = ["FILES", "main", "run", "summary"]

FILES = ("paper.png", "paper.pdf", "paper.json")
"""What the experiment leaves behind."""


def run(
    out: str | os.PathLike[str],
    seed: int = 0,
    *,
    n: int = setting.N_ROWS,
    n_resamples: int = setting.N_RESAMPLES,
    points: int = 100,
    levels: int = 8,
    progress: Callable[[str], object] | None = None,
) -> list[Path]:
    """Repeat the experiment, and write figure and numbers.

    Parameters
    ----------
    out : path
        Folder for the files; made if it is not there.
    seed : int
        Fixes data and draws: the same seed gives the same regions.
    n : int
        Number of rows.
    n_resamples : int
        Number of alternatives, m - 1.
    points : int
        Rank maps have points × points parameters.
    levels : int
        Areas are taken from a grid with 2^levels + 1 points an axis.
    progress : callable, optional
        Told what is being worked on.

    Returns
    -------
    list of Path
        paper.png, paper.pdf and paper.json, each written whole or not at all.
    """
    from exactregion.paper.paper_figure import draw, save

    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    done = study(
        seed, n=n, n_resamples=n_resamples, points=points, levels=levels, progress=progress
    )
    figure = draw(done)
    text = json.dumps(summary(done), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    picture, page, numbers = (folder / name for name in FILES)
    return [
        write_whole(picture, lambda file: save(figure, file, "png")),
        write_whole(page, lambda file: save(figure, file, "pdf")),
        write_whole(numbers, lambda file: file.write(text.encode())),
    ]


def summary(done: Study) -> dict[str, Any]:
    """Give the experiment in numbers, ready for JSON; what is not finite becomes None."""
    relative = done.relative_areas()
    regions = {key: _row(found, relative[key]) for key, found in done.regions.items()}
    stripes = done.stripes
    regions["stripes"] = {
        "title": setting.TITLES["stripes"],
        "area": _finite(stripes.area),
        "relative_area": _finite(relative["stripes"]),
        "coverage": stripes.coverage,
        "guarantee": "at least",
        "contains_truth": bool(stripes.contains(setting.TRUTH)),
        "p": list(stripes.p),
        "scale": [_finite(end) for end in stripes.scale],
        "seconds": round(done.stripes_seconds, 6),
    }
    return {"setting": _setting(done), "regions": regions}


def _setting(done: Study) -> dict[str, Any]:
    n = len(done.data.y)
    (p_low, p_high), (scale_low, scale_high) = done.box.tolist()
    return {
        "seed": done.seed,
        "n": n,
        "m": done.m,
        "confidence_level": setting.CONFIDENCE_LEVEL,
        "truth": {"p": setting.TRUTH[0], "scale": setting.TRUTH[1]},
        "locations": list(setting.LOCATIONS),
        "bandwidth": setting.BANDWIDTH,
        "neighbours": setting.neighbours(n),
        "domain": list(setting.DOMAIN),
        "box": {"p": [p_low, p_high], "scale": [scale_low, scale_high]},
    }


def _row(found: Found, relative: float) -> dict[str, Any]:
    low, high = found.fine.area_bracket
    row = {
        "title": found.title,
        "area": found.fine.area,
        "area_bracket": [low, high],
        "relative_area": _finite(relative),
        "coverage": found.coverage,
        "guarantee": found.guarantee,
        "contains_truth": found.contains_truth,
        "status": found.fine.status,
        "pieces": found.fine.pieces,
        "seconds": round(found.seconds, 3),
    }
    if found.ranks is not None:
        cost = 1e6 * found.ranks.seconds / found.ranks.evaluations
        row["microseconds_per_parameter"] = round(cost, 1)
    return row


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line: progress to stderr, the files to stdout.

    Parameters
    ----------
    arguments : sequence of str, optional
        Those of the command line by default.
    """
    parser = argparse.ArgumentParser(
        prog="python -m exactregion.paper.paper",
        description="Repeat the experiment of the paper: figure (PNG, PDF) and numbers (JSON).",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for the files")
    parser.add_argument("--seed", type=int, default=0, help="of data and draws (default: 0)")
    chosen = parser.parse_args(arguments)
    if chosen.seed < 0:
        parser.error(f"argument --seed: must not be negative. Got {chosen.seed} instead.")
    files = run(
        chosen.out, chosen.seed, progress=lambda message: sys.stderr.write(message + " …\n")
    )
    sys.stdout.write("".join(f"{file}\n" for file in files))


if __name__ == "__main__":
    main()
