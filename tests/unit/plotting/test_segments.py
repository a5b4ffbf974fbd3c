"""The picture of segments."""

import numpy as np
import pytest

import exactregion as er
from exactregion.plotting import wording


@pytest.fixture(scope="module")
def result():
    rng = np.random.default_rng(0)
    p, site = rng.uniform(size=300), rng.choice(["a", "b $x$ c", "d"], 300)
    y = rng.uniform(size=300) < np.where(site == "a", p**3, p)
    return er.segment_test(y, p, site, n_resamples=99, rng=0)


def test_arrays_are_those_of_the_table(result):
    display = er.plotting.SegmentDisplay.from_result(result, most=2, draw=False)
    table = result.table.head(2)
    assert display.names == tuple(table.index)
    for name in ("n", "difference", "lower", "upper"):
        np.testing.assert_array_equal(getattr(display, name), table[name])
    assert (display.tested, display.named.tolist()) == (4, [True, True])


def test_each_segment_has_its_line_and_numbers(result):
    display = result.plot()
    ax = display.ax_
    labels = [tick.get_text() for tick in ax.get_yticklabels()]
    assert labels[0] == "segment = a"
    assert r"segment = b \$x\$ c" in labels
    dots = np.concatenate(
        [part.get_offsets() for part in ax.collections if hasattr(part, "get_sizes")]
    )
    np.testing.assert_allclose(sorted(dots[:, 0]), sorted(result.table["difference"]))
    (right,) = ax.child_axes
    written = [tick.get_text().split() for tick in right.get_yticklabels()][1:]
    assert [int(n) for n, _ in written] == result.table["n"].tolist()
    assert "all segments" in " ".join(text.get_text() for text in ax.texts)


def test_it_draws_where_it_is_told_to(result, ax):
    assert er.plotting.SegmentDisplay.from_result(result, ax=ax, color="k").ax_ is ax


@pytest.mark.parametrize("most", [0, 1.5, True])
def test_a_number_of_segments_is_needed(result, most):
    with pytest.raises(er.errors.InvalidValueError, match=r"'most' parameter must be a number"):
        result.plot(most=most)


def test_words_name_segments(result):
    number = len(result.named())
    said = f"off in {number} of 4 segments (p = 0.01): segment = a ("
    assert said in wording.answer_of(result)
    rng = np.random.default_rng(1)
    p = rng.uniform(size=60)
    fine = er.segment_test(rng.uniform(size=60) < p, p, p > 0.5, n_resamples=19, rng=0)
    assert wording.answer_of(fine).startswith("None of 3 segments is shown to be off (p =")
