"""Members outside what is reported: intervals, bands and ED50s, probed with θ of all kinds.

Only a θ outside a reported set can show that it is wrong, so that is where most probes go: on a
grid, around the estimate at many scales, and around the members that reach farthest, in rounds that
start from what the round before has found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import exactregion as er
from exactregion.region.intervals import _differences, functional_interval
from exactregion.region.natural import natural_region
from exactregion.region.proofs.inputs import can_enclose
from exactregion.region.ratios import LinearRatios
from exactregion.region.search.ends import FocusedSearch
from exactregion.region.search.probes import draw_probes

__all__ = ["Attack", "Reported", "attacked", "reported_by"]

ROUNDS = 3
"""Rounds of probes around the members that reach farthest."""

ROUNDING = 1e-9
"""Share of the length that a value may lie outside by rounding alone."""


@dataclass(frozen=True, eq=False)
class Reported:
    """Ends of G numbers over a set of θ, as a person reads them.

    `values` are the numbers (T, G) at θ (T, d), and `inside` says which θ belong to the set.
    """

    kind: str
    values: Callable[[np.ndarray], np.ndarray]
    inside: Callable[[np.ndarray], np.ndarray]
    lower: np.ndarray
    upper: np.ndarray
    gap: np.ndarray
    certified: np.ndarray
    status: str
    evaluations: int
    seconds: float

    @property
    def gap_share(self) -> float:
        """Largest gap as a share of the length; a band has one gap, which its widest place has."""
        with np.errstate(all="ignore"):
            share = self.gap / (self.length.max() if self.kind == "band" else self.length)
        return float(np.nan_to_num(share).max(initial=0.0))

    @property
    def length(self) -> np.ndarray:
        """Lengths, by which distances are measured; infinite where an end is open."""
        return np.asarray(self.upper - self.lower)

    def excess(self, theta: np.ndarray) -> np.ndarray:
        """How far θ lie outside, as a share of the length: shape (T,), at most zero inside."""
        with np.errstate(all="ignore"):
            values = self.values(theta)
            beyond = np.maximum(self.lower - values, values - self.upper)
            # one end open: relative to the distance of the other from the values of members
            size = np.where(np.isfinite(self.length), self.length, np.abs(values) + 1.0)
            share = beyond / np.maximum(size, 1e-300)
        return np.asarray(np.nan_to_num(share, nan=-1.0, posinf=1e12, neginf=-1.0).max(axis=1))


@dataclass(frozen=True)
class Attack:
    """How many probes were evaluated outside, and the farthest member among them."""

    probes: int
    members: int
    excess: float


def reported_by(
    region: er.ConfidenceRegion,
    *,
    certify: bool | None = None,
    kinds: tuple[str, ...] = ("joint", "focused", "band"),
    at: Any = None,
    ed50: Callable[[np.ndarray], Any] | LinearRatios | None = None,
) -> list[Reported]:
    """Compute what a region reports: intervals, a band at inputs `at`, and a functional `ed50`."""
    fitted = region.fitted_
    found = []
    if "joint" in kinds:
        table = region.intervals(joint=True, certify=certify)
        found.append(_of_table("joint interval", table, lambda theta: theta, region.contains))
    if "focused" in kinds:
        table = region.intervals(certify=certify)
        # as for the intervals themselves
        alone = can_enclose(fitted) or natural_region(fitted, certify) is not None
        for index, direction in enumerate(np.eye(len(table))):
            inside = _focused(
                fitted, lambda theta, g=direction: np.broadcast_to(g, theta.shape), alone=alone
            )
            row = table.iloc[index : index + 1]
            values = _column(index)
            found.append(_of_table("focused interval", row, values, inside))
    if "band" in kinds and at is not None:
        band = region.band(at, certify=certify)
        found.append(
            Reported(
                "band",
                lambda theta: region.model_.probabilities(theta, at),
                region.contains,
                band.lower,
                band.upper,
                np.full(len(band.lower), band.gap),
                np.array([band.certified]),
                band.status,
                band.evaluations,
                band.seconds,
            )
        )
    if ed50 is not None:
        for joint in (True, False):
            found.append(_of_functional(region, ed50, joint=joint, certify=certify))
    return found


def _of_functional(
    region: er.ConfidenceRegion,
    ed50: Callable[[np.ndarray], Any] | LinearRatios,
    *,
    joint: bool,
    certify: bool | None,
) -> Reported:
    fitted = region.fitted_
    interval = functional_interval(fitted, ed50, joint=joint, certify=certify)

    def values(theta: np.ndarray) -> np.ndarray:
        if isinstance(ed50, LinearRatios):
            return ed50(theta)
        with np.errstate(all="ignore"):
            return np.array([[ed50(one)] for one in theta], dtype=float).reshape(-1, 1)

    if joint:
        inside = region.contains
    elif isinstance(ed50, LinearRatios):
        inside = _focused(fitted, ed50.gradient, alone=can_enclose(fitted))
    else:
        inside = _focused(fitted, lambda theta: _differences(values, theta), alone=False)
    ends = (np.array([end]) for end in (interval.lower, interval.upper, interval.gap))
    return Reported(
        "ED50, joint" if joint else "ED50, focused",
        values,
        inside,
        *ends,
        np.array([interval.certified]),
        interval.status,
        interval.evaluations,
        interval.seconds,
    )


def _column(index: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda theta: theta[:, index : index + 1]


def _focused(
    fitted: Any, gradient: Callable[..., Any], *, alone: bool
) -> Callable[[np.ndarray], np.ndarray]:
    search = FocusedSearch(fitted, gradient, alone=alone)
    return lambda theta: search.inside(theta) > 0


def _of_table(kind: str, table: Any, values: Any, inside: Any) -> Reported:
    ends = (table[name].to_numpy(dtype=float) for name in ("lower", "upper", "gap"))
    return Reported(
        kind,
        values,
        inside,
        *ends,
        table["certified"].to_numpy(),
        ", ".join(sorted(set(table["status"]))),
        int(table["evaluations"].max()),
        float(table["seconds"].max() if kind.startswith("joint") else table["seconds"].sum()),
    )


def attacked(
    region: er.ConfidenceRegion,
    reported: list[Reported],
    number: int,
    rng: np.random.Generator,
) -> list[Attack]:
    """Probe each reported set with about `number` θ."""
    outline = region.outline()
    window = outline.window
    start = outline.members() if outline.rays is not None else np.zeros((1, len(window.origin)))
    base = np.concatenate([_grid(region, start, number // 3), window.theta(start)])
    base = np.concatenate([base, draw_probes(window, start, start, number // 3, rng)])
    return [_attack(window, each, base, number // 3, rng) for each in reported]


def _grid(region: er.ConfidenceRegion, members: np.ndarray, number: int) -> np.ndarray:
    """Return a grid over one and a half times the extent of the members known."""
    window, d = region.outline().window, members.shape[1]
    low, high = np.clip(members, -20, 20).min(axis=0), np.clip(members, -20, 20).max(axis=0)
    middle, half = (low + high) / 2, 0.75 * np.maximum(high - low, 1e-3)
    side = max(2, int(number ** (1 / d)))
    axes = [np.linspace(m - h, m + h, side) for m, h in zip(middle, half, strict=True)]
    return window.theta(np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, d))


def _attack(
    window: Any, reported: Reported, base: np.ndarray, number: int, rng: np.random.Generator
) -> Attack:
    outside = base[reported.excess(base) > ROUNDING]
    members = outside[reported.inside(outside)] if len(outside) else outside
    farthest = float(reported.excess(members).max(initial=0.0))
    probes, n_members = len(base), len(members)
    # the members that reach farthest so far, on either side of each number
    within = base[reported.excess(base) <= ROUNDING]
    within = within[rng.permutation(len(within))[: number // 4]]
    known = np.concatenate([within[reported.inside(within)], members]) if len(within) else members
    if not len(known):
        return Attack(probes, 0, 0.0)
    for _ in range(ROUNDS):
        drawn = _around_the_farthest(window, reported, known, number // ROUNDS, rng)
        drawn = drawn[np.isfinite(drawn).all(axis=1)]
        probes += len(drawn)
        beyond = reported.excess(drawn)
        # a few that are not outside keep the next round close to the boundary
        tried = drawn[(beyond > ROUNDING) | (rng.random(len(drawn)) < 0.2)]
        tried = tried[reported.inside(tried)] if len(tried) else tried
        known = np.concatenate([known, tried])
        beyond = reported.excess(tried)
        n_members += int((beyond > ROUNDING).sum())
        farthest = max(farthest, float(beyond[beyond > ROUNDING].max(initial=0.0)))
    return Attack(probes, n_members, farthest)


def _around_the_farthest(
    window: Any, reported: Reported, known: np.ndarray, number: int, rng: np.random.Generator
) -> np.ndarray:
    with np.errstate(all="ignore"):
        values = np.nan_to_num(reported.values(known))
    order = np.argsort(values, axis=0)
    best = np.unique(np.concatenate([order[:8].ravel(), order[-8:].ravel()]))
    z = window.coordinates(known)
    z = z[np.isfinite(z).all(axis=1)] if not np.isfinite(z).all() else z
    spread = np.clip(np.percentile(z, 90, axis=0) - np.percentile(z, 10, axis=0), 1e-9, 1e9)
    start = z[rng.choice(best[best < len(z)], size=number)]
    scale = 10.0 ** rng.uniform(-4, 0, size=(number, 1))
    return np.asarray(window.theta(start + scale * spread * rng.standard_normal(start.shape)))
