"""Pages about several models, subgroups, and what the command knows of the file."""

import datetime

import numpy as np
import pytest

import exactregion as er
from exactregion.report import write_report
from exactregion.report.belts import page_of_several
from exactregion.report.tests import section_of_groups

RNG = np.random.default_rng(1)
P = RNG.uniform(0.05, 0.95, size=50)
Y = RNG.uniform(size=50) < P
MODELS = {"right": P, "<b>cubed</b>": P**3}
SETTINGS = {"n_resamples": 39, "rng": 0}


@pytest.fixture(scope="module")
def belts():
    return er.calibration_belt(Y, MODELS, **SETTINGS)


def test_a_page_of_belts_has_one_picture_and_each_model(belts):
    page = page_of_several(belts)
    assert page.title == "Calibration of 2 models"
    assert "evidence of miscalibration of <b>cubed</b>" in page.answer
    assert [figure.id for figure in page.figures] == ["belts", "belt-0", "belt-1"]
    tests, recalibration = page.sections[0].parts[1:3]
    assert [row[0] for row in tests.rows] == list(MODELS)
    assert [row[3] for row in tests.rows] == [f"{p:.4g}" for p in belts.table["pvalue_holm"]]
    assert [row[1] for row in recalibration.rows] == ["intercept", "slope"] * 2
    assert "er.calibration_belt(y_true, models, confidence_level=0.95" in page.code
    names = [section.heading for section in page.sections]
    assert names.count("right: The belt") == names.count("<b>cubed</b>: The belt") == 1


def test_a_page_of_tests(belts):
    page = page_of_several({name: belt.test for name, belt in belts.items()})
    assert [figure.id for figure in page.figures] == ["null-0", "groups-0", "null-1", "groups-1"]
    assert "er.calibration_test(y_true, models" in page.code


def test_what_the_caller_knows_is_on_the_page(belts, tmp_path):
    groups = er.calibration_test(Y, MODELS, by=np.arange(50) % 2, **SETTINGS)
    command = "exactregion calibrate rows.csv --outcome 'y <i>'"
    path = write_report(
        belts,
        tmp_path / "page.html",
        groups=groups,
        about={"File": "rows.csv", "Rows": "50 (2 left out)"},
        command=command,
    )
    html = path.read_text()
    assert "<i>" not in html
    assert "&lt;i&gt;" in html
    for text in ("rows.csv", "50 (2 left out)", "Subgroups", er.__version__, "Reproduce"):
        assert text in html
    assert datetime.datetime.now().astimezone().date().isoformat() in html
    assert html.count("<dt>Rows</dt>") == 1


def test_subgroups_are_listed_as_they_were_found():
    groups = er.calibration_test(Y, P**3, by=np.where(P > 0.5, "high", "low"), **SETTINGS)
    words, table, _ = section_of_groups(groups).parts
    assert table.columns[0] == "group"
    assert [row[0] for row in table.rows] == ["high", "low"]
    assert [row[-1] for row in table.rows] == [f"{p:.4g}" for p in groups["pvalue_holm"]]
    assert "all 2 tests" in words.texts[0]
