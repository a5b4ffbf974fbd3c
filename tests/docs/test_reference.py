"""Every public name is on a page of the reference, and every entry there can be imported."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import exactregion

PAGES = sorted((Path(__file__).parents[2] / "docs" / "reference").glob("*.md"))
ENTRIES = [
    entry
    for page in PAGES
    for entry in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf8"), flags=re.MULTILINE)
]
MODULES = ("statistics", "models", "kernels", "plotting", "datasets", "errors")


def public_names(module):
    return {f"{module.__name__}.{name}" for name in module.__all__}


@pytest.mark.parametrize("name", MODULES)
def test_names_of_a_module_have_an_entry(name):
    assert sorted(public_names(import_module(f"exactregion.{name}")) - set(ENTRIES)) == []


def test_names_of_the_package_have_an_entry_or_a_line():
    index = (PAGES[0].parent / "index.md").read_text(encoding="utf8")
    missing = public_names(exactregion) - set(ENTRIES)
    assert sorted(name for name in missing if f"`{name}`" not in index) == []


def test_entries_exist_and_are_there_once():
    assert len(set(ENTRIES)) == len(ENTRIES)
    for entry in ENTRIES:
        module, _, name = entry.rpartition(".")
        assert hasattr(import_module(module), name), entry


def test_every_command_is_on_its_page():
    from typer.main import get_command

    from exactregion.cli.app import app

    page = (PAGES[0].parent / "command.md").read_text(encoding="utf8")
    commands = get_command(app).commands
    assert [name for name in commands if f"$ exactregion {name} --help" not in page] == []
