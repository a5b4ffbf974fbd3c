"""Random θ of random boxes have ranks within the bounds of their box, for data of every kind.

`python -m validation.boxes` does the same with many more boxes and θ.
"""

import numpy as np
import pytest

import exactregion as er
from exactregion.ranking import AcceptedRanks
from exactregion.region.proofs.enclosure import Boxes, Enclosure
from exactregion.region.window import likely_parameters, window_at
from validation.boxes import DATA, FAMILIES, STATISTICS, check_boxes, draw_region


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("family", FAMILIES)
def test_random_points_of_random_boxes_stay_within_bounds(family, data):
    told = 0.0
    for turn, statistic in enumerate(STATISTICS):
        rng = np.random.default_rng([60, turn, *family.encode(), *data.encode()])
        fitted = draw_region(family, data, statistic, rng)
        if fitted is None:
            continue
        found = check_boxes(fitted, rng, boxes=20, points=18, is_focused=statistic == "focused")
        assert found.ranks == 0
        assert found.verdicts == 0
        told += found.told
    assert told > 0


def test_an_outcome_that_is_impossible_in_part_of_a_box_allows_the_last_rank():
    rng = np.random.default_rng(0)
    x = np.append(rng.normal(size=29), 40.0)
    y = np.append(rng.random(29) < 1 / (1 + np.exp(-x[:-1])), 0).astype(int)
    region = er.ConfidenceRegion("logistic", statistic="discrepancy", n_resamples=99, rng=0)
    fitted = region.fit(x, y).fitted_
    window = window_at(fitted.model, fitted.sample, likely_parameters(fitted.model, fitted.sample))
    edge = 53 * np.log(2) / 40  # from this slope on, the last row has a probability of one
    theta = np.array([[0.0, edge * (1 - 1e-4)], [0.0, edge * (1 + 1e-4)]])
    z = window.coordinates(theta)
    half = np.abs(z[1] - z[0])[None]
    boxes = Boxes(z.mean(axis=0)[None], half, [np.zeros((1, 99), dtype=np.int8)])
    lowest, highest = Enclosure(fitted, window, AcceptedRanks(100, 2, 99)).ranks(boxes, 0)
    ranks = fitted.ranks(theta)[0]
    assert ranks[0] < 100
    assert ranks[1] == 100
    assert lowest[0] <= ranks[0]
    assert highest[0] == 100
