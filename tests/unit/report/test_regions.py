"""Pages of regions: what can be pointed at is what the region says."""

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.report.inputs import STEPS
from exactregion.report.page import Explorer, Table, Words
from exactregion.report.regions import page_of_region


def parts(page, kind):
    return [part for section in page.sections for part in section.parts if isinstance(part, kind)]


def source(figure, name):
    return figure.root.select_one({"name": name})


def texts(page):
    return " ".join(text for words in parts(page, Words) for text in words.texts)


@pytest.fixture(scope="module")
def page(region):
    return page_of_region(region)


@pytest.fixture(scope="module")
def explorer(page):
    (explorer,) = parts(page, Explorer)
    return explorer


def test_ranks_in_the_page_are_those_of_the_region(region, explorer):
    points = source(explorer.plane, "points").data
    theta = np.column_stack([points["theta0"], points["theta1"]])
    some = np.random.default_rng(0).choice(len(theta), 60, replace=False)
    assert (region.rank(theta[some]) == points["rank"][some]).all()
    assert explorer.ranks == {"m": 40, "low": 1, "high": 38}
    assert np.prod([slider["size"] for slider in explorer.sliders]) == len(theta)


def test_curves_in_the_page_are_those_of_the_family(region, explorer):
    (band,) = explorer.bands
    points = source(explorer.plane, "points").data
    theta = np.column_stack([points["theta0"], points["theta1"]])
    x = source(band, "grid").data["x"]
    curves = source(band, "steps").data["steps"].reshape(len(theta), len(x)) / STEPS
    assert curves == pytest.approx(region.model_.probabilities(theta, x), abs=1 / STEPS)
    assert x[0] == 53
    assert x[-1] == 81


def test_a_thin_region_is_shown_upright(region, explorer):
    label = explorer.sliders[0]["label"]
    shear = -float(label.split()[2])
    assert label == f"intercept + {-shear:g} · temp"
    assert shear < -50  # about the mean temperature
    points = source(explorer.plane, "points").data
    # theta itself is exact: only where it is drawn has turned
    assert points["x"] == pytest.approx(points["theta0"] - shear * points["theta1"])
    assert points["y"] == pytest.approx(points["theta1"])
    assert len(np.unique(points["x"].round(6))) == explorer.sliders[0]["size"]


def test_tables_have_focused_and_joint_intervals(region, page):
    focused, joint = parts(page, Table)
    assert [row[0] for row in focused.rows] == ["intercept", "temp"]
    for table, frame in ((focused, region.intervals()), (joint, region.intervals(joint=True))):
        lower = table.rows[1][2].replace("−", "-")
        assert float(lower) == pytest.approx(frame.loc["temp", "lower"], abs=0.01)
        assert table.rows[1][-1] == "proven"
    assert focused.columns[4] == "p"
    assert [float(row[4]) for row in focused.rows] == [
        region.test(f"{name} = 0").pvalue for name in ("intercept", "temp")
    ]


def test_an_unbounded_region_says_so(separated, monkeypatch):
    monkeypatch.setattr("exactregion.report.inputs.POINTS", (5, 5))  # each takes a proof
    page = page_of_region(separated)
    assert page.verdict == "open"
    assert "The region is unbounded" in texts(page)
    cells = [cell for table in parts(page, Table) for row in table.rows for cell in row]
    assert "no end" in cells
    assert "inf" not in " ".join(cells)
    assert "∞" not in " ".join(cells)


def test_an_empty_region_shows_the_least_incompatible(empty):
    page = page_of_region(empty)
    assert page.verdict == "against"
    assert "The search found no member" in texts(page)
    (explorer,) = parts(page, Explorer)
    assert "estimate, not a member" in [key.text for key in explorer.plane.keys]
    assert "estimate, not a member" in [key.text for key in explorer.bands[0].keys]
    assert not any("band" in key.text for key in explorer.bands[0].keys)
    cells = [cell for table in parts(page, Table) for row in table.rows for cell in row]
    assert any(cell.endswith(", empty") for cell in cells)
    assert "nan" not in cells


def test_one_parameter_has_a_line_of_p_values(one_slope):
    page = page_of_region(one_slope)
    (explorer,) = parts(page, Explorer)
    points = source(explorer.plane, "points").data
    assert (np.diff(points["theta0"]) > 0).all()
    assert (one_slope.rank(points["theta0"][::40, None]) == points["rank"][::40]).all()
    assert (points["y"] == one_slope.pvalue(points["theta0"][:, None])).all()
    assert [slider["size"] for slider in explorer.sliders] == [len(points["x"])]
    assert not explorer.pairs
    assert page.question == "Which values of slope fit the outcomes?"


def test_many_parameters_have_a_cloud_within_and_without(cloud):
    (explorer,) = parts(page_of_region(cloud), Explorer)
    points = source(explorer.plane, "points").data
    theta = np.column_stack([points[f"theta{i}"] for i in range(3)])
    assert (cloud.rank(theta) == points["rank"]).all()
    assert (np.diff(points["rank"]) >= 0).all()
    assert 0.2 < cloud.contains(theta).mean() < 0.9
    assert explorer.pairs
    assert explorer.inputs == ["GPA", "PSI"]
    assert len(explorer.bands) == 2


def test_the_band_is_that_of_the_region(region, explorer):
    (band,) = explorer.bands
    (area,) = [r.data_source.data for r in band.root.renderers if type(r.glyph).__name__ == "VArea"]
    expected = region.band(area["x"])
    assert (area["y1"] == expected.lower).all()
    assert (area["y2"] == expected.upper).all()


def test_objects_have_no_curves_but_a_page():
    words = ["a", "ab", "abc", "b", "cc", "abcd"] * 3
    lengths = np.array([len(word) for word in words], dtype=float)

    def curve(theta, X):
        return 1 / (1 + np.exp(-theta[:, :1] - theta[:, 1:] * np.array([len(x) for x in X])))

    region = er.ConfidenceRegion(
        er.models.Function(curve, names=("a", "b"), vectorized=True),
        statistic=er.statistics.Discrepancy(kernel=lambda s, t: float(len(set(s) & set(t)))),
        n_resamples=19,
        rng=0,
    ).fit(words, np.random.default_rng(0).random(18) < 1 / (1 + np.exp(2 - lengths)))
    page = page_of_region(region)
    (explorer,) = parts(page, Explorer)
    assert explorer.bands == []
    assert "No curves are drawn" in texts(page)
    assert dict(page.facts)["Inputs"] == "objects"
    assert "0x" not in dict(page.facts)["Statistic"]


def test_a_family_that_knows_no_more_than_the_data_has_no_curves(flights):
    known = {float(temp): float(temp) for temp in flights["temp"]}

    def curve(theta, x):
        return 1 / (1 + np.exp(-theta * (np.array([known[float(v)] for v in x]) - 70)))

    model = er.models.Function(curve, names=("slope",), vectorized=True)
    region = er.ConfidenceRegion(model, n_resamples=19, rng=0).fit(flights["temp"], flights["y"])
    (explorer,) = parts(page_of_region(region), Explorer)
    assert explorer.bands == []


def test_counts_are_shown_as_shares():
    moths = er.datasets.budworm().query("sex == 'male'")
    y = np.column_stack([moths["ndead"], moths["ntotal"] - moths["ndead"]])
    y[2] = 0  # a dose without moths has no share
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0).fit(moths["ldose"], y)
    (explorer,) = parts(page_of_region(region), Explorer)
    assert "observed shares" in [key.text for key in explorer.bands[0].keys]


def test_a_formula_is_shown_along_its_columns():
    d = er.datasets.budworm().assign(alive=lambda d: d["ntotal"] - d["ndead"])
    region = er.ConfidenceRegion.from_formula(
        "ndead + alive ~ sex + np.log2(dose)", d, n_resamples=19, rng=0
    )
    page = page_of_region(region)
    (explorer,) = parts(page, Explorer)
    assert explorer.inputs == ["sex", "dose"]
    sex = explorer.bands[0].root.xaxis[0]
    assert [text.text for text in sex.major_label_overrides.values()] == ["female", "male"]
    points = source(explorer.plane, "points").data
    x = source(explorer.bands[1], "grid").data["x"]
    steps = source(explorer.bands[1], "steps").data["steps"].reshape(-1, len(x)) / STEPS
    theta = [points[f"theta{i}"][3] for i in range(3)]
    frame = pd.DataFrame({"sex": ["female"] * len(x), "dose": x})
    expected = region.model_.probabilities(theta, region.design_.transform(frame).to_numpy())
    assert steps[3] == pytest.approx(expected, abs=1 / STEPS)
    assert dict(page.facts)["Formula"] == "ndead + alive ~ sex + np.log2(dose)"
    assert "from_formula('ndead + alive ~ sex + np.log2(dose)', data" in page.code


def test_accepted_ranks_are_said_as_they_are(flights):
    region = er.ConfidenceRegion("logistic", n_resamples=39, accepted_ranks=(3, 36), rng=0)
    page = page_of_region(region.fit(flights["temp"], flights["y"]))
    assert dict(page.facts)["Level"] == "85%, as ranks 3 to 36 of 40"
    (explorer,) = parts(page, Explorer)
    assert explorer.ranks == {"m": 40, "low": 3, "high": 36}
    assert "p-value above 0.1, and not above 0.95" in explorer.plane.reading
    assert "accepted_ranks=(3, 36)" in page.code


def test_the_method_writes_the_page(region, tmp_path, read):
    path = region.report(tmp_path / "region.html", title="Do O-rings fail in the cold?")
    assert read(path).texts("h1") == ["Do O-rings fail in the cold?"]
