"""The package as a whole: exported names, and what importing it costs."""

import importlib
import pkgutil
import subprocess
import sys
from importlib.metadata import version

import pytest

import exactregion as er

MODULES = [
    "exactregion",
    *(found.name for found in pkgutil.walk_packages(er.__path__, "exactregion.")),
]
HEAVY = ("matplotlib", "numba", "dask", "bokeh", "pandas", "sklearn", "scipy.stats")


def constants_then_classes_then_functions(name):
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


@pytest.mark.parametrize("module", [name for name in MODULES if not name.endswith("_version")])
def test_exported_names_exist_and_are_sorted(module):
    imported = importlib.import_module(module)
    # in modules of packages, names without an underscore are what other modules may import
    names = getattr(imported, "__all__", []) if module.count(".") > 1 else imported.__all__
    assert [name for name in names if not hasattr(imported, name)] == []
    assert names == sorted(set(names), key=constants_then_classes_then_functions)


def test_import_loads_nothing_heavy():
    code = (
        "import sys, exactregion as er; names = {*er.__all__} - {'RegionClassifier'}; "
        "[getattr(er, name) for name in names]; "
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    assert done.stderr == ""


def test_the_command_begins_before_numpy_is_loaded():
    """So that Ctrl-C is noticed by the command from its first moment on."""
    code = "import sys, exactregion.cli; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_version_is_that_of_the_distribution():
    assert er.__version__ == version("exactregion")
