"""Which ends of a region are open, beside a linear program: python -m validation.statuses.

For separated, quasi-separated and other data the joint intervals say which parameters have an end.
Two things say it again. A linear program finds whether the outcomes leave any direction u open:
x_j·u ≥ 0 in rows with successes, ≤ 0 in rows with failures. And `contains` is asked far out, at
θ₀ + s·u for s from 10³ to 10⁶, with θ₀ a likely parameter of the rows that stay uncertain, or near
it. An end may be called open only if there are members that far out, and finite only if there are
none. Under complete separation all data sets are equal far out, and the seat alone decides.
Prints one line per kind of data.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.optimize import linprog

import exactregion as er
from exactregion.region import bounds
from exactregion.region.separation.far import far_members
from validation.study import write_tables

FAR = 10.0 ** np.arange(3, 7)
TRIES = 200
"""Parameters around θ₀ that are tried before a far end is said to have no member."""

POSITIVE = 1e-7
"""Entries of a solution above this are positive; the program's own tolerance is 1e-9 here."""


def program(design: np.ndarray, y: np.ndarray, goal: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Maximise the certain rows plus `goal`·u over the separating directions: u, certain rows.

    Variables are u, within [-1, 1], and t_j ≤ |x_j·u| up to 10⁻³, whose sum makes all rows positive
    that can be so at once; the goal counts more.
    """
    n, d = design.shape
    up, down = y[:, 0] > 0, y[:, 1] > 0
    signed = np.where(up, 1.0, -1.0)[:, None] * design
    size = np.abs(design).max(axis=1)
    signed = signed / np.where(size > 0, size, 1.0)[:, None]
    mixed = up & down
    below = np.hstack([-signed[~mixed], np.eye(n)[~mixed]])
    equal = np.hstack([signed[mixed], np.zeros((int(mixed.sum()), n))])
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    for options in (tight, {}, {"presolve": False}):  # zero is feasible: a failure is numerical
        solved = linprog(
            -np.concatenate([1e3 * goal, np.ones(n)]),
            A_ub=below,
            b_ub=np.zeros(len(below)),
            A_eq=equal if len(equal) else None,
            b_eq=np.zeros(len(equal)) if len(equal) else None,
            bounds=[(-1, 1)] * d + [(0, 0 if both else 1e-3) for both in mixed],
            options=options,
        )
        if solved.x is not None:
            break
    return solved.x[:d], solved.x[d:] > POSITIVE


def likely(design: np.ndarray, y: np.ndarray, certain: np.ndarray) -> np.ndarray:
    """Maximise the likelihood of the other rows, with a weak penalty, by Newton's method."""
    theta = np.zeros(design.shape[1])
    rows = design[~certain]
    k, t = y[~certain, 0], y[~certain].sum(axis=1)
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(rows @ theta, -30, 30)))
        information = rows.T @ ((t * p * (1 - p))[:, None] * rows)
        information += 1e-3 * np.eye(len(theta)) * max(1.0, np.trace(information))
        step = np.linalg.solve(information, rows.T @ (k - t * p) - 1e-3 * theta)
        theta = theta + step * min(1.0, 2.0 / max(np.abs(step).max(), 1e-12))
    return theta


def has_far_members(
    region: er.ConfidenceRegion,
    design: np.ndarray,
    y: np.ndarray,
    u: np.ndarray,
    rng: np.random.Generator,
) -> bool:
    """Ask `contains` far out along u, from θ₀ and parameters around it."""
    along = design @ u
    certain = np.abs(along) > POSITIVE * max(1.0, np.abs(design).max())
    if certain.any():
        u = u / np.abs(along[certain]).min()
    theta = likely(design, y, certain)
    steps = rng.standard_normal((TRIES, len(theta))) * 10.0 ** rng.uniform(-1, 0.7, (TRIES, 1))
    steps[0] = 0.0
    # rows that stay uncertain must not move: rounding of u would be multiplied by 10⁶
    if not certain.all():
        u = u - np.linalg.lstsq(design[~certain], design[~certain] @ u, rcond=None)[0]
    far = np.stack([theta + steps + s * u for s in FAR])
    inside = np.stack([region.contains(batch) for batch in far])
    return bool(inside.all(axis=0).any())


def _confirmed(region: er.ConfidenceRegion, goal: np.ndarray) -> bool:
    """Ask `contains` at multiples of the direction that the library names for an open end."""
    found = far_members(region.fitted_)
    members = () if found is None else found.members
    return any(
        bool(one.face.opens(goal)[0])
        and bool(region.contains(one.theta + np.outer(FAR, one.face.direction)).all())
        for one in members
    )


def examine(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, object]:
    """Compare what is said of one region with the linear program and with members far out."""
    rng = np.random.default_rng([9, seed])
    region = er.ConfidenceRegion("logistic", n_resamples=59, rng=seed, pos_label=None).fit(X, y)
    has_trials = y.sum(axis=1) > 0  # rows without any say nothing
    X, y = X[has_trials], y[has_trials]
    design = np.column_stack([np.ones(len(X)), X])
    d = design.shape[1]
    started = time.perf_counter()
    table = region.intervals(joint=True, certify=False)
    seconds = time.perf_counter() - started
    is_empty = bool((table["status"] == "empty").all())
    is_closed = region.status_ in ("bounded", "disconnected", "empty")
    said = np.isinf(np.concatenate([table["upper"], -table["lower"]]).astype(float))
    # columns of one size for the program, whose tolerances are absolute
    size = np.abs(design).max(axis=0)
    size[size == 0] = 1.0
    u, certain = program(design / size, y, np.zeros(d))
    separated = bool(certain.any()) or np.linalg.matrix_rank(design) < d
    allowed, far = np.zeros(2 * d, dtype=bool), np.zeros(2 * d, dtype=bool)
    interior = has_far_members(region, design, y, u / size, rng) if certain.any() else False
    for end, goal in enumerate(np.vstack([np.eye(d), -np.eye(d)])):
        best, _ = program(design / size, y, goal)
        allowed[end] = best @ goal > 1e-5
        if allowed[end]:
            far[end] = interior or has_far_members(region, design, y, best / size, rng)
        if said[end] and allowed[end] and not far[end]:
            far[end] = _confirmed(region, goal)
    return {
        "separated": separated,
        "complete": bool(certain.all()),
        "said open": bool(said.any()),
        "status": region.status_,
        "far": bool(far.any()),
        "open but closed": int((said & ~allowed).sum()),
        "open, no member": int((said & allowed & ~far).sum()),
        "closed, members": int((~said & far).sum()) if not is_empty else int(far.any()),
        "bounded, members": int(is_closed and far.any()),
        "unbounded, none": int(region.status_ == "unbounded" and not allowed.any()),
        "seconds": seconds,
    }  # fmt: skip


def three_groups() -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """An indicator of the second of three groups: 13 of 21, 0 of 8, 15 of 20."""
    yield np.array([[0.0], [1.0], [0.0]]), np.array([[13, 8], [0, 8], [15, 5]])


def _labels(up: np.ndarray) -> np.ndarray:
    return np.column_stack([up, ~up]).astype(int)


def separated(
    slopes: int, count: int, *, complete: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Integer inputs that a plane parts, with rows of both outcomes on it unless `complete`."""
    rng = np.random.default_rng([10, slopes, complete])
    while count:
        n = int(rng.integers(12, 40))
        X = rng.integers(-3, 4, size=(n, slopes)).astype(float)
        predictor = X @ rng.integers(-2, 3, size=slopes) + rng.integers(-1, 2)
        if complete:
            X, predictor = X[predictor != 0], predictor[predictor != 0]
        up = np.where(predictor == 0, rng.random(len(X)) < 0.5, predictor > 0)
        design = np.column_stack([np.ones(len(X)), X])
        if up.all() or not up.any() or np.linalg.matrix_rank(design) <= slopes:
            continue
        certain = program(design, _labels(up), np.zeros(slopes + 1))[1]
        # another plane may part rows that are mixed on this one
        if certain.all() != complete or not certain.any():
            continue
        count -= 1
        yield X, _labels(up)


def one_binary(count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Two groups, one of them without a failure."""
    rng = np.random.default_rng(11)
    for _ in range(count):
        first, second = rng.integers(4, 25, size=2)
        successes = int(rng.integers(1, first))
        up = np.concatenate([np.arange(first) < successes, np.ones(second, dtype=bool)])
        yield np.repeat([0.0, 1.0], [first, second])[:, None], _labels(up)


def anything(count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Data with 1 to 4 inputs of several kinds, so few that about half of them are separated."""
    rng = np.random.default_rng(12)
    for turn in range(count):
        slopes = 1 + turn % 4
        n = int(rng.integers(4 + 2 * slopes, 12 + 8 * slopes))
        X = rng.normal(size=(n, slopes))
        for k in range(slopes):
            kind = rng.integers(4)
            if kind == 1:
                X[:, k] = np.round(X[:, k])
            elif kind == 2:
                X[:, k] = X[:, k] > rng.normal()
            elif kind == 3:
                X[:, k] *= 10.0 ** rng.integers(-3, 4)
        unit = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
        p = 1 / (1 + np.exp(-rng.normal() - unit @ rng.normal(scale=2.0, size=slopes)))
        if rng.random() < 0.2:
            trials = rng.integers(0, 6, size=n)
            trials[:2] = 2
            successes = rng.binomial(trials, p)
            yield X, np.column_stack([successes, trials - successes])
        else:
            yield X, _labels(rng.random(n) < p)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--random", type=int, default=500, help="data sets of any kind")
    parser.add_argument("--sets", type=int, default=20, help="separated data sets of each kind")
    parser.add_argument("--write", action="store_true", help="keep the table for the docs")
    asked = parser.parse_args()
    bounds.PROBES = (300, 300)  # audits are about the place of finite ends, which nobody asks here
    kinds = {
        "three groups": three_groups(),
        "one binary input": one_binary(asked.sets),
        **{f"in part, {k} inputs": separated(k, asked.sets, complete=False) for k in (1, 2, 3)},
        **{f"complete, {k} inputs": separated(k, asked.sets, complete=True) for k in (1, 2, 3)},
        "any, 1 to 4 inputs": anything(asked.random),
    }
    rows = []
    for kind, data in kinds.items():
        found = []
        for seed, (X, y) in enumerate(data):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                one = examine(X, y, seed)
            found.append(one)
            wrong = [name for name in list(one)[5:10] if one[name]]
            if wrong:
                print("differs:", kind, seed, one, flush=True)
        frame = pd.DataFrame(found)
        rows.append(
            {
                "data": kind,
                "sets": len(frame),
                "separated": int(frame["separated"].sum()),
                "complete": int(frame["complete"].sum()),
                "said open": int(frame["said open"].sum()),
                "members far out": int(frame["far"].sum()),
                **{name: int((frame[name] > 0).sum()) for name in list(one)[5:10]},
                "seconds per set": frame["seconds"].mean(),
            }
        )
        print(pd.DataFrame(rows[-1:]).to_string(index=False, header=len(rows) == 1), flush=True)
    table = pd.DataFrame(rows)
    print(table.to_string(index=False, float_format=lambda v: f"{v:.2f}"))
    if asked.write:
        write_tables("statuses", {"statuses": table.drop(columns="seconds per set")})


if __name__ == "__main__":
    main()
