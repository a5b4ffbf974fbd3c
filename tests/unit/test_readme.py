"""The examples of the README do what it says."""

import doctest
import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_examples_run_and_give_what_is_shown():
    blocks = re.findall(r"```pycon\n(.*?)```", README.read_text(encoding="utf8"), flags=re.DOTALL)
    assert len(blocks) >= 3
    session = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README", str(README), 0)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert runner.run(session).failed == 0
