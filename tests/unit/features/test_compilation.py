"""Compiled functions work without a cache on disk, and mend one that is damaged."""

import importlib.util
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from numba.core import caching

import exactregion as er
from exactregion.cli import app
from exactregion.features import compilation

MODULE = """
from exactregion.features.compilation import compiled, inlined

@inlined
def twice(x):
    return 2 * x

@compiled
def increased(x):
    return twice(x) + 1
"""

SCRIPT = """
import resource, sys
import numpy as np
import exactregion as er

if sys.argv[1:] == ["full disk"]:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no byte can be written
n = 70_000
x = np.linspace(-2, 2, n)
y = np.random.default_rng(0).random(n) < 1 / (1 + np.exp(-x))
print(er.model_test(1 / (1 + np.exp(-x)), x, y, n_resamples=9, rng=0).rank)
"""


@pytest.fixture
def module(tmp_path):
    """Write a module, and return a function that imports it as a new process would."""
    path = tmp_path / "written.py"
    path.write_text(MODULE)

    def imported():
        spec = importlib.util.spec_from_file_location("written", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return imported


COMPILING = "Compiling functions for this machine, which takes up to a minute, once."


@pytest.fixture
def told(caplog):
    """Return the messages so far, as in a process that has had none yet."""
    compilation._tell_once.cache_clear()
    caplog.set_level(logging.WARNING)
    yield lambda: [record.getMessage() for record in caplog.records]
    compilation._tell_once.cache_clear()


def loaded(function):
    return sum(function.stats.cache_hits.values())


def test_only_the_process_that_compiles_says_so(module, caplog):
    caplog.set_level(logging.INFO)
    told_per_process = []
    for _ in range(2):
        compilation._tell_of_compiling.cache_clear()
        caplog.clear()
        module().increased(3)
        told_per_process.append([record.getMessage() for record in caplog.records])
    assert told_per_process == [[COMPILING], []]


def test_the_command_says_on_stderr_that_it_compiles(monkeypatch, capsys):
    def compile_something(**_):
        logging.getLogger(compilation.__name__).info(COMPILING)

    monkeypatch.setattr(
        app.typer.main,
        "get_command",
        lambda _: SimpleNamespace(commands={}, main=compile_something),
    )
    assert app.run(["fit"]) == 0
    assert capsys.readouterr().err.splitlines() == [COMPILING]


def test_a_second_process_loads_what_the_first_compiled(module, told):
    assert module().increased(3) == 7
    again = module().increased
    assert again(3) == 7
    assert loaded(again) == 1
    assert told() == []


def test_no_directory_for_a_cache(module, told, monkeypatch):
    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    assert module().increased(3) == 7
    assert module().increased(3.5) == 8
    (message,) = told()
    assert "NUMBA_CACHE_DIR" in message


def test_nothing_can_be_written(module, told, monkeypatch):
    def full(self, path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(caching.IndexDataCacheFile, "_open_for_write", full)
    assert module().increased(3) == 7
    assert module().increased(3.5) == 8
    assert len(told()) == 1


@pytest.mark.parametrize("kind", ["nbi", "nbc"])
@pytest.mark.parametrize("size", [0, 20, 200])
def test_damaged_files_are_replaced(module, told, tmp_path, kind, size):
    module().increased(3)
    for file in tmp_path.rglob(f"*.{kind}"):
        file.write_bytes(file.read_bytes()[:size])
    assert module().increased(3) == 7
    again = module().increased
    assert again(3) == 7
    assert loaded(again) == 1
    assert told() == []


@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
@pytest.mark.parametrize("trouble", ["full disk", "no home"])
def test_a_process_that_cannot_write(tmp_path, trouble):
    """Nor into a zip file, which is a read-only installation for any user."""
    source = Path(er.__file__).parent.parent
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(source)}
    if trouble == "no home":
        package = shutil.make_archive(str(tmp_path / "package"), "zip", source, "exactregion")
        nowhere = f"{package}/directory"
        environment = {"NUMBA_CACHE_DIR": nowhere, "HOME": nowhere, "PYTHONPATH": package}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, trouble],
        capture_output=True,
        check=True,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )
    assert 1 <= int(done.stdout) <= 10
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1
