"""Ranks at random θ of random boxes stay within their bounds: python -m validation.boxes.

`region.enclosure` bounds the rank of every θ in a box, and says of each alternative whether its Z
is below or above the original's all over it. Here boxes of all sizes are drawn, near the estimate
and far out, for data of many kinds, and the engines evaluate θ in them: corners, points on the
sides, points inside. Of every other box only a part is looked at, with what is known of the whole.
One θ with another rank or verdict than the box allows would be a defect. Prints one line per family
and kind of data.

A family is added by a line in `FAMILIES`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import exactregion as er
from exactregion.engine import PreparedStatistic
from exactregion.ranking import AcceptedRanks, rank_of
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.enclosure import Boxes, Enclosure
from exactregion.region.proofs.inputs import ProofInputs, can_enclose
from exactregion.region.ratios import LinearRatios
from exactregion.region.window import likely_parameters, window_at
from exactregion.statistics import Combined, Discrepancy, Score
from exactregion.statistics.focused import Focused
from validation.study import write_tables

__all__ = ["DATA", "FAMILIES", "BoxCheck", "check_boxes", "draw_region"]

Family = Callable[[np.ndarray, np.random.Generator], tuple[Any, np.ndarray]]
"""Inputs (n, k) to a model for them, and the inputs that it takes."""


def _logistic(X: np.ndarray, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    return er.models.Logistic(intercept=X.shape[1] < 3 and bool(rng.random() < 0.9)), X


def _probit(X: np.ndarray, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    return er.models.Probit(intercept=X.shape[1] < 3), X


def _cloglog(X: np.ndarray, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    return er.models.CLogLog(intercept=X.shape[1] < 3), X


def _recalibration(X: np.ndarray, rng: np.random.Generator) -> tuple[Any, np.ndarray]:
    predictor = _unit(X) @ rng.normal(size=X.shape[1])
    predictor *= 10.0 ** rng.uniform(-1, 1)
    return er.models.Recalibration(), 1 / (1 + np.exp(-np.clip(predictor, -30, 30)))


FAMILIES: dict[str, Family] = {
    "logistic": _logistic,
    "recalibration": _recalibration,
    "probit": _probit,
    "cloglog": _cloglog,
}

DATA = (
    "plain",
    "ties",
    "units",
    "offset",
    "heavy tails",
    "outlier",
    "duplicates",
    "counts",
    "many trials",
)
"""Kinds of data. Inputs with heavy tails, and boxes far out, have probabilities that are 0 or 1 in
floating point, and an outlier has the outcome that is impossible then; an offset makes linear
predictors small differences of large numbers."""

CERTAIN = 53 * np.log(2)
"""The logit from which on a probability is 1 in floating point, or below 2⁻⁵³."""

STATISTICS = ("combined", "score", "discrepancy", "focused", "narrow")


def _unit(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12 * np.abs(X).max() + 1e-300)


def draw_region(
    family: str, data: str, statistic: str, rng: np.random.Generator
) -> FittedRegion | None:
    """Draw a data set and fit a region to it; None if it cannot be enclosed."""
    n, columns = int(rng.integers(3, 61)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, columns))
    if data == "ties":
        X = np.round(X)
    if data == "units":
        X = X * 10.0 ** rng.integers(-6, 7, size=columns)
    if data == "offset":
        X += 10.0 ** rng.uniform(1, 6)
    if data == "heavy tails":
        X = rng.standard_cauchy(size=(n, columns)) * 10.0 ** rng.uniform(-1, 2)
    if data == "duplicates":
        X = X[:, rng.integers(columns, size=columns)] + 1e-5 * rng.normal(size=(n, columns))
    predictor = rng.normal() + _unit(X) @ rng.normal(scale=1.5, size=columns)
    p = 1 / (1 + np.exp(-np.clip(predictor, -700, 700)))
    y = (rng.random(n) < p).astype(int)
    if data == "outlier":
        X[0] *= 40 / np.abs(X[0]).max()
        y[0] = predictor[0] < 0
    model, X = FAMILIES[family](X, rng)
    is_counts = data in ("counts", "many trials")
    if is_counts:
        # rows without trials too; few rows where there are many labels
        rows = n if data == "counts" else min(n, 8)
        X, p = X[:rows], p[:rows]
        trials = rng.integers(0, 7 if data == "counts" else 120, size=rows)
        trials[0] = 3
        successes = rng.binomial(trials, p)
        y = np.column_stack([successes, trials - successes])
    fitted = (
        er.ConfidenceRegion(
            model,
            statistic={
                "focused": "combined",
                "narrow": Combined(Score(), Discrepancy(bandwidth=0.3), weights=(1, 2)),
            }.get(statistic, statistic),
            n_resamples=int(rng.choice([19, 99])),
            confidence_level=0.9,
            pos_label=None if is_counts else 1,
            rng=int(rng.integers(2**31)),
        )
        .fit(X, y)
        .fitted_
    )
    return fitted if can_enclose(fitted) else None


@dataclass(frozen=True)
class BoxCheck:
    """What a region's boxes showed.

    `told` is the share of verdicts that are not open; `ranks` and `verdicts` count θ with a rank,
    and pairs of θ and alternative with a sign of Z_i - Z_0, that their box does not allow.
    """

    boxes: int
    points: int
    told: float
    certain: float
    ranks: int
    verdicts: int


def check_boxes(
    fitted: FittedRegion,
    rng: np.random.Generator,
    *,
    boxes: int,
    points: int,
    is_focused: bool = False,
) -> BoxCheck:
    """Draw boxes, and evaluate θ in each of them."""
    window = window_at(fitted.model, fitted.sample, likely_parameters(fitted.model, fitted.sample))
    d, m, seat = len(window.origin), fitted.resampling.m, fitted.resampling.seat
    number = _draw_number(rng, d) if is_focused else None
    # with low = 2 no alternative is left out
    rule = Enclosure(fitted, window, AcceptedRanks(m, 2, m - 1), number)
    centre = rng.normal(size=(boxes, d)) * 10.0 ** rng.uniform(-1, 2.5, size=(boxes, 1))
    centre[rng.random(boxes) < 0.05] *= 1e3
    half = 10.0 ** rng.uniform(-7, 1.5, size=(boxes, 1)) * rng.uniform(0.0, 1.0, size=(boxes, d))
    half[rng.random((boxes, d)) < 0.1] = 0.0
    edge = rng.random(boxes) < 0.2
    half[edge] = np.maximum(half[edge], 1e-4)
    centre[edge] = _at_the_edge(rule.inputs, centre[edge], rng)
    drawn = Boxes(centre, half, [np.zeros((boxes, m - 1), dtype=np.int8)])
    lowest, highest = rule.ranks(drawn, 0)
    # of every other box a part is looked at, which uses what is known of the whole
    part = np.arange(boxes) % 2 == 1
    size = 10.0 ** rng.uniform(-1.0, 0.0, size=(boxes, 1))
    shift = rng.uniform(-1, 1, size=(boxes, d)) * (1 - size) * half
    centre[part], half[part] = (centre + shift)[part], (half * size)[part]
    fresh = np.zeros((part.sum(), m - 1), dtype=np.int8)
    inner = Boxes(centre[part], half[part], [fresh], [drawn.within[0][part]])
    lowest[part], highest[part] = rule.ranks(inner, 0)
    drawn.verdicts[0][part] = inner.verdicts[0]

    share = rng.uniform(-1, 1, size=(boxes, points, d))
    share[:, : points // 3] = np.sign(share[:, : points // 3])  # corners
    on_side = np.arange(points // 3, 2 * points // 3)
    share[:, on_side, rng.integers(d, size=len(on_side))] = 1.0
    theta = window.theta((centre[:, None] + share * half[:, None]).reshape(-1, d))
    prepared = None
    if number is not None:
        prepared = PreparedStatistic.of(Focused(number.gradient), fitted.sample.inputs, m)
    Z = fitted.statistics(theta, prepared)
    P = fitted.candidates(theta[:: max(points // 4, 1)]).probabilities
    ranks = rank_of(Z, seat).reshape(boxes, points)
    wrong = (ranks < lowest[:, None]) | (ranks > highest[:, None])

    others = np.delete(Z, seat, axis=1).reshape(boxes, points, m - 1)
    original = Z[:, seat].reshape(boxes, points, 1)
    is_below = np.where(np.arange(m - 1) < seat, others <= original, others < original)
    verdicts = drawn.verdicts[0][:, None]
    # where the observed outcome is impossible Z is infinite, and the rank is the last whatever is
    # above: the bounds of ranks allow for it apart from verdicts
    false = ((verdicts == -1) & ~is_below) | ((verdicts == 1) & is_below & np.isfinite(original))
    # an outcome that is impossible all over the box gives the last rank, whatever the verdicts
    false[lowest == m] = False
    return BoxCheck(
        boxes,
        len(theta),
        float((verdicts != 0).mean()),
        float(((P == 0) | (P == 1)).any(axis=1).mean()),
        int(wrong.sum()),
        int(false.sum()),
    )


def _draw_number(rng: np.random.Generator, d: int) -> LinearRatios:
    """Draw a number that is linear in θ, or a ratio of such."""
    above, below = rng.normal(size=(2, 1, d)) * (rng.random((2, 1, d)) < 0.7)
    above = above if above.any() else np.eye(d)[:1]
    return LinearRatios(above, np.zeros(1), below if below.any() and rng.random() < 0.5 else None)


def _at_the_edge(rule: ProofInputs, centre: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Move centres along their direction to where the p of some row becomes 0 or 1."""
    slopes = centre @ rule.x.T
    boxes = np.arange(len(centre))
    steepest = np.abs(slopes).argmax(axis=1)
    row = np.where(boxes % 2, steepest, rng.integers(slopes.shape[1], size=len(centre)))
    slope = slopes[boxes, row]
    edge = np.where(slope > 0, rule.certain[1], rule.certain[0])
    if rule.link is None:
        edge = np.sign(slope) * CERTAIN
    length = (edge - rule.eta[row]) / np.where(slope, slope, 1.0)
    return centre * length[:, None]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--boxes", type=int, default=10_000, help="boxes per family")
    parser.add_argument("--points", type=int, default=1000, help="θ per box")
    parser.add_argument("--families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true", help="keep the table for the docs")
    asked = parser.parse_args()
    each = 25  # boxes per data set
    records = []
    for family in asked.families:
        for data in DATA:
            started, turn = time.perf_counter(), 0
            checks: list[BoxCheck] = []
            while len(checks) * each < asked.boxes / len(DATA):
                statistic = STATISTICS[turn % len(STATISTICS)]
                key = [list(FAMILIES).index(family), DATA.index(data), turn, asked.seed]
                rng = np.random.default_rng(key)
                turn += 1
                fitted = draw_region(family, data, statistic, rng)
                if fitted is None:
                    continue
                check = check_boxes(
                    fitted,
                    rng,
                    boxes=each,
                    points=asked.points,
                    is_focused=statistic == "focused",
                )
                checks.append(check)
                if check.ranks or check.verdicts:
                    print("defect:", key, statistic, check, flush=True)
            records.append(
                {
                    "family": family,
                    "data": data,
                    "data_sets": len(checks),
                    "boxes": sum(check.boxes for check in checks),
                    "points": sum(check.points for check in checks),
                    "told": np.mean([check.told for check in checks]),
                    "certain": np.mean([check.certain for check in checks]),
                    "ranks_outside": sum(check.ranks for check in checks),
                    "verdicts_false": sum(check.verdicts for check in checks),
                    "seconds": time.perf_counter() - started,
                }
            )
            print(pd.DataFrame(records[-1:]).to_string(index=False, header=len(records) == 1),
                  flush=True)  # fmt: skip
    table = pd.DataFrame(records)
    print(table.to_string(index=False, float_format=lambda v: f"{v:.3g}"))
    if asked.write:
        write_tables("boxes", {"boxes": table.drop(columns="seconds")})


if __name__ == "__main__":
    main()
