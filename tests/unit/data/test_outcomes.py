"""Labels of outcomes."""

import numpy as np
import pytest

from exactregion.data.outcomes import distinct_labels


@pytest.mark.parametrize(
    "values",
    [
        np.array([True, False]),
        np.array([True, True]),
        np.array([1, 0, 0]),
        np.array([3, 3]),
        np.array([-1, 1]),
        np.array([2, 0, 1], dtype=np.uint8),
        np.array([np.iinfo(np.int64).min, np.iinfo(np.int64).max]),
        np.array(["b", "a"]),
    ],
)
def test_distinct_labels_are_those_that_sorting_finds(values):
    found = distinct_labels(values)
    assert found == np.unique(values).tolist()
    assert [type(label) for label in found] == [type(label) for label in np.unique(values).tolist()]
