"""Files are checked before any work, and written whole or not at all."""

import json
import re
import sys
from pathlib import Path

import pytest

from exactregion.cli.output import make_folder

FIT = ("fit", "oring.csv", "--outcome", "y", "--inputs", "temp", "--resamples", "19")
TEST = (
    *("test", "oring.csv", "--formula", "y ~ temp", "--parameters", "15,-0.2"),
    *("--resamples", "19"),
)


@pytest.fixture
def here(data, tmp_path, monkeypatch):
    (tmp_path / "oring.csv").write_bytes((data / "oring.csv").read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def no_work(monkeypatch):
    """Fail if a search begins."""

    def work(*args, **kwargs):
        raise AssertionError("work began")

    monkeypatch.setattr("exactregion.cli.fit.fit_region", work)


WRONG = {
    "suffix": (("--plot", "a.gif"), "--plot must end in .png, .pdf or .svg. Got 'a.gif' instead."),
    "no suffix": (("--report", "page"), "--report must end in .html or .htm."),
    "save": (("--save", "region.pkl"), "--save must end in .npz."),
    "there": (("--plot", "old.png"), "the file 'old.png' exists. Add --force"),
    "folder": (("--save", "folder.npz"), "'folder.npz' is a folder."),
    "no folder": (("--report", "nowhere/a.html"), "there is no folder 'nowhere'"),
}


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_targets_are_checked_first(run, here, options, message):
    (here / "old.png").write_bytes(b"old")
    (here / "folder.npz").mkdir()
    done = run(*FIT, *options)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert (here / "old.png").read_bytes() == b"old"


@pytest.mark.usefixtures("no_work")
def test_force_does_not_replace_a_device(run, here):
    (here / "null.png").symlink_to("/dev/null")
    done = run(*FIT, "--plot", "null.png", "--force")
    assert done.code == 2
    assert "must be a regular file" in done.err


@pytest.mark.usefixtures("no_work")
def test_a_link_into_a_folder_that_is_not_there(run, here):
    (here / "a.png").symlink_to(here / "nowhere" / "a.png")
    done = run(*FIT, "--plot", "a.png")
    assert done.code == 2
    assert f"there is no folder '{here / 'nowhere'}'" in done.err


@pytest.mark.usefixtures("no_work", "here")
def test_a_folder_that_cannot_be_written_to(run, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: False)  # root may write everywhere
    done = run(*FIT, "--plot", "a.png")
    assert done.code == 2
    assert "the folder '.' cannot be written to" in done.err


@pytest.mark.usefixtures("no_work", "here")
@pytest.mark.parametrize(("option", "extra"), [("--plot", "plot"), ("--report", "report")])
def test_a_missing_package_is_named_first(run, monkeypatch, option, extra):
    monkeypatch.setitem(sys.modules, {"plot": "matplotlib", "report": "jinja2"}[extra], None)
    done = run(*FIT, option, {"--plot": "a.png", "--report": "a.html"}[option])
    assert done.code == 2
    assert f"pip install exactregion[{extra}]" in done.err


@pytest.mark.parametrize(
    ("name", "begins"), [("a.png", b"\x89PNG"), ("a.pdf", b"%PDF"), ("a.svg", b"<?xml")]
)
def test_pictures(run, here, name, begins):
    done = run(*TEST, "--plot", name)
    assert done.code == 0, done.err
    assert done.err == f"Wrote {name}\n"
    assert (here / name).read_bytes().startswith(begins)


def test_force_replaces_and_quiet_keeps_quiet(run, here):
    (here / "a.png").write_bytes(b"old")
    done = run(*TEST, "--plot", "a.png", "--force", "--quiet")
    assert (done.code, done.err) == (0, "")
    assert (here / "a.png").read_bytes().startswith(b"\x89PNG")


def test_a_picture_that_fails_leaves_the_old_file(run, here, monkeypatch):
    (here / "a.png").write_bytes(b"old")

    def fail(*args, **kwargs):
        raise OSError(28, "No space left on device", "a.png")

    monkeypatch.setattr("matplotlib.figure.Figure.savefig", fail)
    done = run(*TEST, "--plot", "a.png", "--force")
    assert done.code == 2
    assert done.err == "Error: The file 'a.png' cannot be written: No space left on device.\n"
    assert sorted(path.name for path in here.iterdir()) == ["a.png", "oring.csv"]
    assert (here / "a.png").read_bytes() == b"old"


def test_a_report_of_a_test(run, here):
    done = run(*TEST, "--report", "page.html")
    assert done.code == 0, done.err
    assert "</html>" in (here / "page.html").read_text(encoding="utf8")


def test_a_report_has_the_thresholds_and_places_that_are_asked_for(run, here):
    done = run(*FIT, "--ed", "50", "--at", "temp=31", "--report", "page.html")
    assert done.code == 0, done.err
    page = (here / "page.html").read_text(encoding="utf8")
    for text in ("temp at P = 0.5", "temp = 31", "outside the data"):
        assert text in page
    assert re.search(r"Thresholds: limits (were searched|are proven)", page)
    assert re.search(r"Probabilities: limits (were searched|are proven)", page)
    # what is not said to be proven was searched, and is said to be
    said = " ".join(done.out.split())
    assert all(part in said for part in ("the thresholds", "the limits at each place", "at once"))


def test_a_saved_region_gives_the_same_answers(run, here):
    ask = ("--at", "temp=31,65", "--json")
    first = run(*FIT, "--save", "region.npz", *ask)
    again = run("show", "region.npz", *ask)
    assert (first.code, again.code) == (0, 0), again.err
    one, two = json.loads(first.out), json.loads(again.out)
    for key in ("n", "successes", "model", "coverage", "seed", "estimate", "intervals", "band"):
        assert one[key] == two[key]
    assert (here / "region.npz").exists()
    assert run("show", "region.npz", "--fail-below", "0.05").code == 0
    assert "cannot be reached" in run("show", "region.npz", "--fail-below", "0.01").err


def test_output_folders_may_be_new_but_not_files(tmp_path):
    make_folder(tmp_path / "new" / "deeper", ("a.png",), force=False)
    assert (tmp_path / "new" / "deeper").is_dir()
    (tmp_path / "a.png").write_bytes(b"old")
    with pytest.raises(ValueError, match=r"a\.png' exists. Add --force"):
        make_folder(tmp_path, ("a.png",), force=False)
    make_folder(tmp_path, ("a.png",), force=True)
    with pytest.raises(ValueError, match="is a file"):
        make_folder(Path(tmp_path / "a.png"), ("b.png",), force=True)
