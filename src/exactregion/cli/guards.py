"""``--fail-above``: an exit code that goes by an exact limit of how far off predictions are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import exactregion as er
from exactregion.cli.options import check_choice, read_level

LIMITS = ("lower", "upper", "mean-lower", "mean-upper")
"""Limits of the largest deviation, and of the mean one."""


@dataclass(frozen=True)
class Guard:
    """A size that a limit of a deviation must not exceed."""

    limit: str
    size: float

    def record(self, belt: er.CalibrationBelt) -> dict[str, Any]:
        """Say for programs what the limit is, and whether it is above the size.

        A belt without any curve has no limits: nothing says that predictions are within them.
        """
        kind, _, end = self.limit.rpartition("-")
        deviation = belt.mean_deviation if kind else belt.largest_deviation
        value = getattr(deviation, end)
        return {
            "limit": self.limit,
            "size": self.size,
            "value": value,
            "exceeded": bool(np.isnan(value) or value > self.size),
        }


def read_guards(texts: Sequence[str] | None) -> list[Guard]:
    """Read ``0.05``, which is a lower limit, or ``upper=0.05`` and the like."""
    guards = []
    for text in texts or ():
        limit, _, size = text.rpartition("=")
        limit = limit.strip() or "lower"
        check_choice("--fail-above", limit, LIMITS)
        guards.append(Guard(limit, read_level(size, "--fail-above")))
    return guards


def guard_text(record: dict[str, Any]) -> str:
    """Say for people what a guard found."""
    kind, _, end = record["limit"].rpartition("-")
    name = f"{end} limit of the {kind or 'largest'} deviation"
    word = "Above" if record["exceeded"] else "Not above"
    value = "none" if np.isnan(record["value"]) else f"{record['value']:.4g}"
    of_model = f" of {record['probability']}" if "probability" in record else ""
    return f"{word} {record['size']:g} of --fail-above: the {name}{of_model} is {value}."
