"""Ranks at θ of random boxes of charts stay within their bounds: python -m validation.charts.

`region.from_probabilities` bounds the rank of every θ in a box, for any family with bounds of its
probabilities. As in `validation.boxes`, boxes of all sizes are drawn, near the region, far out and
up to infinity, for data of many kinds, and the engines evaluate θ in them: one θ with another rank
or verdict than the box allows would be a defect. Then intervals that are proven are attacked with
θ outside of them, extreme ones too: one member would be a defect.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import exactregion as er
from exactregion.ranking import AcceptedRanks, rank_of
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.chart_bounds import can_chart
from exactregion.region.proofs.charts import Chart, _products, charts_of
from exactregion.region.proofs.enclosure import Boxes
from exactregion.region.proofs.from_probabilities import FromProbabilities

__all__ = [
    "DATA",
    "FAMILIES",
    "STATISTICS",
    "ChartCheck",
    "Weibull",
    "attack",
    "check_charts",
    "draw_region",
]


class Weibull(er.models.Model):
    """A Weibull curve between a known guess rate and a free lapse rate, as in the docs."""

    parameter_names = ("scale", "shape", "lapse")
    bounds = ((0.05, 20.0), (0.2, 15.0), (0.0, 0.2))

    def evaluate(self, theta: np.ndarray, X: Any) -> np.ndarray:
        scale, shape, lapse = theta.T[:, :, np.newaxis]
        x = np.abs(np.ravel(X))
        return np.asarray(0.5 + (0.5 - lapse) * -np.expm1(-((x / scale) ** shape)))

    def probability_bounds(
        self, low: np.ndarray, high: np.ndarray, X: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """P falls with the scale and the lapse rate; in the shape it is monotone at each x."""
        least, most = low.copy(), high.copy()
        least[:, [0, 2]], most[:, [0, 2]] = high[:, [0, 2]], low[:, [0, 2]]
        ends = []
        for end, pick in ((least, np.minimum), (most, np.maximum)):
            other = end.copy()
            other[:, 1] = (low + high - end)[:, 1]
            ends.append(pick(self.evaluate(end, X), self.evaluate(other, X)))
        return ends[0], ends[1]


FAMILIES: dict[str, Callable[[], Any]] = {
    "fixed rates": lambda: er.models.Psychometric(guess=0.5, lapse=0.02),
    "free lapse": lambda: er.models.Psychometric(guess=0.5, lapse="free"),
    "free guess": lambda: er.models.Psychometric(er.models.Probit(), guess="free", lapse=0.0),
    "immunes": lambda: er.models.Psychometric(er.models.CLogLog(), guess=0.0, lapse="free"),
    "no intercept": lambda: er.models.Psychometric(
        er.models.Logistic(intercept=False), guess=0.25, lapse="free"
    ),
    "logistic": er.models.Logistic,
    "Weibull": Weibull,
}

STATISTICS = ("ratio", "discrepancy", "embedding", "neighborhood")

DATA = ("labels", "counts", "ties", "offset", "units", "separated")


def draw_region(
    family: str, data: str, statistic: str, rng: np.random.Generator
) -> FittedRegion | None:
    """Draw a data set and fit a region to it; None if nothing can be proven of it."""
    n = int(rng.integers(4, 25))
    x = rng.normal(size=n) * rng.uniform(0.5, 2)
    if data == "ties":
        x = np.round(2 * x) / 2
    if data == "separated":
        x = np.sort(x)
    p = 0.5 + 0.45 * expit(3 * rng.normal() * x + rng.normal())
    y: Any = (np.arange(n) > n // 2).astype(int) if data == "separated" else rng.random(n) < p
    if data == "counts":
        trials = rng.integers(1, 40, size=n)
        successes = rng.binomial(trials, p)
        y = np.column_stack([successes, trials - successes])
    x = x + 10.0 ** rng.uniform(1, 3) if data == "offset" else x
    x = x * 10.0 ** rng.integers(-5, 6) if data == "units" else x
    region = er.ConfidenceRegion(
        FAMILIES[family](),
        statistic=statistic,
        n_resamples=int(rng.choice([19, 99])),
        confidence_level=0.9,
        pos_label=None if data == "counts" else 1,
        rng=int(rng.integers(2**31)),
    )
    fitted = region.fit(x, y if data == "counts" else y.astype(int)).fitted_
    return fitted if can_chart(fitted) else None


@dataclass(frozen=True)
class ChartCheck:
    """Boxes and θ that were looked at, the share of verdicts told, and defects found."""

    boxes: int
    points: int
    told: float
    ranks: int
    verdicts: int


def check_charts(
    fitted: FittedRegion, rng: np.random.Generator, *, boxes: int, points: int
) -> ChartCheck:
    """Draw boxes of random charts, and evaluate θ in each of them."""
    charts: Any = charts_of(fitted)
    m, seat = fitted.resampling.m, fitted.resampling.seat
    chart: Chart = charts[rng.integers(len(charts))]
    rule = FromProbabilities(fitted, chart, AcceptedRanks(m, 2, m - 1))
    middle, whole = chart.box
    d = len(middle)
    low, high = middle - whole, middle + whole
    centre = rng.uniform(low, high, size=(boxes, d))
    # close to the end of some coordinates, that is, to infinity
    end = rng.random((boxes, d)) < 0.25
    centre = np.where(end, high - (high - centre) * 10.0 ** rng.uniform(-9, 0, (boxes, d)), centre)
    half = 10.0 ** rng.uniform(-6, 0, size=(boxes, 1)) * rng.uniform(size=(boxes, d))
    sides = np.clip([centre - half, centre + half], low, high)
    touches = end & (rng.random((boxes, d)) < 0.5)
    sides[1] = np.where(touches, high, sides[1])
    centre, half = (sides[0] + sides[1]) / 2, (sides[1] - sides[0]) / 2
    drawn = Boxes(centre, half, [np.zeros((boxes, m - 1), dtype=np.int8)])
    lowest, highest = rule.ranks(drawn, 0)
    share = rng.uniform(-1, 1, size=(boxes, points, d))
    share[:, : points // 2] = np.sign(share[:, : points // 2])
    t = centre[:, None] + share * half[:, None]
    # points at infinity cannot be evaluated: as far as doubles go
    t = np.clip(t, -1 + 2.0**-40, 1 - 2.0**-40).reshape(-1, d)
    t = np.clip(t, low, high)
    theta = chart.theta(t)
    t = _as_computed(fitted, chart, theta, t)
    usable = np.isfinite(theta).all(axis=1) & fitted.is_defined(theta)
    Z = np.zeros((len(theta), m))
    Z[usable] = fitted.statistics(theta[usable])
    usable = usable.reshape(boxes, points)
    # doubles that are not in the box, by the rounding to 2⁻⁴⁰ or of their predictors
    inside = (np.abs(t.reshape(boxes, points, d) - centre[:, None]) <= half[:, None] + 1e-15).all(
        -1
    )
    usable &= inside
    ranks = rank_of(Z, seat).reshape(boxes, points)
    wrong = ((ranks < lowest[:, None]) | (ranks > highest[:, None])) & usable
    others = np.delete(Z, seat, axis=1).reshape(boxes, points, m - 1)
    original = Z[:, seat].reshape(boxes, points, 1)
    is_below = np.where(np.arange(m - 1) < seat, others <= original, others < original)
    verdicts = drawn.verdicts[0][:, None]
    false = ((verdicts == -1) & ~is_below) | ((verdicts == 1) & is_below & np.isfinite(original))
    false &= usable[:, :, None]
    told = float((verdicts != 0).mean())
    return ChartCheck(boxes, int(usable.sum()), told, int(wrong.sum()), int(false.sum()))


def _as_computed(
    fitted: FittedRegion, chart: Chart, theta: np.ndarray, t: np.ndarray
) -> np.ndarray:
    """Return the coordinates of θ by their predictors as the engines compute them.

    Far out, those of the rows beside a cone are small differences of large numbers.
    """
    if not chart.is_cone:
        return t
    model: Any = fitted.model
    core = getattr(model, "core", model)
    X = np.asarray(fitted.sample.inputs.X, dtype=float).reshape(len(fitted.sample.inputs), -1)
    design = core.linear_design(X)
    products = _products(design, chart.axes[:2, :2])
    after, own = np.abs(products[:, 1]).argmin(), np.abs(products[:, 0]).argmin()
    eta = core.linear_predictor(theta[:, :2], X)
    signs = np.sign([products[after, 0], products[own, 1]])
    c = eta[:, [after, own]] * signs / chart.scale[:2]  # below zero it is another cone's
    # where nothing cancels they are as drawn
    computed = np.where(np.abs(theta[:, :2]).max(axis=1) > 1e3, 1.0, 0.0)[:, None] > 0
    return np.concatenate([np.where(computed, c / (1 + np.abs(c)), t[:, :2]), t[:, 2:]], axis=1)


def attack(fitted: FittedRegion, rng: np.random.Generator, *, probes: int) -> tuple[int, int]:
    """Draw θ outside the proven joint intervals; return how many, and how many are members."""
    region = er.ConfidenceRegion.from_fitted(fitted)
    table = region.intervals(joint=True, certify=True)
    proven = table["certified"].to_numpy()
    low = np.where(proven, table["lower"], -np.inf)
    high = np.where(proven, table["upper"], np.inf)
    if table["status"].eq("empty").any():
        low, high = np.full(len(low), np.inf), np.full(len(low), -np.inf)
    charts: Any = charts_of(fitted)
    tried, members = 0, 0
    finite = np.isfinite(low) & np.isfinite(high)
    size = np.where(finite & (high > low), high - low, 1.0)
    start = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))
    bounds = np.array(fitted.model.bounds, dtype=float)
    for _ in range(max(1, probes // 2000)):
        drawn = []
        for chart in rng.choice(np.array(charts, dtype=object), size=4):
            middle, whole = chart.box
            t = middle + whole * rng.uniform(-1, 1, size=(250, len(middle)))
            far = rng.random(t.shape) < 0.2
            ends = np.sign(t) * (1 - 10.0 ** rng.uniform(-10, -1, t.shape))
            drawn.append(
                chart.theta(np.clip(np.where(far, ends, t), middle - whole, middle + whole))
            )
        # just outside an end, anywhere in the other parameters
        near = start + size * rng.uniform(-0.2, 1.2, size=(1000, len(low)))
        drawn.append(np.clip(near, bounds[:, 0], bounds[:, 1]))
        theta = np.concatenate(drawn)
        outside = ((theta < low) | (theta > high)).any(axis=1)
        theta = theta[outside & np.isfinite(theta).all(axis=1)]
        theta = theta[fitted.is_defined(theta)]
        tried += len(theta)
        if len(theta):
            members += int(fitted.accepted.holds(fitted.ranks(theta)[0]).sum())
    return tried, members


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data-sets", type=int, default=20, help="per family and kind of data")
    parser.add_argument("--boxes", type=int, default=100, help="per data set")
    parser.add_argument("--points", type=int, default=50, help="per box")
    parser.add_argument("--probes", type=int, default=0, help="outside proven sets, per data set")
    parser.add_argument("--families", nargs="*", default=list(FAMILIES))
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    records = []
    for family in asked.families:
        for data in DATA:
            started = time.perf_counter()
            record: dict[str, Any] = {"family": family, "data": data, "data_sets": 0, "boxes": 0,
                                      "points": 0, "told": 0.0, "ranks": 0, "verdicts": 0,
                                      "probes": 0, "members": 0}  # fmt: skip
            for turn in range(asked.data_sets):
                key = [list(FAMILIES).index(family), DATA.index(data), turn, asked.seed]
                rng = np.random.default_rng(key)
                statistic = STATISTICS[turn % len(STATISTICS)]
                fitted = draw_region(family, data, statistic, rng)
                if fitted is None:
                    continue
                check = check_charts(fitted, rng, boxes=asked.boxes, points=asked.points)
                tried, members = (
                    attack(fitted, rng, probes=asked.probes) if asked.probes else (0, 0)
                )
                if check.ranks or check.verdicts or members:
                    print("defect:", key, statistic, check, members, flush=True)
                record["data_sets"] += 1
                record["told"] += check.told
                for name in ("boxes", "points", "ranks", "verdicts"):
                    record[name] += getattr(check, name)
                record["probes"] += tried
                record["members"] += members
            record["told"] /= max(record["data_sets"], 1)
            record["seconds"] = time.perf_counter() - started
            records.append(record)
            print(
                pd.DataFrame([record]).to_string(index=False, header=len(records) == 1), flush=True
            )


if __name__ == "__main__":
    main()
