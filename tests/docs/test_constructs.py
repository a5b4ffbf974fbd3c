"""The table of the paper's constructs names only what exists."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "theory" / "constructs.md").read_text(encoding="utf8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ")][1:]
NAMES = sorted(set(re.findall(r"`((?:er|validation)(?:\.\w+)+)`", PAGE)))
TESTS = sorted(set(re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", PAGE)))


def test_all_of_the_paper_is_there():
    assert len(NAMES) > 20
    assert len(TESTS) > 15
    numbered = re.findall(r"eqs?\. ([\d, to]+)", "\n".join(ROWS))
    found = set()
    for text in numbered:
        for part in text.strip().strip(",").split(", "):
            low, _, high = part.partition(" to ")
            found |= set(range(int(low), int(high or low) + 1))
    assert found == set(range(1, 59))
    for name in ("Lemma 1", *(f"Theorem {number}" for number in range(1, 5))):
        assert any(name in row for row in ROWS), name


@pytest.mark.parametrize("name", NAMES)
def test_names_exist(name):
    module, parts = re.sub(r"^er\.", "exactregion.", name), []
    while True:
        try:
            found = import_module(module)
            break
        except ModuleNotFoundError:
            module, _, last = module.rpartition(".")
            parts.insert(0, last)
    for part in parts:
        found = getattr(found, part)
    assert found is not None


@pytest.mark.parametrize(("path", "name"), TESTS)
def test_tests_exist(path, name):
    tree = ast.parse((ROOT / "tests" / path).read_text(encoding="utf8"))
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert name in defined if name else defined
