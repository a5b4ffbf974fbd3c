"""Members outside certified results, by probing: python -m validation.proven [--sets 200].

For random data sets the joint and focused intervals and a band are proven, and then attacked: θ on
a dense grid around the region, and random ones near its boundary and far out, are evaluated. A
member outside a certified result would be a defect. Prints one line per setting: data sets,
certified results, largest gap as a share of the length, members found, members outside, and the
largest distance by which searched results miss members.
"""

import argparse
import time

import numpy as np

import exactregion as er
from exactregion.ranking import AcceptedRanks
from exactregion.statistics.focused import focused_on

SETTINGS = [("logistic", 1, n) for n in (10, 23, 50, 100, 200)] + [
    ("recalibration", 1, n) for n in (30, 100, 200)
]
PROBES = 100_000
RESAMPLES = 199


def draw(family, n, rng):
    """Draw data that are not separated."""
    while True:
        x = rng.normal(size=n)
        y = rng.random(n) < 1 / (1 + np.exp(-rng.normal() - rng.normal(scale=1.5) * x))
        if not 0 < y.sum() < n or separated(x, y):
            continue
        return (1 / (1 + np.exp(-x)) if family == "recalibration" else x), y.astype(int)


def separated(x, y):
    """Whether a threshold parts successes from failures, but for ties."""
    return max(x[y].max() - x[~y].min(), 0) * max(x[~y].max() - x[y].min(), 0) <= 0


def probes(region, rng):
    """A grid over twice the extent of the region, and random θ near and far."""
    window = region.outline().window
    reach = np.abs(region.outline().rays.members()).max()
    side = int(np.sqrt(0.8 * PROBES))
    axis = np.linspace(-2 * reach, 2 * reach, side)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    far = rng.standard_normal((PROBES - len(grid), 2))
    far *= reach * 10.0 ** rng.uniform(-0.5, 2, size=(len(far), 1))
    return window.theta(np.concatenate([grid, far]))


def excess(values, lower, upper):
    """How far values lie outside an interval, as a share of its length."""
    if not len(values):
        return 0.0
    return max(lower - values.min(), values.max() - upper, 0.0) / (upper - lower)


def attack(family, n, seed):
    """Prove the results of one data set and count the members outside."""
    rng = np.random.default_rng([1, n, seed])
    X, y = draw(family, n, rng)
    region = er.ConfidenceRegion(family, n_resamples=RESAMPLES, rng=seed).fit(X, y)
    fitted, m = region.fitted_, RESAMPLES + 1
    theta = probes(region, rng)
    ranks = fitted.ranks(theta)[0]
    members = theta[fitted.accepted.holds(ranks)]
    found = {"certified": [], "gap": [], "outside": [], "searched": [], "members": len(members)}

    def note(table, searched, name, values):
        row = table.loc[name]
        length = row["upper"] - row["lower"]
        found["certified"].append(bool(row["certified"]))
        if row["certified"]:
            found["gap"].append(row["gap"] / length)
            found["outside"].append(excess(values, row["lower"], row["upper"]))
        old = searched.loc[name]
        found["searched"].append(excess(values, old["lower"], old["upper"]))

    joint, old_joint = region.intervals(joint=True), region.intervals(joint=True, certify=False)
    focused, old_focused = region.intervals(), region.intervals(certify=False)
    guarded = ranks <= m - 1
    for index, name in enumerate(joint.index):
        note(joint, old_joint, name, members[:, index])
        own = fitted.rank_function(focused_on(np.eye(2)[index]))(theta)[0]
        accepted = AcceptedRanks(m, 1, fitted.accepted.high + 1).holds(own)
        note(focused, old_focused, name, theta[guarded & accepted][:, index])
    at = np.linspace(X.min(), X.max(), 9)
    band, P = region.band(at), region.model_.probabilities(members, at)
    found["certified"].append(band.certified)
    if band.certified:
        outside = np.maximum(band.lower - P, P - band.upper).max(initial=0.0)
        found["outside"].append(max(outside - 1e-12, 0.0))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=200, help="data sets in all")
    count = max(1, parser.parse_args().sets // len(SETTINGS))
    print(f"{'family':<14} {'n':>4} {'sets':>5} {'certified':>10} {'gap':>7} {'members':>9} "
          f"{'outside':>8} {'search misses':>14} {'seconds':>8}")  # fmt: skip
    for family, _, n in SETTINGS:
        started = time.perf_counter()
        results = [attack(family, n, seed) for seed in range(count)]
        certified = np.concatenate([r["certified"] for r in results])
        outside = np.concatenate([r["outside"] for r in results])
        searched = np.concatenate([r["searched"] for r in results])
        gap = np.concatenate([r["gap"] for r in results]).max(initial=0.0)
        print(
            f"{family:<14} {n:>4} {count:>5} {certified.mean():>10.3f} {gap:>7.4f} "
            f"{sum(r['members'] for r in results):>9} {(outside > 0).sum():>8} "
            f"{(searched > 0.03).mean():>6.3f} {searched.max():>7.3f} "
            f"{(time.perf_counter() - started) / count:>8.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
