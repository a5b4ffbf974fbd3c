"""Reliability diagrams: exact limits, and axes that follow the predictions."""

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta

import exactregion as er
from exactregion.errors import InvalidValueError
from exactregion.plotting import BeltsDisplay, NullsDisplay, formats, reliability
from exactregion.plotting.reliability import ProbabilityAxis, axes_for, scale_for

RNG = np.random.default_rng(2)
ONES = np.ones(200, dtype=int)
WIDE = RNG.uniform(size=200)
RARE = expit(RNG.normal(-6, 1, size=200))


def test_limits_are_those_of_clopper_and_pearson():
    hits = (RNG.random(200) < WIDE).astype(int)
    table = reliability(WIDE, hits, ONES, confidence_level=0.9)
    k, n = table["successes"].to_numpy(), table["trials"].to_numpy()
    lower, upper = beta.ppf(0.05, k, n - k + 1), beta.ppf(0.95, k + 1, n - k)
    assert np.allclose(table["lower"], np.where(k == 0, 0, lower))
    assert np.allclose(table["upper"], np.where(k == n, 1, upper))


def test_groups_of_rare_events_expect_about_as_many_events_each():
    table = reliability(RARE, 0 * ONES, ONES, most=5)
    expected = (table["predicted"] * table["trials"]).to_numpy()
    assert len(table) == 5
    assert expected.max() < 3 * expected.min()
    assert table["trials"].max() > 5 * table["trials"].min()


def test_groups_do_not_look_at_outcomes():
    one, other = (reliability(RARE, hits, ONES) for hits in (0 * ONES, ONES))
    assert one[["low", "high", "trials"]].equals(other[["low", "high", "trials"]])


@pytest.mark.parametrize("p", [np.array([0.0, 0.0]), np.array([1.0]), np.array([0.01])])
def test_certain_and_single_predictions(p):
    table = reliability(p, 0 * ONES[: len(p)], ONES[: len(p)])
    assert len(table) == 1
    for axis in axes_for(p, [], table["observed"].to_numpy()):
        assert 0 <= axis.low < axis.high <= 1


def test_the_scale_follows_the_predictions():
    assert [scale_for(p) for p in (WIDE, RARE, 1 - RARE)] == ["linear", "logit", "logit"]
    assert scale_for(WIDE, "logit") == "logit"
    with pytest.raises(InvalidValueError, match=r"'scale' .* Got 'log' instead"):
        scale_for(WIDE, "log")


def test_linear_axes_follow_the_data():
    middle = ProbabilityAxis.around(np.array([0.3, 0.5]))
    assert (middle.low, middle.high) == (pytest.approx(0.292), pytest.approx(0.508))
    assert ProbabilityAxis.around(np.array([0.01, 0.97])) == ProbabilityAxis("linear", 0.0, 1.0)


def test_a_logit_axis_leaves_out_a_lone_extreme():
    p = np.append(expit(RNG.normal(-6, 1, size=5000)), 1e-14)
    across, up = axes_for(p, [np.array([1e-12, 0.5])], np.array([0.0, 0.2]))
    assert across.low > 1e-7
    assert up.low > 1e-9
    places = across.place([0.0, 1e-14, across.low, 1.0])
    assert places[0] == places[1] == places[2]
    assert np.isfinite(places).all()


def test_ticks_of_a_logit_axis():
    ticks = ProbabilityAxis("logit", 1e-4, 0.6).ticks
    assert ticks == [1e-4, 1e-3, 1e-2, 0.1, 0.5]
    assert len(ProbabilityAxis("logit", 1e-15, 1 - 1e-9).ticks) <= 9


def test_probabilities_are_never_written_as_zero_or_one():
    values = [1e-12, 0.0004, 0.004, 0.4, 0.996, 0.99996]
    written = [formats.probability(value) for value in values]
    assert written == ["1e-12", "0.0004", "0.004", "0.40", "0.996", "0.99996"]


@pytest.fixture(scope="module")
def belts():
    p = np.linspace(0.03, 0.97, 40)
    y = np.random.default_rng(0).random(40) < p
    models = {"a $\\alpha$": p, "cubed": p**3}
    return er.calibration_belt(y, models, n_resamples=39, rng=0)


def test_belts_of_several_models(belts):
    assert list(belts) == ["a $\\alpha$", "cubed"]
    assert belts.table["pvalue"].to_dict() == {name: belt.pvalue for name, belt in belts.items()}
    assert (
        belts.intervals.loc[("cubed", "slope"), "upper"]
        == (belts["cubed"].intervals.loc["slope", "upper"])
    )
    assert "pvalue_holm" in repr(belts)
    display = belts.plot()
    assert display.ax_.get_title(loc="left") == "Calibration of 2 models (n = 40)"
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts[-1] == f"cubed: p = {belts.table.loc['cubed', 'pvalue_holm']:.4g}"
    display.figure_.canvas.draw()  # a name is text, not a formula
    logit = BeltsDisplay.from_belts(belts, scale="logit").ax_
    assert (logit.get_xscale(), logit.get_yscale()) == ("logit", "logit")


def test_a_belt_of_rare_events_is_drawn_on_logit_axes(belts):
    belt = belts["cubed"]
    display = belt.plot(scale="logit")
    assert display.ax_.get_xscale() == "logit"
    display.figure_.canvas.draw()
    heights = [patch.get_height() for patch in display.histogram_ax_.patches]
    assert sum(map(abs, heights)) == 40


def test_null_distributions_of_several_models(belts):
    display = NullsDisplay.from_results({name: belt.test for name, belt in belts.items()})
    titles = [ax.get_title(loc="left") for ax in display.figure_.axes]
    assert titles[1] == "cubed: Exact p-value 0.025 (rank 40 of 40)"
    display.figure_.canvas.draw()
