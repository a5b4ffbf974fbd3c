"""The paper's experiment, small: data, yardsticks, numbers, figure and files."""

import json
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import binom, chi2

import exactregion as er
from exactregion.paper import figure, paper, setting
from exactregion.paper.paper import enclosing_box, study
from exactregion.paper.setting import THRESHOLD, LikelihoodRatio, two_stripes

SMALL = {"n": 150, "n_resamples": 19, "points": 12, "levels": 5}
EXACT = ["I_knn", "I_gaussian", "II_gaussian", "III_gaussian", "score", "combined"]


@pytest.fixture(scope="module")
def small():
    return study(1, **SMALL)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper") / "made"
    messages = []
    return folder, paper.run(folder, 1, **SMALL, progress=messages.append), messages


# --- setting --------------------------------------------------------------------------------------


def test_data_come_from_the_truth_and_the_seed():
    data, again, other = (setting.draw_data(seed, 20_000) for seed in (3, 3, 4))
    assert np.array_equal(data.x, again.x)
    assert not np.array_equal(data.x, other.x)
    residuals = data.x - data.y
    assert abs(np.mean(data.y)) < 5 / np.sqrt(20_000)
    assert abs(np.mean(np.abs(residuals)) - setting.TRUTH[1]) < 5 / np.sqrt(20_000)


def test_statistics_are_those_of_the_titles():
    assert list(setting.compared_statistics(500)) == EXACT
    assert [*EXACT, "likelihood_ratio", "stripes"] == list(setting.TITLES)
    assert setting.compared_statistics(500)["I_knn"].k == 22


def test_all_regions_share_data_and_draws():
    data = setting.draw_data(0, 60)
    evaluations = [
        setting.fit_region(statistic, data, 19).evaluate(setting.TRUTH)
        for statistic in setting.compared_statistics(60).values()
    ]
    first = evaluations[0]
    for other in evaluations[1:]:
        assert other.seat == first.seat
        assert np.array_equal(other.labels, first.labels)


# --- stripes --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [20, 150, 500])
def test_stripes_hold_the_truth_at_least_as_often_as_promised(n):
    repetitions = 400
    stripes = [two_stripes(setting.draw_data(seed, n)) for seed in range(repetitions)]
    held = sum(bool(one.contains(setting.TRUTH)) for one in stripes)
    assert held >= binom.ppf(1e-9, repetitions, 0.9)


def test_stripes_are_the_rectangle_of_their_formulas():
    x = np.array([2.0, -2.0] * 200)
    y = np.array([1, -1] * 200)
    stripes = two_stripes(setting.Data(x, y, np.random.SeedSequence(0)))
    reach, c = np.sqrt(np.log(40) / 800), np.sqrt(20 / (400 * 0.05))
    assert stripes.p == pytest.approx((0.5 - reach, 0.5 + reach))
    assert stripes.scale == pytest.approx((1 / np.sqrt(2 + c), 1 / np.sqrt(2 - c)))
    assert stripes.area == pytest.approx(2 * reach * np.ptp(stripes.scale))
    inside = stripes.contains([[0.5, 0.7], [0.5, 0.1], [0.9, 0.7]])
    assert inside.tolist() == [True, False, False]


def test_few_rows_leave_the_scale_without_an_upper_end():
    assert two_stripes(setting.draw_data(0, 100)).scale[1] == np.inf


# --- likelihood ratio -----------------------------------------------------------------------------


def test_likelihood_ratio_region_has_the_area_of_its_ellipse():
    region = LikelihoodRatio(setting.draw_data(0, 5000))
    half = 4 * np.sqrt(np.diag(np.linalg.inv(region.information)))
    box = np.column_stack([region.estimate - half, region.estimate + half])
    ellipse = np.pi * THRESHOLD / np.sqrt(np.linalg.det(region.information))
    assert region.grid(box, levels=6).area == pytest.approx(ellipse, rel=0.05)


def test_likelihood_ratio_finds_the_maximum():
    region = LikelihoodRatio(setting.draw_data(0, 300))
    x, y, _ = region.data
    residuals = (y > 0) - setting.MODEL.probabilities(region.estimate, x)
    score = residuals @ setting.MODEL.logit_gradient(region.estimate, x)
    assert score @ np.linalg.solve(region.information, score) < 1e-8
    assert pytest.approx(chi2.ppf(0.9, 2)) == THRESHOLD
    assert region.contains(region.estimate[None]).all()
    assert not region.contains(np.array([[0.0, 1.0], [1.0, 1.0]])).any()


def test_likelihood_ratio_on_a_grid_is_what_it_contains():
    region = LikelihoodRatio(setting.draw_data(0, 300))
    grid = region.grid(setting.BOX, levels=5)
    theta = np.stack(np.meshgrid(*grid.axes, indexing="ij"), axis=-1).reshape(-1, 2)
    assert np.array_equal(grid.member.ravel(), region.contains(theta))


# --- the study ------------------------------------------------------------------------------------


def test_box_is_widened_until_it_holds_the_region():
    region = LikelihoodRatio(setting.draw_data(0, 150))
    start = np.array([[0.5, 0.52], [0.9, 1.0]])
    assert region.grid(start, levels=5).status == "unbounded"
    box = enclosing_box([region], start)
    assert region.grid(box, levels=5).status == "bounded"
    assert (box[:, 0] <= start[:, 0]).all()
    assert (box[:, 1] >= start[:, 1]).all()


def test_box_stays_within_the_bounds_of_the_parameters():
    region = LikelihoodRatio(setting.draw_data(0, 12))
    box = enclosing_box([region], np.array(setting.BOX))
    assert 0 <= box[0, 0] < box[0, 1] <= 1
    assert box[1, 0] >= 0


def test_all_grids_of_a_study_have_the_same_box(small):
    assert list(small.regions) == [*EXACT, "likelihood_ratio"]
    for found in small.regions.values():
        ends = np.array([[axis[0], axis[-1]] for axis in found.fine.axes])
        assert ends == pytest.approx(small.box)
    assert small.relative_areas()["likelihood_ratio"] == 1.0


def test_a_study_repeats_itself(small):
    again = study(1, **SMALL)
    assert again.areas() == small.areas()
    for key in EXACT:
        assert np.array_equal(again.regions[key].ranks.ranks, small.regions[key].ranks.ranks)


# --- numbers and files ----------------------------------------------------------------------------


def test_numbers_say_what_was_found(written, small):
    folder, _, _ = written
    numbers = json.loads((folder / "paper.json").read_text(encoding="utf-8"))
    assert numbers["setting"]["m"] == 20
    assert numbers["setting"]["n"] == 150
    assert list(numbers["regions"]) == list(setting.TITLES)
    for key, row in numbers["regions"].items():
        assert row["title"] == setting.TITLES[key]
        assert row["relative_area"] == pytest.approx(small.relative_areas()[key])
        assert row["area"] == pytest.approx(small.areas()[key])
        assert isinstance(row["contains_truth"], bool)
        assert row["coverage"] == 0.9
        assert row["seconds"] > 0
    exact = {key: row for key, row in numbers["regions"].items() if row["guarantee"] == "exact"}
    assert list(exact) == EXACT
    assert all(row["microseconds_per_parameter"] > 0 for row in exact.values())


def test_truth_inside_is_what_the_region_says(written):
    folder, _, _ = written
    numbers = json.loads((folder / "paper.json").read_text(encoding="utf-8"))["regions"]
    data = setting.draw_data(1, 150)
    for key, statistic in setting.compared_statistics(150).items():
        inside = setting.fit_region(statistic, data, 19).contains(setting.TRUTH)
        assert numbers[key]["contains_truth"] == inside


def test_what_is_not_finite_becomes_null():
    few = setting.compared_statistics(60)
    done = study(0, n=60, n_resamples=9, points=None, levels=5, statistics={"score": few["score"]})
    row = paper.summary(done)["regions"]["stripes"]
    assert row["area"] is None
    assert row["scale"][1] is None
    json.dumps(paper.summary(done), allow_nan=False)


def test_run_writes_whole_files(written):
    folder, files, messages = written
    assert [file.name for file in files] == list(paper.FILES)
    assert sorted(folder.iterdir()) == sorted(files)
    starts = {".png": b"\x89PNG", ".pdf": b"%PDF", ".json": b"{"}
    for file in files:
        assert file.read_bytes().startswith(starts[file.suffix])
    assert messages[1:] == [setting.TITLES[key] for key in EXACT]


def test_empty_and_unbounded_regions_are_drawn(small):
    found = small.regions["score"]
    nothing = type(found.fine)(**{**vars(found.fine), "member": found.fine.member & False})
    emptied = type(found)(**{**vars(found), "fine": nothing})
    stripes = type(small.stripes)(p=(0.4, 0.6), scale=(0.8, np.inf))
    regions = {**small.regions, "score": emptied}
    done = type(small)(**{**vars(small), "regions": regions, "stripes": stripes})
    drawn = figure.draw_extended(done)
    assert len(drawn.subfigs[0].axes) == len(EXACT) + 1


def test_the_papers_figure_has_its_four_panels_and_is_dark_where_ranks_are_low(small):
    *panels, bar = figure.draw_paper(small).axes
    assert [panel.get_title()[:3] for panel in panels] == ["(a)", "(b)", "(c)", "(d)"]
    for panel, key in zip(panels, figure.PAPER_PANELS, strict=False):
        (image,) = panel.collections[:1]
        assert np.array_equal(np.ravel(image.get_array()), small.regions[key].ranks.ranks.T.ravel())
        low, high = (image.cmap(image.norm(rank))[:3] for rank in (1, small.m))
        assert sum(low) < sum(high)
    assert bar.get_xlabel().endswith("rank ≤ 18")


def test_importing_the_experiment_loads_no_matplotlib():
    code = "import sys, exactregion.paper.paper; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_figure_leaves_global_settings_alone(small):
    import matplotlib as mpl

    before = dict(mpl.rcParams)
    figure.draw_paper(small)
    figure.draw_extended(small)
    assert dict(mpl.rcParams) == before


def test_family_of_the_experiment_is_the_papers():
    region = setting.fit_region(er.statistics.Score(), setting.draw_data(0, 40), 19)
    assert region.parameter_names_ == ("p", "scale")
    assert region.coverage_ == 0.9
