"""Which statistic, bandwidth and weight should be the default: power of many, on the same data.

Each repetition draws inputs, a candidate, and outcomes of several wrongs that the candidate does
not know of. A wrong δ is added to the logit of the candidate, as large as Σ p (1 - p) δ² =
`STRENGTH`: a test that knew the shape of δ would find it 98 times in 100, whatever n is. The power
of a statistic is then what it keeps of that without knowing the shape.

- ``candidate``: bandwidths of `model_test`, as factors of the median distance, one or several
  at once, and the number of neighbours.
- ``family``: weights of the kernel part in `Combined`. Wrongs inside the family are parameters
  nearby, where power is tightness of regions; of those outside, what the family could follow is
  taken off first, so that the candidate is the best member of the family.
- ``calibration``: parts of `Omnibus`.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from exactregion.data.sample import Sample
from exactregion.engine import PreparedStatistic
from exactregion.ranking import pvalue_of, rank_of
from exactregion.statistics import Candidates, Combined, Neighborhood, Omnibus, Statistic
from validation.rules import WEIGHTS, Rules, rules_for
from validation.study import Case, generator
from validation.wrongs import LEVEL, STRENGTH, wrongs_of

M = 200
DATA_SETS = 5
"""Outcomes of each wrong that are drawn for the same inputs; they share the alternatives."""

SIZES = (50, 200, 1000)


def _case(question: str, n: int, d: int, **more: Any) -> Case:
    together = {50: 20, 200: 10, 1000: 2}[n]
    settings = {"question": question, "n": n, "d": d, "strength": STRENGTH, **more}
    return Case(settings, 60, 600, together)


CASES = [
    *(_case("candidate", n, d) for n in SIZES for d in (1, 2, 5)),
    *(_case("family", n, d, model="logistic") for n in SIZES for d in (1, 3, 5)),
    *(_case("family", n, 1, model="mixture") for n in SIZES),
    *(_case("calibration", n, 1, predictions=p) for n in SIZES for p in ("uniform", "rare")),
]


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """Count the rejections of each rule, for each wrong."""
    rng = generator(settings, repetition)
    X, model, theta, p, wrongs = wrongs_of(settings, rng)
    inputs = Sample.from_data(X, np.arange(len(p)) % 2).inputs
    rules = rules_for(settings["question"], inputs)
    candidates = Candidates(inputs, p[inputs.order][None], False, model, theta)
    truths = np.repeat([expit(logit(p) + wrong) for wrong in wrongs.values()], DATA_SETS, axis=0)
    drawn = rng.random((M - 1, len(p))) < p
    observed = rng.random(truths.shape) < truths
    outcomes = np.concatenate([drawn, observed])[:, inputs.order].astype(np.float64)
    seat = int(rng.integers(M))
    pvalues = _pvalues(rules, candidates, outcomes, seat)
    return [
        {"wrong": wrong, "rule": rule, "rejected": int(rejected)}
        for rule, of_rule in pvalues.items()
        for wrong, rejected in zip(
            wrongs, (of_rule <= LEVEL + 1e-9).reshape(-1, DATA_SETS).sum(axis=1), strict=True
        )
    ]


# --- p-values of many rules at once ---------------------------------------------------------------


def _pvalues(
    rules: Rules, candidates: Candidates, outcomes: np.ndarray, seat: int
) -> dict[str, np.ndarray]:
    """Rank each observed data set among the same alternatives, by each rule."""

    @cache
    def values(part: Statistic) -> tuple[np.ndarray, np.ndarray | None]:
        return _values(part, candidates, outcomes, seat)

    found = {}
    for name, rule in rules.items():
        if isinstance(rule, (Combined, Omnibus)):
            pairs = zip(rule.statistics, rule.weights, strict=True)
            Z = sum(weight * rule._scaled(*values(part)) for part, weight in pairs)
        else:
            Z, _ = values(rule)
        found[name] = pvalue_of(rank_of(Z, seat), M)
    return found


def _values(
    part: Statistic, candidates: Candidates, outcomes: np.ndarray, seat: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Z of the M data sets, a row for each observed one in its seat: (observed, M); and E[Z]."""
    (term,) = PreparedStatistic.of(part, candidates.inputs, M).at(candidates).terms
    points = np.zeros((term.features.width, 1, len(outcomes)))
    term.features.add(points, outcomes[None], slice(0, outcomes.shape[1]))
    expected = term.expectation(M)
    if not isinstance(part, Neighborhood):
        Z = term.values(points)[0]
        return np.stack([np.insert(Z[: M - 1], seat, each) for each in Z[M - 1 :]]), expected
    # the centre is the mean of the very M data sets that are ranked
    observed = np.arange(M - 1, len(outcomes))
    chosen = np.insert(np.tile(np.arange(M - 1), (len(observed), 1)), seat, observed, axis=1)
    return np.asarray(term.values(points[:, 0, chosen])), expected


# --- tables and figure ----------------------------------------------------------------------------

BESIDE = {"candidate": "bandwidth 1", "family": "score", "calibration": "1, 1/4"}
"""Rules that the others are compared with, on the same data."""

SHOWN = (
    "score",
    "sum, 1, 0.3",
    "sum, 1/2, 0.3",
    "sum, 1/2, 0.5",
    "sum, 1/4, 0.5",
    "omnibus, 1/2, 0.2",
    "omnibus, 1/4, 0.1",
    "omnibus, 1/4, 0.2",
    "omnibus, 1/4, 1/2, 0.2",
)
"""Rules of families whose power is given for each wrong; of the others, means only."""


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Give power by setting and rule, and how the rules compare over all settings."""
    found: dict[str, pd.DataFrame] = {}
    frame = frame.assign(power=frame["rejected"] / DATA_SETS)
    for question, own in frame.groupby("question", sort=False):
        keys = [key for key in ("model", "predictions") if key in own and own[key].notna().all()]
        by = own.groupby([*keys, "d", "n", "wrong", "rule"], sort=False)["power"]
        power = by.mean().unstack("rule", sort=False)
        shown = list(SHOWN) if question == "family" else list(power)
        found[f"{question}_power"] = power[shown].round(4).reset_index()
        setting = [*keys, "d", "n", "repetition"]
        if question == "family":
            found["family_weights"] = _weights(power, own, setting)
        else:
            found[f"{question}_losses"] = _losses(power, own, setting, BESIDE[question])
    return found


def _losses(
    power: pd.DataFrame, own: pd.DataFrame, setting: list[str], beside: str
) -> pd.DataFrame:
    """Mean power, beside one rule, and what is lost beside the best rule of each setting."""
    wrong = power[power.index.get_level_values("wrong") != "nothing"]
    single = [rule for rule in power if rule.startswith("bandwidth")] or list(power)
    lost = wrong[single].max(axis=1).to_numpy()[:, None] - wrong
    difference, error = _paired(own[own["wrong"] != "nothing"], setting, beside)
    return _by_rule(
        power,
        {
            "power": wrong.mean(),
            "difference": difference,
            "error": error,
            "mean_loss": lost.mean(),
            "worst_loss": lost.max(),
        },
    )


def _weights(power: pd.DataFrame, own: pd.DataFrame, setting: list[str]) -> pd.DataFrame:
    """What a kernel part costs inside the family, and what it finds outside."""
    wrong = power.index.get_level_values("wrong")
    inside, outside = power[wrong == "inside"], power[wrong != "inside"]
    cost, cost_error = _paired(own[own["wrong"] == "inside"], setting, "score")
    gain, gain_error = _paired(own[own["wrong"] != "inside"], setting, "score")
    return _by_rule(
        power,
        {
            "inside": inside.mean(),
            "lost_inside": -cost,
            "error_inside": cost_error,
            "outside": outside.mean(),
            "gained_outside": gain,
            "error_outside": gain_error,
        },
    )


def _paired(own: pd.DataFrame, setting: list[str], beside: str) -> tuple[pd.Series, pd.Series]:
    """Mean difference of power beside one rule on the same data, and its standard error."""
    each = own.groupby([*setting, "rule"])["power"].mean().unstack("rule")
    difference = each.sub(each[beside], axis=0)
    places = [key for key in setting if key != "repetition"]
    grouped = difference.groupby(places)
    # every setting counts alike, however many repetitions it has
    variance = (grouped.var() / grouped.count()).mean() / grouped.ngroups
    return grouped.mean().mean(), np.sqrt(variance)


def _by_rule(power: pd.DataFrame, columns: dict[str, pd.Series]) -> pd.DataFrame:
    found = pd.DataFrame({name: values.reindex(power.columns) for name, values in columns.items()})
    return found.rename_axis("rule").round(4).reset_index()


def figures(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Draw power by kind of wrong, and cost and gain of the kernel part."""
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained")
    of_candidate = ("bandwidth 2", "bandwidth 1", "bandwidth 1/2", "bandwidth 1/4")
    several = "omnibus of 1/8, 1/4, 1/2, 1"
    _dots(left, tables["candidate_power"], (*of_candidate, several))
    left.set_title("A candidate: bandwidth, in median distances")
    _exchange(middle, tables["family_weights"])
    middle.set_title("A family: weight of the kernel part")
    _dots(right, tables["calibration_power"], ("1, 1/4", "1/2, 1/8", "1/2, 1/8, curvature"))
    right.set_title("Calibration: kernels beside score and Spiegelhalter")
    return {"defaults": figure}


def _dots(ax: Any, power: pd.DataFrame, rules: tuple[str, ...]) -> None:
    means = power.groupby("wrong", sort=False)[list(rules)].mean()
    marks = "osD^v"
    for rule, mark in zip(rules, marks, strict=False):
        ax.plot(means[rule], means.index, mark, ms=6, alpha=0.8, label=rule)
    ax.axvline(LEVEL, color="0.7", lw=1, zorder=0)
    ax.invert_yaxis()
    ax.set_xlabel("power at level 5 %, mean over n and number of inputs")
    ax.set_xlim(0, 1.02)
    ax.grid(axis="y", color="0.92")
    ax.legend(fontsize=8, loc="lower right")


def _exchange(ax: Any, weights: pd.DataFrame) -> None:
    """Draw cost against gain, a line a kernel, along growing weights."""
    for kind, style in (("sum", "-"), ("omnibus", "--")):
        for color, name in enumerate(("1", "1/2", "1/4", "1/4, 1/2")):
            rules = [f"{kind}, {name}, {weight:g}" for weight in WEIGHTS]
            own = weights.set_index("rule").loc[rules]
            x, y = 100 * own["lost_inside"], 100 * own["outside"]
            ax.plot(x, y, style, marker=".", color=f"C{color}", label=f"{kind} with {name}")
    score = 100 * weights.set_index("rule").loc["score", "outside"]
    ax.plot(0, score, "k*", ms=10, label="score alone")
    ax.set_xlabel("power lost inside the family, in points (weights 0.1 to 1)")
    ax.set_ylabel("power against misfit of the family, %")
    ax.legend(fontsize=8)
