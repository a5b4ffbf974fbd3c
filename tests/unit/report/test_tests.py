"""Pages of tests: the histogram, the observed statistic, the groups."""

import numpy as np
import pytest

import exactregion as er
from exactregion.plotting import reliability
from exactregion.report.tests import page_of_test


def figures(page):
    return {figure.id: figure for figure in page.figures}


def columns(figure, glyph):
    return [
        renderer.data_source.data
        for renderer in figure.root.renderers
        if type(renderer.glyph).__name__ == glyph
    ]


def test_the_bars_hold_every_alternative(tested):
    null = figures(page_of_test(tested))["null"]
    less, more = columns(null, "Quad")
    assert (less["top"] == more["bottom"]).all()
    assert more["top"].sum() == tested.n_resamples
    extreme = (tested.null_distribution >= tested.statistic).sum()
    assert (more["top"] - more["bottom"]).sum() == extreme
    # the axis is a log one
    assert columns(null, "Line")[0]["x"] == [pytest.approx(np.log10(tested.statistic))] * 2
    (pointer,) = null.pointers
    said = [int(text.split()[-1].replace(",", "")) for text in pointer.texts]
    assert said == more["top"].tolist()


def test_the_verdict_follows_the_p_value(tested):
    assert tested.pvalue > 0.05
    assert page_of_test(tested).verdict == "fits"
    x = np.linspace(-2, 2, 40)
    rejected = er.model_test(np.full(40, 0.5), x, x > 0, n_resamples=99, rng=0)
    assert rejected.pvalue == 0.01
    assert page_of_test(rejected).verdict == "against"


def test_a_statistic_far_off_or_infinite_stays_in_the_picture():
    p = np.array([0.0, 0.2, 0.5, 0.7, 0.9, 0.4])
    contradicted = er.calibration_test([1, 0, 1, 1, 1, 0], p, n_resamples=99, rng=0)
    null = figures(page_of_test(contradicted))["null"]
    x_range = null.root.x_range
    (line,) = columns(null, "Line")
    assert np.isfinite([x_range.start, x_range.end]).all()
    assert x_range.start <= line["x"][0] <= x_range.end
    assert any("off to the right" in key.text for key in null.keys)


def test_equal_predictions_stay_together():
    p = np.repeat([0.1, 0.2, 0.9], [5, 1, 94])
    y = (np.arange(100) % 2).astype(int)
    groups = reliability(p, y, np.ones(100, dtype=int))
    assert groups.trials.tolist() == [6, 94]
    assert groups.low.tolist() == [0.1, 0.9]
    assert groups.high.tolist() == [0.2, 0.9]
    assert groups.trials @ groups.observed == pytest.approx(y.sum())
    assert groups.trials @ groups.predicted == pytest.approx(p.sum())


def test_groups_are_of_about_equal_size():
    p = np.random.default_rng(0).uniform(size=205)
    groups = reliability(p, np.zeros(205, dtype=int), np.ones(205, dtype=int))
    assert len(groups.trials) == 10
    assert groups.trials.min() >= 20
    assert (groups.low.to_numpy()[1:] > groups.high.to_numpy()[:-1]).all()


def test_trials_count_in_groups_and_empty_rows_do_not():
    p, hits = np.array([0.2, 0.4, 0.9]), np.array([1, 0, 6])
    groups = reliability(p, hits, np.array([4, 0, 6]), most=2)
    assert groups.trials.tolist() == [4, 6]
    assert groups.observed.tolist() == [0.25, 1.0]


def test_pointing_at_groups_says_what_the_table_says(tested):
    page = page_of_test(tested)
    table = page.sections[-1].parts[1]
    (pointer,) = figures(page)["groups"].pointers
    assert len(pointer.texts) == len(table.rows) == 1
    assert table.rows[0] == ["0.333", "7 of 23", "7.7", "0.30", "0.13 to 0.53"]
    assert "7 positive" in pointer.texts[0]
    assert "7.7 expected" in pointer.texts[0]
    assert "not part of the test" in figures(page)["groups"].reading
