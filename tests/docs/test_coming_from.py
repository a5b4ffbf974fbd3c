"""The page for users of other tools names only what exists."""

import re
from functools import reduce
from pathlib import Path

import pytest

import exactregion as er

PAGE = (Path(__file__).parents[2] / "docs" / "coming_from.md").read_text(encoding="utf8")
OWNERS = {"er": er, "region": er.ConfidenceRegion, "belt": er.CalibrationBelt}
NAMES = sorted(set(re.findall(r"\b((?:er|region|belt)(?:\.[a-z_A-Z]\w*)+)", PAGE)))


def test_the_page_names_much():
    assert len(NAMES) > 20


@pytest.mark.parametrize("name", NAMES)
def test_names_exist(name):
    owner, *parts = name.split(".")
    assert reduce(getattr, parts, OWNERS[owner]) is not None
