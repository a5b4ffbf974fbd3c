"""The examples of the README and of the pages in docs do what they say."""

import doctest
import re
from decimal import Decimal
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def blocks_of(page):
    return re.findall(r"```pycon\n(.*?)```", page.read_text(encoding="utf8"), flags=re.DOTALL)


PAGES = [
    page for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))) if blocks_of(page)
]


class Checker(doctest.OutputChecker):
    """Compares outputs; ends of intervals may differ by one in the last digit that is shown.

    They are found by search, whose steps depend on the last bits of sums, which are not the same
    on all processors.
    """

    NUMBER = re.compile(r"-?\d+\.\d+")

    def check_output(self, want, got, optionflags):
        if super().check_output(want, got, optionflags):
            return True
        if (
            "lower" not in want
            or self.NUMBER.sub("#", want).split() != self.NUMBER.sub("#", got).split()
        ):
            return False
        texts = [[line for line in text.splitlines() if line.strip()] for text in (want, got)]
        lines = zip(*texts, strict=True)
        return all(self.is_close(*pair) for pair in lines)

    def is_close(self, want, got):
        numbers = [
            [Decimal(number) for number in self.NUMBER.findall(line)] for line in (want, got)
        ]
        return all(
            abs(one - other) <= Decimal(1).scaleb(one.as_tuple().exponent)
            for one, other in zip(*numbers, strict=True)
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_run_and_give_what_is_shown(page):
    """Blocks marked pycon are one session per page; tests/docs runs the others."""
    text = "\n".join(blocks_of(page))
    session = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(
        Checker(), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    )
    assert runner.run(session).failed == 0


def test_every_kind_of_candidate_is_on_its_page():
    page = (ROOT / "docs" / "howto" / "candidates.md").read_text(encoding="utf8")
    kinds = ("Pipeline", "CalibratedClassifierCV", "statsmodels", "XGBoost", "LightGBM", "PyTorch")
    assert [kind for kind in kinds if kind.lower() not in page.lower()] == []
