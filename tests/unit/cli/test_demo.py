"""The demonstration fits a terminal, tells what the library computes, and writes its pictures."""

import re

import pytest

import exactregion as er
from exactregion.cli.examples import MEMBERS, PICTURES, story


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    return story(folder), folder


@pytest.fixture
def text(told, capsys):
    told[0].show()
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def region():
    flights = er.datasets.oring()
    return er.ConfidenceRegion("logistic", rng=0).fit(flights["temp"], flights["y"])


def test_story_fits_80_columns(text):
    assert max(len(line) for line in text.splitlines()) <= 80


def test_story_shows_the_pvalues_of_the_region(text, region):
    for name, theta in MEMBERS.items():
        line = next(line for line in text.splitlines() if line.startswith(f" {name}"))
        assert float(re.findall(r"\d\.\d{3}", line)[-1]) == region.pvalue(theta)
        assert ("outside" in line) != region.contains(theta)


def test_story_shows_the_slope(text, region):
    slope = region.intervals().loc["temp"]
    assert f"{slope['lower']:.3f} to {slope['upper']:.3f}" in text


def test_story_writes_the_pictures(told):
    for name in PICTURES:
        assert (told[1] / name).read_bytes().startswith(b"\x89PNG")
