"""Outcomes that a candidate holds impossible."""

import numpy as np
import pytest

from exactregion.data.sample import Sample
from exactregion.engine.certainty import Certainties
from exactregion.statistics import Candidates


def contradicted(P, data_sets, trials):
    """Z of data sets that are zero unless a certainty of the candidate failed."""
    counts = np.column_stack([data_sets[0], np.subtract(trials, data_sets[0])])
    inputs = Sample.from_data(np.arange(len(P)) * 1.0, counts).inputs
    candidates = Candidates(inputs, np.array([P]), is_counts=True)
    certainties = Certainties.of(candidates, len(data_sets))
    points = np.zeros((1, 1, len(data_sets)))
    certainties.features.add(points, np.array([data_sets], dtype=float), slice(0, len(P)))
    return certainties.infinite_where_contradicted(np.zeros((1, len(data_sets))), points)[0]


def test_labels():
    data_sets = [[0, 1, 0, 1], [1, 1, 0, 1], [0, 0, 0, 1], [1, 0, 1, 0]]
    Z = contradicted([0.0, 1.0, 0.0, 1.0], data_sets, [1] * 4)
    assert Z.tolist() == [0, np.inf, np.inf, np.inf]


def test_counts():
    data_sets = [[0, 2, 3], [0, 4, 3], [1, 2, 3], [0, 2, 2], [1, 2, 2]]
    Z = contradicted([0.0, 0.5, 1.0], data_sets, [3, 4, 3])
    assert Z.tolist() == [0, 0, np.inf, np.inf, np.inf]


@pytest.mark.parametrize("p", [1e-300, 0.5, 1 - 1e-16])
def test_what_is_possible_is_no_certainty(p):
    inputs = Sample.from_data([0.0], [1]).inputs
    assert Certainties.of(Candidates(inputs, np.array([[p]])), 20) is None
