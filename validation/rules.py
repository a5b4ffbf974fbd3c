"""The rules that the study of defaults compares: bandwidths, weights, and parts put together."""

from __future__ import annotations

import numpy as np

from exactregion.data.sample import Inputs
from exactregion.kernels import Gaussian
from exactregion.statistics import (
    Combined,
    Curvature,
    Discrepancy,
    Neighborhood,
    Omnibus,
    Score,
    Spiegelhalter,
    Statistic,
)

__all__ = ["WEIGHTS", "Rules", "rules_for"]

FACTORS = {"1/8": 1 / 8, "1/4": 1 / 4, "1/2": 1 / 2, "1": 1.0, "2": 2.0}
SEVERAL = ("1/4", "1/2", "1", "2")
WEIGHTS = (0.1, 0.2, 0.3, 0.5, 1.0)
KINDS = {Combined: "sum", Omnibus: "omnibus"}

Rules = dict[str, Statistic]


def rules_for(question: str, inputs: Inputs) -> Rules:
    """Make the rules for a question, with bandwidths as shares of the median distance."""
    usual = Gaussian(multiple=2.0).settle(inputs.distinct, standardize=True)
    median = float(usual.kernel.bandwidth or np.nan)
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
        "1/2, 1/8, curvature": Omnibus(
            score, bold, Curvature(), single["1/2"], single["1/8"], weights=(1, 1, 0.5, 0.5, 0.5)
        ),
        "1/8, curvature": Omnibus(
            score, bold, Curvature(), single["1/8"], weights=(1, 1, 0.5, 0.5)
        ),
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
