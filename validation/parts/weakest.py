"""Coverage where a search for the ends of a region has the hardest time.

Rare outcomes (logistic, 100 rows), a psychometric function whose lapse rate nobody knows (seven
levels of 40 trials), and the Weibull curve of the tutorial (1,170 trials). Individual intervals of
all parameters, the ED50 or threshold, and a simultaneous band at nine inputs, by default settings
but for the number of resamples. Each must cover at least as often as it says, whether its ends were
proven or searched: a search that stops short would show here.

Some seconds per data set.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit

import exactregion as er
from validation.parts.searched import WEIBULL_BOUNDS, weibull
from validation.rates import rate_table
from validation.study import Case, generator

RESAMPLES, LEVEL = 99, 0.9
RARE, PSYCHOMETRIC, WEIBULL = "rare outcomes", "psychometric, free lapse", "Weibull"
TRUTH = {RARE: (-3.0, 1.0), PSYCHOMETRIC: (-0.3, 1.5, 0.03), WEIBULL: (0.0045, 3.3, 0.005)}
CASES = [
    Case({"data": RARE}, 400, 400, together=4),
    Case({"data": PSYCHOMETRIC}, 100, 400, together=1),
    Case({"data": WEIBULL}, 100, 400, together=1),
]


def drawn(data: str, rng: np.random.Generator) -> tuple[Any, np.ndarray, np.ndarray, Any]:
    """Draw data of a known truth: the family, inputs, outcomes, and the threshold of θ."""
    theta = TRUTH[data]
    if data == RARE:
        x = rng.normal(size=100)
        y = (rng.random(100) < expit(theta[0] + theta[1] * x)).astype(int)
        return er.models.Logistic(), x, y, lambda th: -th[0] / th[1]
    if data == PSYCHOMETRIC:
        x, trials = np.linspace(-2, 2, 7), np.full(7, 40)
        model: Any = er.models.Psychometric(er.models.Logistic(), guess=0.5, lapse="free")
        p = model.for_inputs(x[:, None]).evaluate(np.array([theta]), x[:, None])[0]

        def threshold(th: np.ndarray) -> float:
            return float(-th[0] / th[1])
    else:
        answers = er.datasets.two_afc()
        x, trials = answers["level"].to_numpy(float), answers["n_total"].to_numpy()
        names = ("scale", "shape", "lapse")
        model = er.models.Function(weibull, names=names, bounds=WEIBULL_BOUNDS)
        p = weibull(np.array(theta), x)

        def threshold(th: np.ndarray) -> float:
            return float(th[0])  # of those who do not lapse, 1 - 1/e of the way up

    successes = rng.binomial(trials, p)
    return model, x, np.column_stack([successes, trials - successes]), threshold


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Whether each result covers, on one data set."""
    rng = generator(settings, repetition)
    data = settings["data"]
    model, x, y, threshold = drawn(data, rng)
    truth = np.array(TRUTH[data])
    region = er.ConfidenceRegion(
        model, confidence_level=LEVEL, n_resamples=RESAMPLES, rng=int(rng.integers(2**32)),
        pos_label=1 if y.ndim == 1 else None,
    ).fit(x, y)  # fmt: skip
    found = [
        {
            "of": f"interval, {name}",
            "covered": bool(row["lower"] <= true <= row["upper"]),
            "open": bool(np.isinf([row["lower"], row["upper"]]).any()),
            "certified": bool(row["certified"]),
        }
        for (name, row), true in zip(region.intervals().iterrows(), truth, strict=True)
    ]
    if data != WEIBULL:  # the scale is its threshold
        g: Any = [[-1, 0], [0, 1]] if data == RARE else threshold
        interval = region.functional(g)
        found.append(
            {
                "of": "threshold",
                "covered": interval.lower <= threshold(truth) <= interval.upper,
                "open": bool(np.isinf([interval.lower, interval.upper]).any()),
                "certified": interval.certified,
            }
        )
    band = region.band(np.linspace(x.min(), x.max(), 9))
    p = region.model_.probabilities(truth, band.X)
    found.append(
        {
            "of": "band",
            "covered": bool(((band.lower <= p) & (p <= band.upper)).all()),
            "open": False,
            "certified": band.certified,
        }
    )
    return found


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Coverage with exact limits, and the shares of open and of proven results."""
    by = ["data", "of"]
    shares = frame.astype({"open": float, "certified": float}).groupby(by, sort=False)
    table = rate_table(frame, by, "covered").assign(nominal=LEVEL)
    return {"coverage": table.merge(shares[["open", "certified"]].mean().reset_index(), on=by)}
