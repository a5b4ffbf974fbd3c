"""The page of segments: its figure, its table, and the lines that make it again."""

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.report import segments as module
from exactregion.report.segments import page_of_segments


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], 500), "age": rng.integers(20, 80, 500)})
    p = rng.uniform(size=500)
    y = rng.uniform(size=500) < np.where(frame["sex"] == "m", p**2, p)
    return y, p, frame


@pytest.fixture(scope="module")
def result(data):
    return er.segment_test(*data, n_resamples=99, rng=0)


def test_the_table_has_all_segments(result):
    page = page_of_segments(result)
    figure, table = (section.parts[0] for section in page.sections)
    assert page.verdict == "against"
    assert table.sortable
    assert [row[0] for row in table.rows] == result.table.index.tolist()
    assert table.rows[0][-1] == "0.01"
    assert len(figure.pointers[0].texts) == min(module.SHOWN, len(result.table))
    assert dict(page.facts)["Columns"] == "sex, age"


def test_a_long_table_is_cut_and_says_so(result, monkeypatch):
    monkeypatch.setattr(module, "LISTED", 3)
    table = page_of_segments(result).sections[1].parts[0]
    assert len(table.rows) == 3
    assert f"of {len(result.table)}" in table.caption


def test_the_code_of_the_page_gives_the_result_again(data, result):
    y_true, y_prob, frame = data
    line = page_of_segments(result).code.splitlines()[2]
    names = {"er": er, "y_true": y_true, "y_prob": y_prob, "data": frame}
    exec(line, names)
    pd.testing.assert_frame_equal(names["result"].table, result.table)


def test_the_page_is_written(result, tmp_path):
    page = result.report(tmp_path / "page.html", title="Sites").read_text()
    assert "<h1>Sites</h1>" in page
    assert "class=sortable" in page
