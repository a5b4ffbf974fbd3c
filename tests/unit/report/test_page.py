"""What holds of every page: it is complete, safe, and in order."""

import ast
import base64
import hashlib
import json
import re
import subprocess
import sys
from html import unescape

import numpy as np
import pandas as pd
import pytest

import exactregion as er
from exactregion.errors import FileAccessError, MissingDependencyError
from exactregion.plotting import wording
from exactregion.report import write_report

REPORTS = ("tested", "region", "cloud", "belt")


@pytest.fixture(scope="module")
def pages(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    return {
        name: write_report(request.getfixturevalue(name), folder / f"{name}.html")
        for name in REPORTS
    }


@pytest.fixture(params=REPORTS)
def page(request, pages):
    return pages[request.param]


def policy_of(reader):
    (meta,) = reader.all("meta", **{"http-equiv": "Content-Security-Policy"})
    return meta["content"]


def test_it_is_one_small_file_that_loads_nothing(page, read):
    assert page.stat().st_size < 2_500_000
    reader = read(page)
    loading = {"src", "href", "srcset", "data", "action", "poster", "background"}
    assert not [element for element in reader.elements if loading & set(element)]
    assert not [e for e in reader.elements if e["tag"] in {"link", "iframe", "object", "base"}]
    (style,) = reader.texts("style")
    assert "@import" not in style
    assert "url(" not in style
    assert "default-src 'none'" in policy_of(reader)


def test_only_the_scripts_of_the_page_may_run(page, read):
    reader = read(page)
    policy = policy_of(reader)
    scripts = reader.all("script")
    data, library, own = scripts
    assert data["type"] == "application/json"
    allowed = re.search(r"script-src ([^;]*);", policy).group(1).split()
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(s['text'].encode()).digest()).decode()}'"
        for s in (library, own)
    ]
    assert allowed == hashes
    assert not [e for e in reader.elements if any(name.startswith("on") for name in e)]


def test_headings_tables_and_figures_can_be_followed(page, read):
    reader = read(page)
    levels = [int(e["tag"][1]) for e in reader.elements if re.fullmatch("h[1-6]", e["tag"])]
    assert levels[0] == 1
    assert set(levels[1:]) == {2}
    assert all(th.get("scope") in {"col", "row"} for th in reader.all("th"))
    assert len(reader.all("caption")) == len(reader.all("table")) > 0
    plots = reader.all("div", **{"class": "plot"})
    assert len(plots) == len(reader.all("figure")) == len(reader.all("figcaption")) > 0
    assert all(plot["aria-label"] for plot in plots)
    assert "Rows are independent of each other." in reader.texts("li")
    assert reader.all("html", lang="en")


def test_facts_and_code_say_what_was_asked(pages, read):
    reader = read(pages["region"])
    facts = dict(zip(reader.texts("dt"), reader.texts("dd"), strict=True))
    assert facts["Rows"] == "23"
    assert facts["Outcomes"] == "7 positive of 23 (30.43%)"
    assert facts["Inputs"] == "temp"
    assert facts["Family"] == "Logistic"
    assert facts["Resamples"] == "39"
    assert facts["Seed"] == "0"
    assert facts["Made with"] == f"exactregion {er.__version__}"
    (code,) = reader.texts("code")
    assert "n_resamples=39, rng=0).fit(X, y)" in code


@pytest.mark.parametrize("name", ["tested", "region", "belt"])
def test_the_code_is_python(name, pages, read):
    tree = ast.parse(unescape(read(pages[name]).all("code")[0]["text"]))
    attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    names = {node.attr for node in attributes if getattr(node.value, "id", None) == "er"}
    assert names
    assert names <= set(dir(er))


def test_answer_and_guarantee_are_those_of_the_wording(pages, read, region, tested, belt):
    for name, answer, guarantee in (
        (
            "region",
            wording.answer_of(region),
            wording.guarantee_of(region),
        ),
        (
            "tested",
            wording.answer_of(tested),
            wording.guarantee_of(tested),
        ),
        (
            "belt",
            f"{wording.answer_of(belt)} {wording.answer_of_deviation(belt)}",
            wording.guarantee_of(belt),
        ),
    ):
        reader = read(pages[name])
        assert reader.texts("p", **{"class": "said"}) == [answer]
        assert reader.texts("p", **{"class": "guarantee"}) == [guarantee]


def test_names_and_titles_stay_text(tmp_path, read, evil, flights):
    X = pd.DataFrame({evil: flights["temp"], f"{evil} 2": flights["pressure"]})
    region = er.ConfidenceRegion("logistic", n_resamples=19, rng=0).fit(X, flights["y"])
    reader = read(write_report(region, tmp_path / "evil.html", title=evil))
    assert reader.texts("h1") == [evil]
    assert reader.texts("title") == [evil]
    assert not reader.all("img")
    assert len(reader.all("script")) == 3
    assert evil in reader.texts("option")
    assert "49" not in reader.texts("h1")[0]
    content = json.loads(reader.all("script")[0]["text"])
    assert content["explorer"]["parameters"][1]["name"].startswith("<script>window.__xss")


def test_blocks_of_data_hold_nothing_that_could_be_markup(page):
    html = page.read_text(encoding="utf-8")
    block = html.split('id="report">')[1].split("</script>")[0]
    assert not set("<>&") & set(block)
    assert set(json.loads(block)) == {"themes", "figures", "explorer"}


def test_labels_are_never_read_as_formulas(pages, read):
    """Bokeh reads $$x$$ in a string as TeX; a PlainText object it does not."""
    content = json.loads(read(pages["cloud"]).all("script")[0]["text"])
    labels = re.findall(r'"axis_label":(.)', json.dumps(content, separators=(",", ":")))
    assert len(labels) > 2
    assert set(labels) <= {"{", "n"}


@pytest.mark.parametrize("missing", ["bokeh", "jinja2"])
def test_missing_packages_are_named_with_the_install_line(missing, monkeypatch, tested, tmp_path):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingDependencyError, match=r"pip install exactregion\[report\]"):
        tested.report(tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", REPORTS)
def test_matplotlib_is_not_needed(name, request, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert write_report(request.getfixturevalue(name), tmp_path / "page.html").exists()


def test_importing_the_room_loads_neither_bokeh_nor_jinja():
    code = (
        "import sys, exactregion.report; "
        "print([name for name in ('bokeh', 'jinja2', 'matplotlib') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_page_is_written_whole_or_not_at_all(tested, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    assert tested.report(str(path)) == path
    before = path.read_bytes()

    def fail(*args, **kwargs):
        raise RuntimeError("no")

    monkeypatch.setattr("exactregion.report.page._policy", fail)
    with pytest.raises(RuntimeError):
        tested.report(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]
    monkeypatch.undo()
    with pytest.raises(FileAccessError, match=r"No such file or directory"):
        tested.report(tmp_path / "nowhere" / "page.html")


def test_the_same_question_gives_the_same_page(tested, tmp_path):
    pages = [tested.report(tmp_path / name).read_text() for name in ("a.html", "b.html")]
    # only the ids that Bokeh numbers its models with differ
    assert len({re.sub(r"p\d{4,}", "p", page) for page in pages}) == 1


def test_a_test_without_a_seed_says_so(tmp_path, read, flights):
    result = er.model_test(
        np.full(23, 1 / 3), flights[["temp"]], flights["y"], n_resamples=19, statistic="embedding"
    )
    reader = read(result.report(tmp_path / "page.html"))
    facts = dict(zip(reader.texts("dt"), reader.texts("dd"), strict=True))
    assert facts["Seed"] == "not fixed"
    assert facts["Statistic"] == "embedding"
    (code,) = reader.texts("code")
    assert "rng=" not in code
    assert "statistic=statistic" in code
