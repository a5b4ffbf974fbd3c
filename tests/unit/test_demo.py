"""The demonstration fits a terminal and tells what the library computes."""

import re

import exactregion as er
from exactregion.demo import ASKED, story


def test_story_fits_80_columns():
    assert max(len(line) for line in story().splitlines()) <= 80


def test_story_shows_the_pvalues_of_the_region():
    flights = er.datasets.oring()
    region = er.ConfidenceRegion("logistic", rng=0).fit(flights["temp"], flights["y"])
    text = story()
    for name, theta in ASKED.items():
        line = next(line for line in text.splitlines() if line.startswith(f"  {name}"))
        assert float(re.findall(r"\d\.\d{3}", line.split("█")[0])[-1]) == region.pvalue(theta)
        assert ("outside" in line) != region.contains(theta)
