"""How it looks and ends: 80 columns, pipes, colours, interruption, defects, help."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys

import pytest

from exactregion.cli import app, calibrate, examples, fit, segments
from exactregion.cli import test as test_command
from exactregion.cli.output import Page, shorten
from exactregion.models import MODELS

TEST = ("test", "oring.csv", "--formula", "y ~ temp", "--parameters", "15,-0.2")
HELP = {
    "test": test_command.EXAMPLES,
    "calibrate": calibrate.EXAMPLES,
    "segments": segments.EXAMPLES,
    "fit": fit.FIT_EXAMPLES,
    "show": fit.SHOW_EXAMPLES,
    "datasets": examples.DATASETS_EXAMPLES,
    "paper": examples.PAPER_EXAMPLES,
    "demo": examples.DEMO_EXAMPLES,
}


def widest(text):
    return max(len(line) for line in text.splitlines())


@pytest.fixture
def here(data, monkeypatch):
    monkeypatch.chdir(data)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "line",
    [
        TEST,
        ("test", "birthwt.csv", "--outcome", "low", "--probability", "smoke", "--resamples", "19"),
        (
            "calibrate",
            "pima_predictions.csv",
            "--outcome",
            "y",
            "--probability",
            "p",
            "--test-only",
        ),
        (
            *("fit", "oring.csv", "--outcome", "y", "--inputs", "temp", "--joint"),
            *("--at", "temp=31", "--ed", "50", "--resamples", "19", "--confidence", "0.5"),
        ),
        ("datasets",),
        *((name, "--help") for name in HELP),
        ("--help",),
    ],
    ids=lambda line: " ".join(line)[:40],
)
def test_everything_fits_80_columns(run, line):
    done = run(*line)
    assert done.code == 0, done.err
    assert widest(done.out) <= 80
    assert "\x1b" not in done.out


def test_long_names_are_cut_in_the_middle_and_numbers_never(capsys, monkeypatch):
    name = "a_very_long_name_of_a_column_with_its_end"

    def shown(columns):
        monkeypatch.setenv("COLUMNS", columns)
        page = Page("Which curves fit?")
        row = (name, "−0.2232", "[−12345.67, 76543.21]")
        page.table(["parameter", "estimate", "interval"], [row])
        page.show()
        return capsys.readouterr().out

    out = shown("50")
    assert widest(out) <= 50
    assert re.search(r"^ a_very\S*…\S*end +−0\.2232 +\[−12345\.67, 76543\.21\]$", out, re.M)
    assert "[−12345.67, 76543.21]" in shown("20")  # too narrow: numbers stay whole


@pytest.mark.parametrize("width", [12, 20, 40])
def test_shortened_names_keep_their_width(width):
    assert len(shorten("x" * 30 + "y" * 30, width)) <= width
    assert shorten("short", width) == "short"
    assert "\x1b" not in shorten("a\x1b[31m" * 20, width)


def test_markup_in_names_stays_text(run, save):
    done = run(
        *("test", save("y,[red]p[/red],x\n1,0.5,1\n0,0.5,2\n"), "--outcome", "y"),
        *("--probability", "[red]p[/red]", "--resamples", "19"),
    )
    assert "candidate [red]p[/red]" in " ".join(done.out.split())


# --- the real command ---------------------------------------------------------------------------


def test_help_loads_nothing_heavy():
    code = (
        "import sys\n"
        "from exactregion.cli import main\n"
        "assert main(['--help']) == 0\n"
        "heavy = 'matplotlib numba bokeh sklearn pandas scipy.stats formulaic pyarrow'.split()\n"
        "assert not [name for name in heavy if name in sys.modules]\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_completion_by_the_real_command(call, data):
    words = {"COMP_WORDS": "exactregion fit oring.csv --inputs temp,", "COMP_CWORD": "4"}
    done = call(cwd=data, _EXACTREGION_COMPLETE="complete_bash", **words)
    assert done.out.split()[:2] == ["temp,temp", "temp,pressure"]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("exactregion ca", ["calibrate"]),
        ("exactregion fit oring.csv --model ", list(MODELS)),
        ("exactregion fit oring.csv --statistic s", ["score", "spiegelhalter"]),
        ("exactregion fit oring.csv --outcome n", ["n_failures"]),
        ("exactregion fit none.csv --outcome n", []),
        ("exactregion datasets pima_t", ["pima_te", "pima_tr"]),
        ("exactregion fit o", []),  # no answer lets the shell offer files
    ],
)
def test_completion(run, monkeypatch, words, offered):
    monkeypatch.setenv("_EXACTREGION_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split(" ")) - 1))
    assert run().out.split() == offered


def test_streams_without_unicode_get_plain_letters(call, data):
    done = call(*TEST[:-1], "15,-0.2", cwd=data, PYTHONIOENCODING="ascii")
    assert done.code == 0, done.err
    assert "p <= 0.05" in done.out


def test_version_and_no_arguments(run):
    done = run("--version")
    assert (done.code, done.out.split()[0]) == (0, "exactregion")
    done = run()
    assert done.code == 2
    assert "Usage: exactregion" in done.out


def test_a_closed_pipe_is_quiet(data):
    command = [sys.executable, "-m", "exactregion", *TEST]
    process = subprocess.Popen(
        command, cwd=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.close()
    assert process.wait(timeout=60) == 141
    assert process.stderr.read() == ""
    process.stderr.close()


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interruption_is_quiet():
    command = [sys.executable, "-m", "exactregion", *TEST[:1], "-", *TEST[2:]]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    # more than a pipe holds: it is written when the command is reading, and waits for the rest
    process.stdin.write(b"y,temp\n" + b"1,60\n" * 100_000)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"")


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_interruption_is_quiet_while_modules_are_loaded(tmp_path):
    """NumPy is loaded by the command, not by the package that holds it."""
    (tmp_path / "numpy.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-m", "exactregion", *TEST],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.skipif(os.name == "nt", reason="a shell that closes streams")
@pytest.mark.parametrize(("closed", "err"), [(">&-", "Standard output is closed"), ("2>&-", "")])
def test_closed_streams(data, closed, err):
    command = shlex.join([sys.executable, "-m", "exactregion", *TEST, "--resamples", "x"])
    done = subprocess.run(
        f"{command} {closed}", shell=True, cwd=data, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert err in done.stderr
    assert "defect" not in done.stderr


def test_a_defect_says_so(run, save, monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("by design")

    monkeypatch.setattr("exactregion.cli.data.read_table", broken)
    ask = ("test", save("y,p\n1,1\n"), "--outcome", "y", "--probability", "p")
    done = run(*ask)
    assert (done.code, done.out) == (3, "")
    assert "ZeroDivisionError: by design" in done.err
    assert "defect of exactregion" in done.err
    assert "Traceback" not in done.err
    monkeypatch.setenv("EXACTREGION_TRACEBACK", "1")
    assert "Traceback" in run(*ask).err


def test_json_is_all_there_is_on_stdout(call, data):
    done = call(*TEST, "--json", cwd=data)
    assert json.loads(done.out)["command"] == "test"
    assert done.err == ""


# --- examples -----------------------------------------------------------------------------------


def commands_in(text):
    """Give the command lines of a help text; a backslash goes on in the next line."""
    joined = re.sub(r"\\\n\s*", " ", text)
    return [line.strip() for line in joined.splitlines() if line.strip().startswith("exactregion")]


def quicker(line):
    """Ask for few resamples, where that is an option, since these are no results."""
    words = shlex.split(line)[1:]
    if words[0] in ("test", "fit", "calibrate", "segments"):
        words += ["--resamples", "99" if "--fail-below" in words else "19"]
    return words


@pytest.mark.parametrize("name", ["test", "calibrate", "segments", "fit", "show", "datasets"])
def test_examples_of_the_help_run(run, data, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for file in data.glob("*.csv"):
        if name != "datasets":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    found = commands_in(HELP[name])
    assert found
    shown = " ".join(run(name, "--help").out.split())
    for line in found:
        assert line.split(" --")[0] in shown
        done = run(*quicker(line))
        assert done.code == 0, done.err


def test_examples_of_the_front_page_run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = commands_in(app.app.info.epilog)
    assert len(found) == 2
    for line in found:
        assert run(*quicker(line)).code == 0


def test_demo_and_paper_are_called(run, tmp_path, monkeypatch):
    told = []
    monkeypatch.setattr(
        "exactregion.cli.examples.story", lambda out, progress: Page(f"story {out} {progress}")
    )
    monkeypatch.chdir(tmp_path)
    assert run("demo", "--out", "there", "--quiet").out == "story there False\n"

    def experiment(out, seed, progress):
        progress("working")
        told.append((str(out), seed))
        return [out / "paper.png"]

    monkeypatch.setattr("exactregion.paper.paper.run", experiment)
    done = run("paper", "--out", "figures", "--seed", "4")
    assert (done.code, done.out, done.err) == (0, "figures/paper.png\n", "working …\n")
    assert told == [("figures", 4)]
    assert (tmp_path / "figures").is_dir()
    (tmp_path / "figures" / "paper.pdf").write_bytes(b"old")
    assert "Add --force" in run("paper", "--out", "figures").err
    assert run("paper", "--out", "figures", "--force", "--quiet").err == ""


def test_data_sets(run, tmp_path):
    done = run("datasets", "--json")
    found = {one["name"]: one for one in json.loads(done.out)["datasets"]}
    assert found["oring"]["rows"] == 23
    assert found["oring"]["columns"] == ["temp", "pressure", "y", "n_failures"]
    printed = run("datasets", "oring").out
    assert run("datasets", "oring", "--out", tmp_path / "oring.csv").err.startswith("Wrote ")
    assert (tmp_path / "oring.csv").read_text() == printed
    assert printed.startswith("temp,pressure,y,n_failures\n66,50,0,0\n")
