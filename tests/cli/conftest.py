"""Running the command: within the process, which is quick, and for real, as people do."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.effort import little_effort

import exactregion as er
from exactregion.cli import main


@pytest.fixture(scope="module", autouse=True)
def quick_searches():
    with little_effort():
        yield


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command line within this process, 80 columns wide."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("FORCE_COLOR", "TTY_INTERACTIVE", "EXACTREGION_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(code, out, err)

    return run


def call(*arguments, cwd=None, stdin=b"", **env):
    """Run the real command in a process of its own."""
    environment = {**os.environ, "COLUMNS": "80", **env}
    done = subprocess.run(
        [sys.executable, "-m", "exactregion", *map(str, arguments)],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        env=environment,
        check=False,
        timeout=120,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture(name="call")
def call_fixture():
    return call


@pytest.fixture
def save(tmp_path):
    """Write a file and give its path."""

    def save(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return save


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with the bundled data sets, as `exactregion datasets` writes them."""
    folder: Path = tmp_path_factory.mktemp("data")
    for name in er.datasets.__all__:
        assert main(["datasets", name, "--out", str(folder / f"{name}.csv"), "--quiet"]) == 0
    return folder
