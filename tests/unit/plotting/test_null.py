"""NullDisplay: the null distribution of a test."""

import numpy as np
import pytest
from support.pictures import legend_texts

import exactregion as er
from exactregion.plotting import NullDisplay

NULL = np.random.default_rng(0).exponential(size=199)


def drawn(statistic=1.5, null=NULL, **options):
    rank = 1 + int((null < statistic).sum())
    m = len(null) + 1
    display = NullDisplay(null, statistic=statistic, pvalue=(m - rank + 1) / m, rank=rank)
    return display.plot(**options)


def bars(ax, label):
    (container,) = [c for c in ax.containers if c[0].get_label() == label]
    return [bar for bar in container if bar.get_height() > 0]


def test_title_and_labels():
    display = drawn()
    ax = display.ax_
    title = f"Exact p-value {display.pvalue:.4g} (rank {display.rank} of 200)"
    assert ax.get_title(loc="left") == title
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("statistic", "number of alternatives")
    assert legend_texts(ax) == ["smaller than observed", "at least as large", "observed: 1.5"]
    assert display.figure_ is ax.figure


def test_every_alternative_is_on_its_side_of_the_observed():
    ax = drawn().ax_
    below, above = bars(ax, "smaller than observed"), bars(ax, "at least as large")
    assert sum(bar.get_height() for bar in below) == (NULL < 1.5).sum()
    assert sum(bar.get_height() for bar in above) == (NULL >= 1.5).sum()
    assert max(bar.get_x() + bar.get_width() for bar in below) <= 1.5 + 1e-9
    assert min(bar.get_x() for bar in above) >= 1.5 - 1e-9
    (line,) = ax.lines
    assert set(line.get_xdata()) == {1.5}


@pytest.mark.parametrize(("statistic", "null"), [(1000.0, NULL - NULL.min()), (np.inf, NULL)])
def test_far_out_is_an_arrow(statistic, null):
    ax = drawn(statistic, null).ax_
    assert len(ax.lines) == 0
    (arrow,) = ax.texts
    assert arrow.get_text() == ("observed: 1e+03" if statistic == 1000 else "observed: ∞")
    assert ax.get_xlim()[1] < 2 * NULL.max()
    assert legend_texts(ax) == ["smaller than observed"]


def test_a_long_null_distribution_has_a_log_axis():
    assert drawn().ax_.get_xscale() == "linear"
    display = drawn(1000.0)
    assert display.ax_.get_xscale() == "log"
    (line,) = display.ax_.lines  # to scale, without an arrow
    assert set(line.get_xdata()) == {1000.0}
    long = np.append(NULL, [1e-9, 1e4])  # one far below: it is counted in the first bin
    edges, smaller, larger = drawn(50.0, long).histogram()
    assert smaller.sum() + larger.sum() == len(long)
    assert edges[0] > 1e-5
    assert larger.sum() == 1


def test_ties_infinite_values_and_options():
    tied = drawn(2.0, np.full(19, 2.0)).ax_
    assert sum(bar.get_height() for bar in bars(tied, "at least as large")) == 19
    some = drawn(0.5, np.array([0.0, 1.0, np.inf])).ax_
    heights = [bar.get_height() for c in some.containers for bar in c]
    assert sum(heights) == 2
    (line,) = drawn(0.5, np.full(3, np.inf)).ax_.lines
    assert set(line.get_xdata()) == {0.5}
    assert len(drawn(bins=[0, 1, 2, 8]).ax_.containers[0]) == 3


def test_of_a_result(ax):
    x = np.linspace(-2, 2, 30)
    result = er.model_test(np.full(30, 0.5), x, x > 0.3, n_resamples=39, rng=0)
    display = result.plot(ax=ax)
    assert isinstance(display, NullDisplay)
    assert display.ax_ is ax
    assert ax.get_title(loc="left") == "Exact p-value 0.025 (rank 40 of 40)"
