"""Reliability diagrams of several classes."""

import numpy as np
import pytest

import exactregion as er
from exactregion.errors import InvalidValueError
from exactregion.plotting import ClassesDisplay, canvas

rng = np.random.default_rng(0)
P = rng.dirichlet([1, 1, 1], size=120)
Y = np.array(["bird", "cat", "dog"])[(rng.random(120)[:, None] > np.cumsum(P, axis=1)).sum(axis=1)]
SHARP = P**3 / (P**3).sum(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def result():
    return er.calibration_test(Y, SHARP, n_resamples=99, rng=0)


def test_one_panel_per_class_and_one_for_the_top_label(result):
    display = result.plot()
    assert list(display.panels) == ["bird", "cat", "dog", "top label"]
    titles = [ax.get_title(loc="left") for ax in display.figure_.axes]
    assert titles == ["bird", "cat", "dog", "top label"]
    assert "exact p-value 0.01" in display.figure_.get_suptitle()


def test_points_are_shares_of_the_class(result):
    panel = ClassesDisplay.from_result(result, draw=False).panels["cat"]
    assert panel.points["successes"].sum() == (Y == "cat").sum()
    assert panel.points["trials"].sum() == 120
    top = ClassesDisplay.from_result(result, draw=False).panels["top label"]
    hits = (np.array(["bird", "cat", "dog"])[SHARP.argmax(axis=1)] == Y).sum()
    assert top.points["successes"].sum() == hits
    assert top.points["predicted"].min() >= 1 / 3


def test_arguments_of_plot_are_those_of_the_points(result):
    for ax in result.plot(markersize=9, color="red").figure_.axes:
        assert (9, "red") in {(line.get_markersize(), line.get_color()) for line in ax.lines}


def test_classes_that_are_off_have_another_colour(result):
    display = result.plot()
    for ax, panel in zip(display.figure_.axes, display.panels.values(), strict=True):
        color = canvas.VERMILION if panel.is_off else canvas.INK
        assert color in {line.get_color() for line in ax.lines}
    assert any(panel.is_off for panel in display.panels.values())


def test_belts_are_drawn_in_their_panels():
    y, p = Y[:60], P[:60]
    belts = er.calibration_belt(y, p, n_resamples=19, rng=0, confidence_level=0.9)
    assert list(belts) == ["bird", "cat", "dog", "top label"]
    rows = p / p.sum(axis=1, keepdims=True)  # as they are read
    np.testing.assert_array_equal(belts["cat"].y_prob, rows[:, 1])
    alone = er.calibration_belt(y == "cat", rows[:, 1], n_resamples=19, rng=0, confidence_level=0.9)
    np.testing.assert_array_equal(belts["cat"].upper, alone.upper)
    result = er.calibration_test(y, p, n_resamples=19, rng=0)
    drawn = [len(ax.collections) for ax in result.plot(belts=belts).figure_.axes]
    without = [len(ax.collections) for ax in result.plot().figure_.axes]
    filled = [belt.status != "empty" for belt in belts.values()]
    assert [a - b for a, b in zip(drawn, without, strict=True)] == [int(one) for one in filled]
    with pytest.raises(InvalidValueError, match="one model"):
        er.calibration_belt(y, {"a": p, "b": p}, n_resamples=19, rng=0)


def test_rows_that_came_in_chunks_cannot_be_drawn(tmp_path):
    big = np.lib.format.open_memmap(tmp_path / "P.npy", mode="w+", shape=(70_000, 3))
    big[:] = np.tile(P, (584, 1))[:70_000]
    y = np.tile(Y, 584)[:70_000]
    result = er.calibration_test(
        y, np.load(tmp_path / "P.npy", mmap_mode="r"), n_resamples=9, rng=0
    )
    with pytest.raises(InvalidValueError, match="rows in memory"):
        result.plot()


def test_belts_of_classes_draw_themselves_side_by_side():
    y, p = Y[:40], np.c_[P[:40], np.zeros(40)]
    classes = ["bird", "cat", "dog", "fish"]
    belts = er.calibration_belt(y, p, classes=classes, n_resamples=19, rng=0, confidence_level=0.9)
    assert list(belts) == ["bird", "cat", "dog", "top label"]  # no curve of what is impossible
    display = belts.plot()
    assert [ax.get_title(loc="left") for ax in display.figure_.axes] == list(belts)
    assert display.figure_.get_suptitle().startswith("Calibration of 3 classes\n90% belts")
