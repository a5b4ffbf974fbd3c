"""Statistics on data sets written down by hand, instead of drawn ones."""

import numpy as np
import pytest

from exactregion.data.sample import Sample
from exactregion.engine import PreparedStatistic
from exactregion.resampling import blocks
from exactregion.statistics import Candidates


def statistic_values(statistic, X, successes, probabilities, *, trials=None, family=None):
    """Z of data sets `successes` (m, n), rows in the order of X.

    Labels unless `trials` are given; `family` is the (model, theta) that the score needs.
    """
    successes = np.asarray(successes)
    m, n = successes.shape
    first = successes[0]
    y = first if trials is None else np.column_stack([first, np.asarray(trials) - first])
    sample = Sample.from_data(X, y)
    inputs, order = sample.inputs, sample.inputs.order
    model, theta = family or (None, None)
    candidates = Candidates(
        inputs,
        np.asarray(probabilities, dtype=float)[order][None],
        sample.is_counts,
        model and model.bind(inputs.names),
        None if theta is None else np.array([theta], dtype=float),
    )
    at = PreparedStatistic.of(statistic, inputs, m).at(candidates)
    points = [np.zeros((term.features.width, 1, m)) for term in at.terms]
    K = successes[None][:, :, order].astype(float)
    for rows in blocks(n):
        for term, sums in zip(at.terms, points, strict=True):
            term.features.add(sums, K[:, :, rows], rows)
    pairs = zip(at.terms, points, strict=True)
    return at.combine([term.values(cloud) for term, cloud in pairs])[0][0]


@pytest.fixture(scope="session")
def values_of():
    return statistic_values
