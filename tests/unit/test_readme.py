"""The examples of the README and of the pages in docs do what they say."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_run_and_give_what_is_shown(page):
    """Blocks marked pycon are one session; others, marked python, are not run."""
    blocks = re.findall(r"```pycon\n(.*?)```", page.read_text(encoding="utf8"), flags=re.DOTALL)
    assert len(blocks) >= 3
    session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert runner.run(session).failed == 0


def test_every_kind_of_candidate_is_on_its_page():
    page = (ROOT / "docs" / "candidates.md").read_text(encoding="utf8")
    kinds = ("Pipeline", "CalibratedClassifierCV", "statsmodels", "XGBoost", "LightGBM", "PyTorch")
    assert [kind for kind in kinds if kind.lower() not in page.lower()] == []
