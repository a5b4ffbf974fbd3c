"""Members outside what is reported: intervals, bands and ED50s, probed with θ of all kinds.

Only a θ outside a reported set can show that it is wrong, so that is where most probes go: on a
grid, around the estimate at many scales, and beyond the ends, by populations of members that climb
towards each of them (`climb`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np

import exactregion as er
from exactregion.region.functionals import differences, functional_interval
from exactregion.region.intervals import natural_region
from exactregion.region.proofs.inputs import can_enclose
from exactregion.region.ratios import LinearRatios
from exactregion.region.search.candidates import draw_probes
from exactregion.region.search.ends import FocusedSearch, is_projected

__all__ = [
    "EVEN",
    "Attack",
    "Individual",
    "Reported",
    "attacked",
    "focused_membership",
    "individual_results",
    "reported_by",
]

EVEN = LinearRatios(np.array([[-1.0, 0.0]]), np.zeros(1), np.array([[0.0, 1.0]]))
"""The input at which a linear predictor with two parameters is zero."""

POPULATION, ROUNDS = 40, 30
"""Members kept per end that is attacked, and rounds of two steps from each: some 2,000 θ."""

CLIMBED = 6
"""Ends of one result that are climbed to, drawn at random where there are more."""

ROUNDING = 1e-9
"""Share of the length that a value may lie outside by rounding alone."""


@dataclass(frozen=True, eq=False)
class Reported:
    """Ends of G numbers over a set of θ, as a person reads them.

    `values` are the numbers (T, G) at θ (T, d), and `inside` says which θ belong to the set;
    `middle` are the numbers at the estimate.
    """

    kind: str
    values: Callable[[np.ndarray], np.ndarray]
    inside: Callable[[np.ndarray], np.ndarray]
    middle: np.ndarray
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
        """Lengths, by which distances are measured: twice the half that has an end, if one has."""
        length = self.upper - self.lower
        half = np.where(np.isfinite(self.upper), self.upper, self.lower) - self.middle
        return np.asarray(np.where(np.isfinite(length), length, 2 * np.abs(half)))

    def excess(self, theta: np.ndarray) -> np.ndarray:
        """How far θ lie outside, as a share of the length: shape (T,), at most zero inside."""
        with np.errstate(all="ignore"):
            values = self.values(theta)
            beyond = np.maximum(self.lower - values, values - self.upper)
            share = beyond / np.maximum(self.length, 1e-300)
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
            inside = focused_membership(
                fitted, lambda theta, g=direction: np.broadcast_to(g, theta.shape), alone=alone
            )
            row = table.iloc[index : index + 1]
            values = _column(index)
            found.append(_of_table("focused interval", row, values, inside))
    if "band" in kinds and at is not None:
        band = region.band(at, certify=certify)
        found.append(_of_band("band", region, band, region.contains))
    if "pointwise band" in kinds and at is not None:
        for one in at[:: max(1, len(at) // 2)]:
            band = region.band(one[None], joint=False, certify=certify)
            inside = focused_membership(
                fitted, _gradient_at(fitted, band.X), alone=can_enclose(fitted)
            )
            found.append(_of_band("pointwise band", region, band, inside))
    if ed50 is not None:
        for joint in (True, False):
            found.append(_of_functional(region, ed50, joint=joint, certify=certify))
    return found


def _gradient_at(fitted: Any, X: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """The gradient of what a pointwise band bounds: the linear predictor, else the logit."""
    design = fitted.model.linear_design(X)
    if design is not None:
        return lambda theta: np.broadcast_to(design[0], theta.shape)

    def gradient(theta: np.ndarray) -> np.ndarray:
        slope = fitted.model.logit_gradient(theta, X)[:, 0]
        return np.where(np.isfinite(slope), slope, 0.0)

    return gradient


def _of_band(kind: str, region: er.ConfidenceRegion, band: er.Band, inside: Any) -> Reported:
    return Reported(
        kind,
        lambda theta: region.model_.probabilities(theta, band.X),
        inside,
        band.estimate,
        band.lower,
        band.upper,
        np.full(len(band.lower), band.gap),
        np.array([band.certified]),
        band.status,
        band.evaluations,
        band.seconds,
    )


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
        # as for functionals: ratios are ranked by both statistics unless they are to be proven
        inside = focused_membership(
            fitted, ed50.gradient, alone=bool(certify) and can_enclose(fitted)
        )
    else:
        inside = focused_membership(fitted, lambda theta: differences(values, theta), alone=False)
    ends = (np.array([end]) for end in (interval.lower, interval.upper, interval.gap))
    return Reported(
        "ED50, joint" if joint else "ED50, focused",
        values,
        inside,
        np.array([interval.estimate]),
        *ends,
        np.array([interval.certified]),
        interval.status,
        interval.evaluations,
        interval.seconds,
    )


def _column(index: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda theta: theta[:, index : index + 1]


def focused_membership(
    fitted: Any, gradient: Callable[..., Any], *, alone: bool
) -> Callable[[np.ndarray], np.ndarray]:
    """Return what says which θ (T, d) the interval of one number reaches to."""
    if is_projected(fitted):
        return lambda theta: fitted.accepted.holds(fitted.ranks(theta)[0])
    search = FocusedSearch(fitted, gradient, alone=alone)
    return lambda theta: search.inside(theta) > 0


@dataclass(frozen=True, eq=False)
class Individual:
    """A number with an interval of its own: whether that reaches to θ (d,), and the interval."""

    name: str
    value: Callable[[np.ndarray], float]
    reaches: Callable[[np.ndarray], bool]
    interval: Callable[[], er.Interval]


def individual_results(region: er.ConfidenceRegion) -> Iterator[Individual]:
    """Give the parameters of a region, and the ED50 of two, as numbers of their own."""
    fitted = region.fitted_

    def make(name: str, value: Any, gradient: Any, functional: Any, *, alone: bool) -> Individual:
        inside = focused_membership(fitted, gradient, alone=alone)
        return Individual(
            name,
            value,
            lambda theta: bool(inside(theta[None])[0]),
            lambda: region.functional(functional, name=name),
        )

    names = region.parameter_names_
    for k, (name, axis) in enumerate(zip(names, np.eye(len(names)), strict=True)):
        yield make(
            name,
            lambda theta, k=k: float(theta[k]),
            lambda at, g=axis: np.broadcast_to(g, at.shape),
            axis,
            alone=can_enclose(fitted),
        )
    if len(names) == 2:
        yield make(
            "ED50",
            lambda theta: float(-theta[0] / theta[1]),
            EVEN.gradient,
            [[-1, 0], [0, 1]],
            alone=False,
        )


def _of_table(kind: str, table: Any, values: Any, inside: Any) -> Reported:
    ends = (table[name].to_numpy(dtype=float) for name in ("lower", "upper", "gap"))
    return Reported(
        kind,
        values,
        inside,
        table["estimate"].to_numpy(dtype=float),
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
    beyond = reported.excess(base)
    outside, within = base[beyond > ROUNDING], base[beyond <= ROUNDING]
    members = outside[reported.inside(outside)] if len(outside) else outside
    within = within[rng.permutation(len(within))[: number // 4]]
    known = np.concatenate([within[reported.inside(within)], members]) if len(within) else members
    probes = len(base)
    if not len(known):
        return Attack(probes, 0, 0.0)
    z = window.coordinates(known)
    z = z[np.isfinite(z).all(axis=1)]
    ends = [*zip(np.flatnonzero(np.isfinite(reported.upper)), repeat(1.0))]
    ends += [*zip(np.flatnonzero(np.isfinite(reported.lower)), repeat(-1.0))]
    for end in rng.permutation(len(ends))[:CLIMBED]:
        which, sign = ends[end]

        def height(z: np.ndarray, which: int = which, sign: float = sign) -> np.ndarray:
            with np.errstate(all="ignore"):
                values = sign * reported.values(window.theta(z))[:, which]
            return np.nan_to_num(values, nan=-np.inf, posinf=-np.inf)

        found, tried = climb(height, lambda z: reported.inside(window.theta(z)), z, rng)
        members = np.concatenate([members, window.theta(found)])
        probes += tried
    beyond = reported.excess(members)
    return Attack(probes, int((beyond > ROUNDING).sum()), float(beyond.max(initial=0.0)))


def climb(
    height: Callable[[np.ndarray], np.ndarray],
    inside: Callable[[np.ndarray], np.ndarray],
    members: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, int]:
    """Look for members with a large height, from members (k, d): a population, and probes.

    The members that are highest stay, and steps from them are differences of two of them: these
    follow sets that are long and bent, and become shorter as the population gathers. Half of it
    starts at random, since the way to an end need not lead from what is highest at first.
    """
    heights = height(members)
    first = np.argsort(-heights)[: POPULATION // 2]
    chosen = np.concatenate([first, rng.integers(len(members), size=POPULATION // 2)])
    z, heights, probes = members[chosen], heights[chosen], 0
    spread = np.percentile(members, 90, axis=0) - np.percentile(members, 10, axis=0)
    for _ in range(ROUNDS):
        start, one, other = rng.integers(len(z), size=(3, 2 * len(z)))
        factor = rng.choice([0.3, 1.0, 2.0], size=(len(start), 1))
        jitter = 10.0 ** rng.uniform(-4, -1, size=(len(start), 1)) * np.maximum(spread, 1e-9)
        steps = factor * (z[one] - z[other]) + jitter * rng.standard_normal(
            (len(start), z.shape[1])
        )
        tried = z[start] + steps
        tried_heights = height(tried)
        worthwhile = tried_heights > np.median(heights)
        tried, tried_heights = tried[worthwhile], tried_heights[worthwhile]
        probes += len(tried)
        accepted = inside(tried) if len(tried) else np.zeros(0, dtype=bool)
        z, heights = np.vstack([z, tried[accepted]]), np.append(heights, tried_heights[accepted])
        best = np.argsort(-heights, kind="stable")[:POPULATION]
        z, heights = z[best], heights[best]
    return z, probes
