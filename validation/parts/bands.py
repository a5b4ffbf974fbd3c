"""Coverage and width of bands for the whole curve.

Simultaneous bands of ours over 21 inputs, beside the Wald band with Scheffé's quantile (χ² with d
degrees of freedom), the pointwise Wald band, and the pointwise percentiles of a parametric
bootstrap. A band covers if the whole true curve is inside.

Venn-Abers pairs (p0, p1) are beside them at n = 100. They promise something else: one of the two
numbers is calibrated for the new outcome, on average over data and inputs. That they bracket the
true P(Y=1|x) is nowhere said, and the share of inputs where they do is reported for orientation.

Ours are computed on the first data sets of each setting, and all widths are those of these data
sets. After that they are computed only where the true parameter is no member; where it is, the
band covers its curve. 2 to 10 s per data set become less than one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

import exactregion as er
from validation.drawing import BLUE, GREEN, ORANGE, VERMILION, panels
from validation.peers import bootstrap
from validation.peers.likelihood import Linear
from validation.rates import rate_table
from validation.study import Case, generator
from validation.truths import label, truth_of

RESAMPLES = 999
BOOTSTRAP = 399
POINTS = 21
MEASURED = 20
"""Data sets of each setting on which all bands are computed."""

CASE = ["family", "slopes", "outcomes", "n", "level"]
OURS = "exactregion"
SCHEFFE, POINTWISE = "Wald-Scheffé", "Wald, pointwise"
PERCENTILE, VENN_ABERS = "bootstrap percentile, pointwise", "Venn-Abers (p0, p1)"
Bounds = tuple[np.ndarray, np.ndarray]


def _case(family: str, slopes: int, outcomes: str, n: int, level: float = 0.95) -> Case:
    settings = {"family": family, "slopes": slopes, "outcomes": outcomes, "n": n, "level": level}
    settings["refits"] = n == 100 and slopes == 1 and level == 0.95
    return Case(settings, 400, 1000, together=5)


CASES = [
    *(
        _case("logistic", 1, outcomes, n)
        for n in (15, 20, 30, 50, 100, 500)
        for outcomes in ("balanced", "rare")
    ),
    *(_case("logistic", 1, "balanced", n, 0.9) for n in (15, 30, 100)),
    *(_case("probit", 1, "balanced", n) for n in (15, 30, 100)),
    *(_case("logistic", 3, "balanced", n) for n in (30, 100)),
    _case("logistic", 5, "balanced", 100),
]


def rows(settings: dict[str, Any], repetition: int) -> list[dict[str, Any]]:
    """All bands on one data set."""
    rng = generator(settings, repetition)
    truth = truth_of(settings)
    X, y = truth.draw(rng, settings["n"])
    new = np.zeros((POINTS, truth.slopes))
    new[:, 0] = np.linspace(-2, 2, POINTS)
    region = er.ConfidenceRegion(
        truth.model,
        confidence_level=settings["level"],
        n_resamples=RESAMPLES,
        rng=int(rng.integers(2**32)),
    ).fit(X, y == 1)
    true = truth.probabilities(new)
    member = region.contains(truth.theta)
    if member and repetition >= MEASURED:
        ours = {"covered": True, "share": 1.0, "width": np.nan}
    else:
        band = region.band(new)
        ours = _judged((band.lower, band.upper), true)
    peers = _peers(Linear(truth.family, X, y), new, settings, rng)
    return [
        {"method": OURS, "member": member, **ours},
        *({"method": method, "member": None, **_judged(ends, true)} for method, ends in peers),
    ]


def _peers(
    fit: Linear, new: np.ndarray, settings: dict[str, Any], rng: np.random.Generator
) -> Iterator[tuple[str, Bounds | None]]:
    level, refits = settings["level"], settings["refits"]
    yield SCHEFFE, fit.band(new, level, fit.d) if fit.exists else None
    yield POINTWISE, fit.band(new, level, 1) if fit.exists else None
    if refits and fit.exists:
        thetas = bootstrap.parametric(fit, BOOTSTRAP, rng)
        yield PERCENTILE, bootstrap.percentile_band(fit, thetas, new, level)
        yield VENN_ABERS, _venn_abers(fit, new)


def _venn_abers(fit: Linear, new: np.ndarray) -> Bounds | None:
    """Inductive Venn-Abers: half of the data for the classifier, half for its calibration.

    None where the first half has one class, which the classifier refuses.
    """
    from sklearn.linear_model import LogisticRegression
    from venn_abers import VennAbers

    half = len(fit.y) // 2
    if len(np.unique(fit.y[:half])) == 1:
        return None
    classifier = LogisticRegression(C=np.inf).fit(fit.X[:half], fit.y[:half])
    machine = VennAbers()
    machine.fit(classifier.predict_proba(fit.X[half:]), fit.y[half:])
    _, pair = machine.predict_proba(classifier.predict_proba(new))
    return pair[:, 0], pair[:, 1]


def _judged(bounds: Bounds | None, true: np.ndarray) -> dict[str, Any]:
    if bounds is None:
        return {"covered": None, "share": np.nan, "width": np.nan}
    lower, upper = bounds
    inside = (lower <= true) & (true <= upper)
    return {
        "covered": bool(inside.all()),
        "share": float(inside.mean()),
        "width": float(np.mean(upper - lower)),
    }


def tables(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Coverage of the whole curve, the mean share of it that is covered, and widths."""
    by = [*CASE, "method"]
    width = frame["width"].where(frame["repetition"] < MEASURED)
    frame = frame.assign(looked_for=frame["width"].notna(), width=width)
    usual = frame.loc[frame["method"] == SCHEFFE, [*CASE, "repetition", "width"]]
    frame = frame.merge(usual, on=[*CASE, "repetition"], suffixes=("", "_usual"))
    frame["to_scheffe"] = frame["width"] / frame["width_usual"]
    # a band must cover the curve of a member: where it does not, the search fell short
    checked = (frame["member"].astype(float) == 1) & frame["looked_for"]
    frame["missed"] = np.where(checked, frame["covered"] == False, np.nan)  # noqa: E712
    covered = frame.assign(covered=frame["covered"].astype(object))
    where = rate_table(covered, by, "covered").drop(columns="repetitions")
    table = frame.groupby(by, sort=False).agg(
        repetitions=("repetition", "nunique"),
        none=("covered", lambda covered: covered.isna().mean()),
        share_of_curve=("share", "mean"),
        width=("width", "mean"),
        to_scheffe=("to_scheffe", "median"),
        missed=("missed", "mean"),
    )
    table = table.reset_index().merge(where, how="left", on=by).assign(nominal=lambda t: t["level"])
    table.insert(0, "truth", [label(row) for row in table.to_dict("records")])
    return {"bands": table}


def figures(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    """Coverage of the whole curve and mean width, against n, with one slope."""
    table = tables["bands"].query("level == 0.95 and slopes == 1")
    groups = list(table.groupby("truth", sort=False))
    figure, axes = panels(2, len(groups), size=(3.0, 2.3), sharex=True, sharey="row")
    colours = {OURS: BLUE, SCHEFFE: ORANGE, POINTWISE: VERMILION, PERCENTILE: GREEN}
    for column, (truth, some) in enumerate(groups):
        above, below = axes[column], axes[len(groups) + column]
        above.axhline(0.95, color="black", lw=0.8)
        for shift, (method, colour) in enumerate(colours.items()):
            own = some[some["method"] == method].dropna(subset="rate").sort_values("n")
            at = own["n"] * (0.94 + 0.04 * shift)
            errors = [own["rate"] - own["low"], own["high"] - own["rate"]]
            style = {"color": colour, "marker": "o", "ms": 3, "lw": 1, "label": method}
            above.errorbar(at, own["rate"], errors, **style)
            below.plot(at, own["width"], **style)
        above.set_title(str(truth), fontsize=9)
        below.set_xlabel("n", fontsize=9)
        below.set_xscale("log")
        below.set_xticks([15, 30, 100, 500], labels=["15", "30", "100", "500"])
        below.minorticks_off()
    axes[0].set_ylabel("whole curve covered", fontsize=9)
    axes[len(groups)].set_ylabel("mean width", fontsize=9)
    handles, names = axes[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return {"bands": figure}
