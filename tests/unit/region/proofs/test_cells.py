"""Cells keep known sums: they save time, and change nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import exactregion as er
from exactregion.ranking import AcceptedRanks
from exactregion.region.proofs import cells
from exactregion.region.proofs.enclosure import CELL, EXPANSION, Boxes, Enclosure
from exactregion.region.proofs.packed import NONE
from exactregion.region.window import likely_parameters, window_at

M = 99


def region(family, *, trials=1, n=40, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    successes = rng.binomial(trials, 1 / (1 + np.exp(-0.3 - x)))
    y = successes if trials == 1 else np.column_stack([successes, trials - successes])
    return er.ConfidenceRegion(family, n_resamples=M, rng=seed).fit(x, y)


def rule_of(fitted):
    window = window_at(fitted.model, fitted.sample, likely_parameters(fitted.model, fitted.sample))
    return Enclosure(fitted, window, AcceptedRanks(M + 1, 1, 95))


@pytest.mark.parametrize(("family", "trials"), [("logistic", 1), ("probit", 1), ("logistic", 5)])
def test_verdicts_are_the_same_within_cells_and_without(family, trials):
    fitted = region(family, trials=trials).fitted_
    rule = rule_of(fitted)
    corner = np.array([[1.5, -1.0]])
    boxes = Boxes(corner, np.full((1, 2), 0.8), [np.zeros((1, M), dtype=np.int8)])
    numbers = []
    for _ in range(5):
        alone = Boxes(boxes.centre, boxes.half, [boxes.verdicts[0].copy()])
        without = rule_of(fitted)
        without.undecided[:] = rule.undecided  # the same order
        boxes.within[0][:, EXPANSION] = NONE  # and expansions of their own
        rule.ranks(boxes, 0, complete=True)
        without.ranks(alone, 0, complete=True)
        np.testing.assert_array_equal(boxes.verdicts[0], alone.verdicts[0])
        numbers.append((boxes.within[0][:, CELL] != NONE).sum())
        boxes = boxes.halves()
    assert numbers[-1] > 0
    assert rule.cells.count > 1  # cells within cells


def test_bounds_are_the_same_without_room_for_cells(monkeypatch):
    intervals = region("logistic").intervals(joint=True)
    for room in (0, 2**16):
        monkeypatch.setattr(cells, "LARGEST_STORE", room)
        again = region("logistic").intervals(joint=True)
        assert again[["lower", "upper", "gap"]].equals(intervals[["lower", "upper", "gap"]])
    assert intervals["certified"].all()
