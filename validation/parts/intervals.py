"""Coverage and length of intervals for single parameters and the ED50.

Ours by search, each valid on its own ("focused") and all at once ("joint"), beside Wald's, profile
likelihood's, Firth's with profile limits, the percentiles of a parametric bootstrap, and BCa.
Where no finite maximum exists, Wald and the bootstraps have no interval; profile likelihood has one
that is open.

Ours are computed on the first data sets of each setting, and all lengths are those of these data
sets, relative to Wald's and to profile likelihood's. After that they are computed only where the
truth is no member of the set that they reach to, and cover it otherwise, as in `coverage`: 5 to
15 s per data set become one or two.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import exactregion as er
from validation.drawing import BLUE, GREEN, ORANGE, SKY, VERMILION, panels
from validation.members import individual_results
from validation.peers import bootstrap, firth
from validation.peers.likelihood import Linear, delta
from validation.rates import limits, rate_table
from validation.study import Case, generator
from validation.truths import label, truth_of

RESAMPLES = 999
BOOTSTRAP = 399
MEASURED = 20
"""Data sets of each setting on which all intervals are computed."""

ONE = {"family": "logistic", "slopes": 1}
THREE = {"family": "logistic", "slopes": 3}
CASE = ["family", "slopes", "outcomes", "n", "level"]


def _case(truth: dict[str, Any], outcomes: str, n: int, level: float) -> Case:
    # refits are slow: the bootstrap joins in where there is one slope, at three sizes
    refits = truth["slopes"] == 1 and truth["family"] == "logistic" and n < 500 and level == 0.95
    settings = {**truth, "outcomes": outcomes, "n": n, "level": level, "refits": refits}
    return Case(settings, 400, 1000, together=4 if truth["slopes"] == 1 else 2)


CASES = [
    *(_case(ONE, o, n, 0.95) for n in (15, 30, 100, 500) for o in ("balanced", "rare")),
    *(_case(ONE, o, n, 0.9) for n in (15, 30, 100) for o in ("balanced", "rare")),
    *(_case({"family": "probit", "slopes": 1}, "balanced", n, 0.95) for n in (15, 30, 100, 500)),
    *(_case(THREE, o, n, 0.95) for n in (15, 30, 100) for o in ("balanced", "rare")),
    *(_case(THREE, o, 500, 0.95) for o in ("balanced", "rare")),
    *(_case(THREE, "balanced", n, 0.9) for n in (30, 100)),
    *(_case({"family": "logistic", "slopes": 5}, "balanced", n, 0.95) for n in (30, 100)),
]
FOCUSED, JOINT = "exactregion, focused", "exactregion, joint"
Ends = tuple[float, float]


class Ours(NamedTuple):
    """Ends of an interval of ours, and whether the truth is a member of the set it reaches to."""

    lower: float
    upper: float
    member: bool


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """All intervals on one data set."""
    rng = generator(settings, repetition)
    truth = truth_of(settings)
    X, y = truth.draw(rng, settings["n"])
    level, names = settings["level"], _quantities(settings["slopes"])
    fit = Linear(truth.family, X, y)
    seed = int(rng.integers(2**32))
    region = er.ConfidenceRegion(
        truth.model, confidence_level=level, n_resamples=RESAMPLES, rng=seed
    ).fit(X, y == 1)
    measured = repetition < MEASURED
    found = {method: list(ends) for method, ends in _ours(region, truth.theta, measured)}
    found |= dict(_likelihood(fit, level))
    if truth.family == "logistic":
        found["Firth, profile"] = _firth(X, y, level)
    if settings["refits"]:
        found |= dict(_bootstraps(fit, level, rng))
    true = [*truth.theta, -truth.theta[0] / truth.theta[1]]
    return [
        {
            "method": method,
            "quantity": name,
            "lower": ends[0],
            "upper": ends[1],
            "true": value,
            "exists": fit.exists,
            "member": ends.member if isinstance(ends, Ours) else None,
        }
        for method, all_ends in found.items()
        for name, value, ends in zip(names, true, all_ends, strict=False)  # no ED50 by Firth
    ]


def _quantities(slopes: int) -> list[str]:
    names = ["intercept", *(f"slope {k}" for k in range(1, slopes + 1))]
    return [*names, "ED50"] if slopes == 1 else names


def _ours(
    region: er.ConfidenceRegion, theta: np.ndarray, measured: bool
) -> Iterator[tuple[str, Iterator[Ours]]]:
    """Focused and joint ends of each quantity, NaN where a member is not measured."""
    numbers = list(individual_results(region))

    def focused() -> Iterator[Ours]:
        for number in numbers:
            member = number.reaches(theta)
            ends = number.interval() if measured or not member else None
            yield Ours(*_ends(ends), member)

    def joint() -> Iterator[Ours]:
        member = region.contains(theta)
        if member and not measured:
            yield from (Ours(np.nan, np.nan, True) for _ in numbers)
            return
        table = region.intervals(joint=True)
        yield from (
            Ours(*ends, member) for ends in zip(table["lower"], table["upper"], strict=True)
        )
        if len(theta) == 2:
            yield Ours(*_ends(region.functional([[-1, 0], [0, 1]], joint=True)), member)

    yield FOCUSED, focused()
    yield JOINT, joint()


def _ends(interval: er.Interval | None) -> Ends:
    return (np.nan, np.nan) if interval is None else (interval.lower, interval.upper)


def _likelihood(fit: Linear, level: float) -> Iterator[tuple[str, list[Ends]]]:
    axes = np.eye(fit.d)
    none = (np.nan, np.nan)
    one_slope = fit.d == 2
    if fit.exists:
        wald = [fit.wald(axes[i], fit.theta[i], level) for i in range(fit.d)]
        yield "Wald", [*wald, fit.wald(*delta(fit.theta), level)] if one_slope else wald
    else:
        yield "Wald", [none] * (fit.d + one_slope)
    profile = [fit.profile(i, level) for i in range(fit.d)]
    yield "profile likelihood", [*profile, fit.profile_ed50(level)] if one_slope else profile


def _firth(X: np.ndarray, y: np.ndarray, level: float) -> list[Ends]:
    try:
        return [tuple(ends) for ends in firth.profile_limits(X, y, level)]
    except ValueError:  # outcomes of one class only are refused
        return [(np.nan, np.nan)] * (X.shape[1] + 1)


def _bootstraps(
    fit: Linear, level: float, rng: np.random.Generator
) -> Iterator[tuple[str, list[Ends]]]:
    names = ("bootstrap, parametric percentile", "bootstrap, BCa")
    if not fit.exists:
        yield from ((name, [(np.nan, np.nan)] * (fit.d + 1)) for name in names)
        return
    refits = bootstrap.parametric(fit, BOOTSTRAP, rng)
    values = np.column_stack([refits, -refits[:, 0] / refits[:, 1]])
    yield names[0], [bootstrap.percentile(value, level) for value in values.T]
    yield names[1], [tuple(ends) for ends in bootstrap.bca(fit, level, BOOTSTRAP, rng)]


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Coverage and lengths by quantity; and of all parameters of a model together."""
    looked_for = frame["lower"].notna() & frame["upper"].notna()
    inside = (frame["lower"] <= frame["true"]) & (frame["true"] <= frame["upper"])
    member = frame["member"].astype(float) == 1
    # a member whose interval was not looked for is covered; one without any is not
    assumed = member & (frame["repetition"] >= MEASURED)
    # an interval must cover what a member has: where it does not, the search fell short
    missed = np.where(member & ~assumed, ~inside, np.nan)
    frame = frame.assign(has=looked_for | assumed, covered=inside | assumed, missed=missed)
    frame = _with_lengths(frame)
    kind = np.where(frame["quantity"] == "ED50", "ED50", "parameters")
    return {
        "by_quantity": _summary(frame),
        "by_kind": _summary(frame.assign(quantity=kind)),
        "all_at_once": _together(frame),
    }


def _with_lengths(frame: pd.DataFrame) -> pd.DataFrame:
    """Add lengths on the first data sets, also relative to the two usual ones where finite."""
    length = frame["upper"] - frame["lower"]
    frame = frame.assign(length=length.where(frame["repetition"] < MEASURED))
    frame["open"] = np.where(frame["length"].notna(), np.isinf(frame["length"]), np.nan)
    key = [*CASE, "repetition", "quantity"]
    for column, method in (("to_wald", "Wald"), ("to_profile", "profile likelihood")):
        usual = frame.loc[frame["method"] == method, [*key, "length"]]
        usual = usual[np.isfinite(usual["length"])].rename(columns={"length": "usual"})
        frame = frame.merge(usual, how="left", on=key)
        frame[column] = frame["length"] / frame.pop("usual")
    return frame


def _summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Coverage where there is an interval, and among all data sets; median lengths; open, none.

    Parameters of one data set are not independent: limits of their rates count data sets only.
    """
    by = [*CASE, "quantity", "method"]
    grouped = frame.groupby(by, sort=False)
    table = grouped.agg(
        repetitions=("repetition", "nunique"),
        rate_among_all=("covered", "mean"),
        none=("has", lambda has: 1 - has.mean()),
        open=("open", "mean"),
        to_wald=("to_wald", "median"),
        to_profile=("to_profile", "median"),
        missed=("missed", "mean"),
    ).reset_index()
    where = frame[frame["has"]].groupby(by, sort=False)
    where = where.agg(rate=("covered", "mean"), own=("repetition", "nunique")).reset_index()
    pairs = zip(where["rate"], where.pop("own"), strict=True)
    ends = [limits(round(rate * own), own) for rate, own in pairs]
    where = where.assign(low=[low for low, _ in ends], high=[high for _, high in ends])
    table = table.merge(where, how="left", on=by).assign(nominal=table["level"])
    table.insert(0, "truth", [label(row) for row in table.to_dict("records")])
    return table


def _together(frame: pd.DataFrame) -> pd.DataFrame:
    """Coverage of all parameters at once, which joint intervals promise and others do not."""
    parameters = frame[(frame["quantity"] != "ED50") & frame["has"]]
    by = [*CASE, "method"]
    every = parameters.groupby([*by, "repetition"], sort=False)["covered"].all().reset_index()
    table = rate_table(every, by, "covered")
    table.insert(0, "truth", [label(row) for row in table.to_dict("records")])
    return table


COLOURS = {
    FOCUSED: BLUE,
    "Wald": VERMILION,
    "profile likelihood": ORANGE,
    "Firth, profile": GREEN,
    "bootstrap, BCa": SKY,
}


def figures(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Coverage, and length relative to Wald's, of 95 % intervals against n."""
    table = tables["by_kind"].query("level == 0.95 and slopes in [1, 3]")
    coverage = _panels(table, "rate", "coverage, where there is one", 0.95, (0.5, 1.005))
    length = _panels(table, "to_wald", "median length / Wald's", 1.0, (0.6, 2.6))
    return {"intervals_coverage": coverage, "intervals_length": length}


def _panels(
    table: pd.DataFrame, column: str, says: str, line: float, ends: tuple[float, float]
) -> Any:
    groups = list(table.groupby(["truth", "quantity"], sort=False))
    figure, axes = panels(2, 4, size=(2.5, 2.3), sharex=True, sharey=True)
    for ax, ((truth, quantity), some) in zip(axes, groups, strict=False):
        ax.axhline(line, color="black", lw=0.8)
        for shift, (method, colour) in enumerate(COLOURS.items()):
            own = some[some["method"] == method].sort_values("n")
            own = own[np.isfinite(own[column].astype(float))]
            at = own["n"] * (0.9 + 0.05 * shift)
            style = {"color": colour, "marker": "o", "ms": 3, "lw": 1, "label": method}
            if column == "rate":
                errors = [own["rate"] - own["low"], own["high"] - own["rate"]]
                ax.errorbar(at, own["rate"], errors, **style)
            else:
                ax.plot(at, own[column], **style)
        ax.set_title(f"{truth}\n{quantity}", fontsize=8)
        ax.set_xscale("log")
        ax.set_xticks([15, 30, 100, 500], labels=["15", "30", "100", "500"])
        ax.minorticks_off()
        ax.set_ylim(*ends)
    for ax in axes[4:]:
        ax.set_xlabel("n", fontsize=9)
    for ax in axes[::4]:
        ax.set_ylabel(says, fontsize=8)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
    return figure
