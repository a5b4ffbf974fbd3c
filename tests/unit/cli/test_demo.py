"""The demonstration fits a terminal, tells what the library computes, and writes its pictures."""

import re

import pytest

import exactregion as er
from exactregion.cli.demo import MEMBERS, story


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return story(folder), folder


def test_story_fits_80_columns(told):
    text, folder = told
    lines = [line for line in text.splitlines() if str(folder) not in line]
    assert max(len(line) for line in lines) <= 80


def test_story_shows_the_pvalues_of_the_region(told):
    flights = er.datasets.oring()
    region = er.ConfidenceRegion("logistic", rng=0).fit(flights["temp"], flights["y"])
    for name, theta in MEMBERS.items():
        line = next(line for line in told[0].splitlines() if line.startswith(f"  {name}"))
        assert float(re.findall(r"\d\.\d{3}", line.split("█")[0])[-1]) == region.pvalue(theta)
        assert ("outside" in line) != region.contains(theta)


def test_story_shows_the_slope_and_writes_the_pictures(told):
    text, folder = told
    flights = er.datasets.oring()
    region = er.ConfidenceRegion("logistic", rng=0).fit(flights["temp"], flights["y"])
    slope = region.intervals().loc["temp"]
    assert f"[{slope['lower']:.3f}, {slope['upper']:.3f}]" in text
    for name in ("oring_region.png", "oring_band.png"):
        assert str(folder / name) in text
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
