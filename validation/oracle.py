"""Bounds over boxes beside the arithmetic of another library: python -m validation.oracle.

python-flint computes with balls that contain the exact value. At the corners of random boxes and at
points inside, it gives p, p (1 - p), residuals, the information, and Z of every data set minus Z of
the original, from the definitions and with 120 digits. All of them have to lie within what
`region.enclosure` says of the box, and no verdict may contradict the sign of a difference. Prints
one line per statistic: for every quantity how many values were compared, how many lay outside, and
the largest share of what the bounds allow that was made use of.

Boxes where a probability is 0 or 1 in floating point are left out: the engines define Z there, and
`validation.boxes` compares with them.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from flint import arb, arb_mat, ctx

from exactregion.ranking import AcceptedRanks
from exactregion.region.fitted import FittedRegion
from exactregion.region.proofs.enclosure import Boxes, Enclosure
from exactregion.region.proofs.parts import PartsOverBoxes
from exactregion.region.ratios import LinearRatios
from exactregion.region.window import likely_parameters, window_at
from validation.boxes import DATA, STATISTICS, draw_region
from validation.study import write_tables

DIGITS = 120
QUANTITIES = ("p", "p(1-p)", "residual", "information", "Z_i - Z_0", "verdicts")


@dataclass
class Tally:
    """Values compared, those outside, and the largest share of the bounds that was used."""

    compared: int = 0
    outside: int = 0
    used: float = 0.0

    def add(self, deviation: arb, allowed: float) -> None:
        """Note an exact value at a distance of `deviation` where `allowed` is the most."""
        self.compared += 1
        size = abs(deviation)
        if not size <= arb(allowed):
            self.outside += 1
        if allowed > 0:
            self.used = max(self.used, float(size.mid()) / allowed)


@dataclass
class Oracle:
    """Exact values of one region at points of boxes, compared with an enclosure of the boxes."""

    fitted: FittedRegion
    rule: Enclosure
    tallies: dict[str, Tally] = field(
        default_factory=lambda: {name: Tally() for name in QUANTITIES}
    )

    def __post_init__(self) -> None:
        rule = self.rule.inputs
        window, X = rule.window, self.fitted.sample.inputs.X
        design = self.fitted.model.logit_gradient(window.origin[None], X)[0]
        self.design, self.axes = arb_mat(design.tolist()), arb_mat(window.axes.tolist())
        self.origin = arb_mat([[value] for value in window.origin])
        self.matrix, self.scalar = arb_mat(rule.matrix.tolist()), arb_mat(rule.scalar.tolist())
        self.trials = [int(t) for t in rule.trials]
        self.squares = [sum((arb(v) ** 2 for v in row), arb(0)) for row in rule.scalar]

    def compare(self, centre: np.ndarray, half: np.ndarray, rng: np.random.Generator) -> None:
        """Compare values at all corners of one box and at two points inside."""
        rule = self.rule
        boxes = Boxes(centre[None], half[None], [np.zeros((1, rule.M), dtype=np.int8)])
        over = PartsOverBoxes(rule.inputs, boxes.centre, boxes.half)
        if over.rows.has_certainties[0]:
            return
        rule.ranks(boxes, 0)
        d = len(centre)
        middle = self.at([arb(c) for c in centre])
        corners = np.array(list(product((-1.0, 1.0), repeat=d)))
        for share in np.concatenate([corners, rng.uniform(-1, 1, size=(2, d))]):
            step = [arb(float(s)) * arb(float(h)) for s, h in zip(share, half, strict=True)]
            z = [arb(float(c)) + s for c, s in zip(centre, step, strict=True)]
            self._compare_at(over, boxes.verdicts[0][0], middle, self.at(z), step)

    def at(self, z: list[arb]) -> dict[str, Any]:
        """Compute all quantities at coordinates z, from their definitions."""
        theta = self.origin + self.axes * arb_mat([[value] for value in z])
        eta = self.design * theta
        p = [1 / (1 + (-eta[j, 0]).exp()) for j in range(eta.nrows())]
        v = [t * one * (1 - one) for t, one in zip(self.trials, p, strict=True)]
        surprise = [
            [int(k) - t * one]
            for k, t, one in zip(self.rule.inputs.successes, self.trials, p, strict=True)
        ]
        e = arb_mat(surprise)
        weighted = arb_mat(
            [[v[j] * self.matrix[j, a] for a in range(self.matrix.ncols())] for j in range(len(v))]
        )
        return {
            "p": p,
            "v": v,
            "e": self.matrix.transpose() * e,
            "f": self.scalar.transpose() * e,
            "information": self.matrix.transpose() * weighted,
            "expected": sum((a * b for a, b in zip(v, self.squares, strict=True)), arb(0)),
        }

    def _compare_at(
        self, over: Any, verdicts: Any, middle: dict[str, Any], here: dict[str, Any], step: Any
    ) -> None:
        self._compare_rows(over, here)
        if self.matrix.ncols() and over.near[0]:
            self._compare_sums(over, middle, here, step)
        self._compare_differences(over, verdicts, middle, here)

    def _compare_rows(self, over: Any, here: dict[str, Any]) -> None:
        rows = over.rows
        for j, (p, v) in enumerate(zip(here["p"], here["v"], strict=True)):
            low, high = rows.p_low[0, j], rows.p_high[0, j]
            self.tallies["p"].add(p - (arb(low) + arb(high)) / 2, (high - low) / 2 + 2e-16 * high)
            low, high = rows.smallest_v[0, j], rows.largest_v[0, j]
            if self.trials[j]:
                deviation = v / self.trials[j] - (arb(low) + arb(high)) / 2
                self.tallies["p(1-p)"].add(deviation, (high - low) / 2 + 1e-15 * high)

    def _compare_sums(
        self, over: Any, middle: dict[str, Any], here: dict[str, Any], step: Any
    ) -> None:
        """Residual and information against their first order, along random directions."""
        rule, rows = self.rule.inputs, over.rows
        slopes = np.tensordot(rows.pull.slope, rule.moved_matrix, axes=1)[0]
        slopes_v = np.tensordot(rows.weight.slope, rule.moved_squares, axes=1)[0]
        v = rows.v.value[0]
        s = self.matrix.ncols()
        rng = np.random.default_rng(0)
        for u in rng.normal(size=(3, s)):
            along = rule.matrix @ u
            exact = sum((arb(u[a]) * (here["e"] - middle["e"])[a, 0] for a in range(s)), arb(0))
            first = sum((d * arb(float(row @ u)) for d, row in zip(step, slopes, strict=True)),
                        arb(0))  # fmt: skip
            rounding = 1e-12 * float(np.abs(v * along) @ rows.radius[0])
            # without what the engines round
            rest = rows.pull.rest[0] - rule.row_error
            allowed = float(rest @ np.abs(along)) + rounding + 1e-25
            self.tallies["residual"].add(exact - first, allowed)
            change = here["information"] - middle["information"]
            exact = sum(
                (arb(u[a]) * arb(u[b]) * change[a, b] for a in range(s) for b in range(s)), arb(0)
            )
            first = sum(
                (d * arb(float(u @ row @ u)) for d, row in zip(step, slopes_v, strict=True)),
                arb(0),
            )
            rounding = 1e-12 * float((v * along**2) @ rows.radius[0])
            allowed = float(rows.weight.rest[0] @ along**2) + rounding + 1e-25
            self.tallies["information"].add(exact - first, allowed)

    def _compare_differences(
        self, over: Any, verdicts: Any, middle: dict[str, Any], here: dict[str, Any]
    ) -> None:
        rule = self.rule.inputs
        draws = rule.draws
        # labels that rounding could decide are left to the engines
        p = np.array([float(one.mid()) for one in here["p"]])[rule.row]
        labels = draws.uniforms < p
        unclear = (np.abs(draws.uniforms - p) < 1e-10 * np.minimum(p, 1 - p)).any(axis=1)
        metric = self._metric(middle, here)
        changes = labels - draws.observed
        for i in np.flatnonzero(~unclear):
            w, y = changes[i] @ draws.matrix, changes[i] @ draws.scalar
            if not (w.any() or y.any()):
                continue
            exact = self._difference(w, y, here, metric)
            if over.near[0]:
                centre, spread = _bounds_of_difference(over, w, y)
                self.tallies["Z_i - Z_0"].add(exact - arb(centre), spread)
            verdict = self.tallies["verdicts"]
            verdict.compared += int(verdicts[i] != 0)
            verdict.outside += int(
                (verdicts[i] == -1 and exact > 0) or (verdicts[i] == 1 and exact < 0)
            )

    def _metric(self, middle: dict[str, Any], here: dict[str, Any]) -> tuple[Any, Any]:
        """Return the matrix and the number that points are measured by."""
        rule, M = self.rule.inputs, None
        if self.matrix.ncols():
            M = here["information"].inv() * arb(rule.matrix_weight)
            if rule.number is not None:
                g = arb_mat([[value] for value in rule.number.numerator[0]])
                b = here["information"].inv() * g
                size = (g.transpose() * middle["information"].inv() * g)[0, 0]
                M = b * b.transpose() * (1 / size)
        number = arb(rule.scalar_weight)
        return M, number / here["expected"] if rule.by_expectation else number

    def _difference(
        self, w: np.ndarray, y: np.ndarray, here: dict[str, Any], metric: tuple[Any, Any]
    ) -> arb:
        """Compute wᵀ M w + 2 wᵀ M e of both parts."""
        total = arb(0)
        for change, residual, M in zip((w, y), (here["e"], here["f"]), metric, strict=True):
            if not len(change):
                continue
            column = arb_mat([[float(value)] for value in change])
            moved = column + 2 * residual
            total += (column.transpose() * (M * moved if isinstance(M, arb_mat) else moved * M))[
                0, 0
            ]
        return total


def _bounds_of_difference(over: Any, w: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return Z_i - Z_0 at the centre and by how much it may move, as `region.verdicts` has it."""
    matrix, scalar, half = over.matrix, over.scalar, over.half[0]
    centre, spread, slope = 0.0, 0.0, np.zeros(len(half))
    if len(w):
        square = max(w @ matrix.norm[0] @ w, 0.0)
        centre += w @ matrix.metric[0] @ w + matrix.linear[0] @ w
        spread += matrix.curvature[0] @ [square, np.sqrt(square), 1.0]
        slope += np.einsum("tab,a,b->t", matrix.metric_slopes[0], w, w)
        slope += matrix.linear_slopes[0] @ w
    if len(y):
        square = y @ y
        centre += scalar.metric[0] * square + scalar.linear[0] @ y
        spread += scalar.curvature[0, :2] @ [square, np.sqrt(square)]
        slope += scalar.metric_slopes[0] * square + scalar.linear_slopes[0] @ y
    return float(centre), float(spread + np.abs(slope) @ half)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--boxes", type=int, default=300, help="boxes per statistic and family")
    # whose logit is the linear predictor
    parser.add_argument("--families", nargs="*", default=["logistic", "recalibration"])
    parser.add_argument("--write", action="store_true", help="keep the table for the docs")
    asked = parser.parse_args()
    ctx.dps = DIGITS
    each = 5
    records = []
    for family in asked.families:
        for statistic in STATISTICS:
            totals = {name: Tally() for name in QUANTITIES}
            done = turn = 0
            while done < asked.boxes:
                rng = np.random.default_rng([7, STATISTICS.index(statistic), turn])
                data = DATA[turn % (len(DATA) - 1)]  # many trials would take long
                turn += 1
                fitted = draw_region(family, data, statistic, rng)
                if fitted is None or len(fitted.sample.inputs) > 25:
                    continue
                model, sample, m = fitted.model, fitted.sample, fitted.resampling.m
                window = window_at(model, sample, likely_parameters(model, sample))
                d = len(window.origin)
                is_focused = statistic == "focused"
                number = LinearRatios.linear(rng.normal(size=(1, d))) if is_focused else None
                rule = Enclosure(fitted, window, AcceptedRanks(m, 2, m - 1), number)
                oracle = Oracle(fitted, rule)
                for _ in range(each):
                    centre = rng.normal(size=d) * 10.0 ** rng.uniform(-1, 1)
                    half = 10.0 ** rng.uniform(-6, 0.5) * rng.uniform(0, 1, size=d)
                    oracle.compare(centre, half, rng)
                    done += 1
                for name, tally in oracle.tallies.items():
                    total = totals[name]
                    total.compared += tally.compared
                    total.outside += tally.outside
                    total.used = max(total.used, tally.used)
                    if tally.outside:
                        print("defect:", family, statistic, data, turn - 1, name, tally, flush=True)
            for name, total in totals.items():
                record = {"family": family, "statistic": statistic, "quantity": name}
                records.append({**record, "compared": total.compared, "outside": total.outside,
                                "used": total.used})  # fmt: skip
    table = pd.DataFrame(records)
    table = table[table["compared"] > 0]
    print(table.to_string(index=False, float_format=lambda v: f"{v:.3g}"))
    if asked.write:
        write_tables("oracle", {"oracle": table})


if __name__ == "__main__":
    main()
