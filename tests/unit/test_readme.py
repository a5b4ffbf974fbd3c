"""The examples of the README and of the pages in docs do what they say."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def blocks_of(page):
    return re.findall(r"```pycon\n(.*?)```", page.read_text(encoding="utf8"), flags=re.DOTALL)


PAGES = [
    page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if blocks_of(page)
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_run_and_give_what_is_shown(page):
    """Blocks marked pycon are one session a page; tests/docs sees to the others."""
    text = "\n".join(blocks_of(page))
    session = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert runner.run(session).failed == 0


def test_every_kind_of_candidate_is_on_its_page():
    page = (ROOT / "docs" / "howto" / "candidates.md").read_text(encoding="utf8")
    kinds = ("Pipeline", "CalibratedClassifierCV", "statsmodels", "XGBoost", "LightGBM", "PyTorch")
    assert [kind for kind in kinds if kind.lower() not in page.lower()] == []
