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
from scipy.stats import chi2, ncx2

from exactregion.kernels import Gaussian
from exactregion.models import LaplaceMixture, Logistic, Recalibration
from exactregion.ranking import pvalue_of, rank_of
from exactregion.sample import Inputs, Sample
from exactregion.statistics import (
    Candidates,
    Combined,
    Discrepancy,
    Neighborhood,
    Omnibus,
    Score,
    Spiegelhalter,
    Statistic,
)
from validation.study import Case, generator

LEVEL = 0.05
M = 200
STRENGTH = 16.0
DATA_SETS = 5
"""Outcomes of each wrong that are drawn for the same inputs; they share the alternatives."""

SIZES = (50, 200, 1000)
FACTORS = {"1/8": 1 / 8, "1/4": 1 / 4, "1/2": 1 / 2, "1": 1.0, "2": 2.0}
SEVERAL = ("1/4", "1/2", "1", "2")
WEIGHTS = (0.1, 0.2, 0.3, 0.5, 1.0)
KINDS = {Combined: "sum", Omnibus: "omnibus"}

Rules = dict[str, Statistic]
Wrongs = dict[str, np.ndarray]


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
    asked = {"candidate": _candidate, "family": _family, "calibration": _calibration}
    X, model, theta, p, wrongs = asked[settings["question"]](settings, rng)
    inputs = Sample.from_data(X, np.arange(len(p)) % 2).inputs
    rules = _rules(settings["question"], inputs)
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
    def values(part: Statistic) -> np.ndarray:
        return _values(part, candidates, outcomes, seat)

    found = {}
    for name, rule in rules.items():
        if isinstance(rule, (Combined, Omnibus)):
            pairs = zip(rule.statistics, rule.weights, strict=True)
            Z = sum(weight * rule._scaled(values(part)) for part, weight in pairs)
        else:
            Z = values(rule)
        found[name] = pvalue_of(rank_of(Z, seat), M)
    return found


def _values(part: Statistic, candidates: Candidates, outcomes: np.ndarray, seat: int) -> np.ndarray:
    """Z of the M data sets, a row for each observed one in its seat: shape (observed, M)."""
    rule = part.prepare(candidates.inputs, M).rule(candidates)
    (term,) = rule.terms
    points = np.zeros((term.projection.width, 1, len(outcomes)))
    term.projection.add(points, outcomes[None], slice(0, outcomes.shape[1]))
    if not isinstance(part, Neighborhood):
        Z = term.measure(points)[0]
        return np.stack([np.insert(Z[: M - 1], seat, own) for own in Z[M - 1 :]])
    # the centre is the mean of the very M data sets that are ranked
    own = np.arange(M - 1, len(outcomes))
    chosen = np.insert(np.tile(np.arange(M - 1), (len(own), 1)), seat, own, axis=1)
    return np.asarray(term.measure(points[:, 0, chosen]))


# --- rules ----------------------------------------------------------------------------------------


def _rules(question: str, inputs: Inputs) -> Rules:
    median = float(Gaussian().settle(inputs.distinct, standardize=True).kernel.bandwidth)
    single = {name: Discrepancy(bandwidth=f * median) for name, f in FACTORS.items()}
    several = [single[name] for name in SEVERAL]
    if question == "candidate":
        return _rules_of_candidates(single, several, len(inputs))
    if question == "family":
        return _rules_of_families(single, several)
    return _rules_of_calibration(single, several)


def _rules_of_candidates(single: Rules, several: list[Statistic], n: int) -> Rules:
    def omnibus(*names: str) -> Statistic:
        return Omnibus(*(single[name] for name in names))

    return {
        **{f"bandwidth {name}": rule for name, rule in single.items()},
        "sum of 1/4 to 2": Combined(*several),
        "sum of 1/8 to 2": Combined(*single.values()),
        "omnibus of 1/4 to 2": Omnibus(*several),
        "omnibus of 1/4, 1": omnibus("1/4", "1"),
        "omnibus of 1/4, 1/2, 1": omnibus("1/4", "1/2", "1"),
        "omnibus of 1/8, 1/2": omnibus("1/8", "1/2"),
        "omnibus of 1/8, 1/4, 1/2, 1": omnibus("1/8", "1/4", "1/2", "1"),
        "omnibus of 1/8, 1/2, 2": omnibus("1/8", "1/2", "2"),
        "Laplacian, 1/2": Discrepancy("laplacian_euclidean", 0.5 * _width(single)),
        **{f"neighbours {name}": Neighborhood(k=k) for name, k in _neighbours(n).items()},
    }


def _width(single: Rules) -> float:
    return float(single["1"].bandwidth)  # type: ignore[attr-defined]


def _neighbours(n: int) -> dict[str, int]:
    powers = {"n^(1/2)": n**0.5, "n^(2/3)": n ** (2 / 3), "n^(4/5)": n**0.8, "n/2": n / 2}
    return {name: max(1, int(k)) for name, k in powers.items()}


def _rules_of_families(single: Rules, several: list[Statistic]) -> Rules:
    kernels = {
        **{name: [rule] for name, rule in single.items() if name != "2"},
        "1/4 to 2": several,
        "1/4, 1/2": [single["1/4"], single["1/2"]],
        "1/8, 1/4, 1/2": [single["1/8"], single["1/4"], single["1/2"]],
    }
    found: Rules = {"score": Score()}
    for kind in (Combined, Omnibus):
        for name, parts in kernels.items():
            for weight in WEIGHTS:
                each = (weight / len(parts),) * len(parts)
                rule = kind(Score(), *parts, weights=(1.0, *each))
                found[f"{KINDS[kind]}, {name}, {weight:g}"] = rule
    return found


def _rules_of_calibration(single: Rules, several: list[Statistic]) -> Rules:
    score, bold = Score(), Spiegelhalter()
    wide, narrow = single["1"], single["1/4"]

    def beside(*names: str, weight: float = 1.0) -> Statistic:
        parts = [single[name] for name in names]
        each = (weight / len(parts),) * len(parts)
        return Omnibus(score, bold, *parts, weights=(1, 1, *each))

    return {
        "1, 1/4": beside("1", "1/4"),
        "1, 1/4, weight 2": beside("1", "1/4", weight=2),
        "1, 1/4, weight 1/2": beside("1", "1/4", weight=0.5),
        "1, 1/2": beside("1", "1/2"),
        "1, 1/8": beside("1", "1/8"),
        "1/2, 1/8": beside("1/2", "1/8"),
        "1/4, 1/8": beside("1/4", "1/8"),
        "1/4": beside("1/4"),
        "1/8": beside("1/8"),
        "1, 1/4, 1/8": beside("1", "1/4", "1/8"),
        "1/4 to 2": beside(*SEVERAL),
        "1, 1/4, no Spiegelhalter": Omnibus(score, wide, narrow, weights=(1, 0.5, 0.5)),
        "1, 1/4, no score": Omnibus(bold, wide, narrow, weights=(1, 0.5, 0.5)),
        "kernels only, 1/4 to 2": Omnibus(*several),
        "score only": score,
        "Spiegelhalter only": bold,
    }


# --- wrongs ---------------------------------------------------------------------------------------


def _candidate(settings: dict[str, Any], rng: np.random.Generator) -> tuple[Any, ...]:
    X = rng.standard_normal((settings["n"], settings["d"]))
    p = expit(X.sum(axis=1) / np.sqrt(settings["d"]))
    shapes = {"nothing": np.zeros(len(X)), "shift": np.ones(len(X)), "slope": X[:, 0]}
    sign = rng.choice([-1, 1])
    wrongs = {name: _scaled(sign * shape, p) for name, shape in {**shapes, **_shapes(X)}.items()}
    return X, None, None, p, wrongs


def _shapes(X: np.ndarray) -> Wrongs:
    """Shapes of errors along the first input or two."""
    x, last = X[:, 0], X[:, -1]
    top = {1: 1.28, 2: 0.48, 3: 0.48, 5: 0.48}[X.shape[1]]
    return {
        "interaction" if X.shape[1] > 1 else "curve": x * last - (X.shape[1] == 1),
        "wave": np.sin(np.pi * x),
        "ripple": np.sin(2.5 * np.pi * x),
        "bump": np.exp(-((x - 0.5) ** 2) / (2 * 0.25**2)),
        "subgroup": ((x > top) & (last > top)).astype(float),
    }


def _scaled(shape: np.ndarray, p: np.ndarray, strength: float = STRENGTH) -> np.ndarray:
    size = np.sqrt((p * (1 - p) * shape**2).sum())
    return np.clip(shape * np.sqrt(strength) / size, -6, 6) if size > 0 else shape


def _family(settings: dict[str, Any], rng: np.random.Generator) -> tuple[Any, ...]:
    n, d = settings["n"], settings["d"]
    if settings["model"] == "mixture":
        y = np.where(rng.random(n) < 0.5, 1, -1)
        X = (y + rng.laplace(size=n))[:, None]
        model: Any = LaplaceMixture(locations=(1.0, -1.0))
        theta = np.array([[0.5, 1.0]])
    else:
        X = rng.standard_normal((n, d))
        model = Logistic()
        theta = np.array([[0.5, *np.full(d, 1 / np.sqrt(d))]])
    p = model.probabilities(theta[0], X)
    gradient = np.asarray(model.logit_gradient(theta, X))[0]
    eta = logit(p)
    shapes = _shapes(X / X.std())
    shapes["link"] = logit(np.clip(-np.expm1(-np.exp(eta * 0.8 - 0.4)), 1e-6, 1 - 1e-6)) - eta
    shapes["lapse"] = logit(0.1 + 0.8 * expit(2 * eta))
    sign = rng.choice([-1, 1])
    wrongs = {"inside": _nearby(gradient, p, rng)}
    for name, shape in shapes.items():
        wrongs[name] = _scaled(sign * _outside(shape, gradient, p), p)
    return X, model, theta, p, wrongs


def _nearby(gradient: np.ndarray, p: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Change θ in a random direction, so far that the score finds half of such changes."""
    values, vectors = np.linalg.eigh((gradient * (p * (1 - p))[:, None]).T @ gradient)
    direction = rng.standard_normal(len(values))
    step = vectors @ (direction / np.sqrt(values))
    return _scaled(gradient @ step, p, _halfway(len(values)))


@cache
def _halfway(parameters: int) -> float:
    """Find the noncentrality at which a χ² test at the level has power one half."""
    from scipy.optimize import brentq

    limit = chi2.isf(LEVEL, parameters)
    return float(brentq(lambda size: ncx2.sf(limit, parameters, size) - 0.5, 0.1, 50))


def _outside(shape: np.ndarray, gradient: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Take off what the family could follow, by weighted least squares."""
    root = np.sqrt(p * (1 - p))
    follow = np.linalg.lstsq(gradient * root[:, None], shape * root, rcond=None)[0]
    return shape - gradient @ follow


def _calibration(settings: dict[str, Any], rng: np.random.Generator) -> tuple[Any, ...]:
    n = settings["n"]
    p = rng.uniform(size=n) if settings["predictions"] == "uniform" else rng.beta(1, 5, size=n)
    p = np.clip(p, 1e-4, 1 - 1e-4)
    score, place = logit(p), np.argsort(np.argsort(p)) / n
    centred = score - np.average(score, weights=p * (1 - p))
    sign = rng.choice([-1, 1])
    shapes = {
        "nothing": np.zeros(n),
        "over-confident": -centred,
        "under-confident": centred,
        "shifted": sign * np.ones(n),
        "asymmetric": sign * np.maximum(centred, 0),
        "wavy": sign * np.sin(6 * np.pi * place),
        "ripple": sign * np.sin(12 * np.pi * place),
        "subgroup": sign * ((place > 0.6) & (place < 0.75)).astype(float),
    }
    wrongs = {name: _scaled(shape, p) for name, shape in shapes.items()}
    return p[:, None], Recalibration(), np.array([[0.0, 1.0]]), p, wrongs


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
    _dots(right, tables["calibration_power"], ("1, 1/2", "1, 1/4", "1, 1/8", "1/8"))
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
