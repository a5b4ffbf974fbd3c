"""The documentation builds strictly and offline, runs all its examples, and opens in a browser."""

import ast
import html
import os
import re
import subprocess
import sys
import time
from importlib.metadata import distribution
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

import exactregion as er

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
FENCE = re.compile(r"^(?P<indent> *)```(?P<language>\w*)(?P<options>[^`\n]*)$", re.MULTILINE)
INSTALLING = "python3 -m venv"
LOADED = re.compile(
    r'<(?:script|img|iframe|source|video|audio|object|embed)\b[^>]*?(?:src|data)=["\']?(?:https?:)?//'
    r'|<link\b[^>]*rel=["\']?(?:stylesheet|preload|preconnect|icon|manifest)[^>]*href=["\']?(?:https?:)?//'
    r'|<link\b[^>]*href=["\']?(?:https?:)?//[^>]*rel=["\']?(?:stylesheet|preload|preconnect|icon|manifest)'
    r"|url\(['\"]?(?:https?:)?//|@import ['\"]?(?:https?:)?//"
)


def fences(page):
    """Give the blocks of a page: indent, language, options and text of each."""
    text = page.read_text(encoding="utf8")
    found = list(FENCE.finditer(text))
    assert len(found) % 2 == 0, "a block is not closed"
    return [
        (start["indent"], start["language"], start["options"], text[start.end() : stop.start()])
        for start, stop in zip(found[::2], found[1::2], strict=True)
    ]


def build(folder, *options):
    # that examples run does not depend on how long they search; not --quiet, which keeps warnings
    # from --strict
    command = [sys.executable, "-m", "tests.support.effort", "mkdocs", "build", "--strict"]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(
        [*command, "-d", folder, *options],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Build the site once; workers of one run share it."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    folder, said = shared / "site", shared / "site.said"
    try:
        (shared / "site.begun").mkdir()
    except FileExistsError:
        wait_for(said)
    else:
        code, output = build(folder)
        (shared / "site.part").write_text(f"{code}\n{output}", encoding="utf8")
        (shared / "site.part").rename(said)
    code, *output = said.read_text(encoding="utf8").splitlines()
    assert code == "0", "\n".join(output)
    return folder


def wait_for(path, seconds=900):
    for _ in range(seconds * 5):
        if path.exists():
            return
        time.sleep(0.2)
    raise TimeoutError(f"{path.name} did not appear")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_example_of_a_page_is_run(page):
    """By execution at build time, or as a doctest in tests/unit/test_readme.py."""
    for indent, language, options, text in fences(page):
        executed = 'exec="on"' in options
        if language in {"python", "py"}:
            assert executed, text
        if language == "pycon":
            assert indent + options == "", text
        if language in {"console", "bash", "sh", "shell"}:
            assert executed or INSTALLING in text or "make " in text, text


def test_python_blocks_of_the_readme_name_what_exists():
    """They are for data that are not there, so they cannot be run."""
    blocks = [text for _, language, _, text in fences(ROOT / "README.md") if language == "python"]
    for node in ast.walk(ast.parse("\n".join(blocks))):
        if isinstance(node, ast.Attribute) and getattr(node.value, "id", None) == "er":
            assert hasattr(er, node.attr)


def test_pages_load_nothing_from_elsewhere(site):
    loading = [path for path in site.rglob("*") if path.suffix in {".html", ".css"}]
    assert len(loading) > len(PAGES)
    found = {path.name: LOADED.findall(path.read_text(encoding="utf8")) for path in loading}
    assert {name: loaded for name, loaded in found.items() if loaded} == {}


def test_formulas_are_mathml(site):
    texts = [path.read_text(encoding="utf8") for path in site.rglob("*.html")]
    assert sum("<math" in text for text in texts) >= 4
    assert not any('class="arithmatex"' in text for text in texts)


def test_formulas_have_a_font_for_mathematics(site):
    """Without its table of constants subscripts are on the line; it is small, and has all signs."""
    font, whole = (
        TTFont(path)
        for path in (
            site / "stylesheets" / "math.woff",
            distribution("ziamath").locate_file("ziamath/fonts/STIXTwoMath-Regular.ttf"),
        )
    )
    assert "MATH" in font
    assert (site / "stylesheets" / "math.woff").stat().st_size < 120_000
    texts = [path.read_text(encoding="utf8") for path in site.rglob("*.html")]
    formulas = [one for text in texts for one in re.findall(r"<math.*?</math>", text, re.DOTALL)]
    shown = {ord(sign) for one in formulas for sign in html.unescape(re.sub("<[^>]*>", "", one))}
    variables = {ord(sign) for sign in "√𝑥𝜃"}  # drawn by browsers
    assert (shown | variables) & set(whole.getBestCmap()) <= set(font.getBestCmap())
    assert 'url("math.woff")' in (site / "stylesheets" / "site.css").read_text(encoding="utf8")


MOST_COLUMNS = 92
"""Characters of a line of code that fit on a screen of 1,300 pixels."""


def test_no_code_is_wider_than_a_page(site):
    found = {
        f"{path.name}: {line}"
        for path in site.rglob("*.html")
        for block in re.findall(r"<pre\b[^>]*>(.*?)</pre>", path.read_text("utf8"), re.DOTALL)
        for line in html.unescape(re.sub("<[^>]*>", "", block)).splitlines()
        if len(line) > MOST_COLUMNS
    }
    assert sorted(found) == []


def test_figures_have_words_for_who_cannot_see_them(site):
    texts = [path.read_text(encoding="utf8") for path in site.rglob("*.html")]
    images = [image for text in texts for image in re.findall(r"<img\b[^>]*>", text)]
    assert len(images) >= 10
    assert [image[:80] for image in images if not re.search(r'alt="[^"]{15,}"', image)] == []


GOOD = '```python exec="on"\nprint(1 + 1)\n```\n\n$$x_1^2$$'
BAD = {
    "python": '```python exec="on"\nraise ValueError\n```',
    "command": '```console exec="on"\n$ exactregion fit nothing.csv\n```',
    "link": "[a page](that_is_not_there.md)",
}


@pytest.mark.parametrize(
    ("pages", "said"),
    [
        ({"index": GOOD}, ()),
        # each bad page has a warning of its own, and one warning is enough to fail a strict build
        (
            {"index": GOOD, **BAD},
            ("ValueError", "nothing.csv", "that_is_not_there.md", "Aborted with 3 warnings"),
        ),
        ({"index": "$\\nosuchcommand{x}$"}, ("latex2mathml does not know a command",)),
    ],
    ids=["good page", "bad pages", "unknown formula"],
)
def test_what_is_wrong_fails_the_build(tmp_path, pages, said):
    (tmp_path / "pages").mkdir()
    for name, text in pages.items():
        (tmp_path / "pages" / f"{name}.md").write_text(text, encoding="utf8")
    settings = tmp_path / "mkdocs.yml"
    names = ", ".join(f"{name}.md" for name in pages)
    settings.write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\ndocs_dir: pages\nnav: [{names}]\n"
        f"hooks: [{ROOT / 'docs' / 'hooks.py'}]\n",
        encoding="utf8",
    )
    code, output = build(tmp_path / "site", "-f", str(settings))
    assert (code != 0) is bool(said), output
    for expected in said:
        assert expected in output


@pytest.mark.parametrize(
    "name", ["index", "quickstart", "tutorials/predictions", "theory/index", "reference/regions"]
)
@pytest.mark.parametrize("width", [1280, 380])
def test_pages_open_without_errors_or_requests(site, browser, name, width):
    errors, requests = [], []
    context = browser.new_context(viewport={"width": width, "height": 900})
    page = context.new_page()
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda said: said.type in {"error", "warning"} and errors.append(said.text))
    page.on("request", lambda request: requests.append(request.url))
    page.goto((site / f"{name}.html").as_uri())
    page.wait_for_selector("input.md-search__input", state="attached")
    too_wide = page.evaluate("document.documentElement.scrollWidth > window.innerWidth")
    context.close()
    assert errors == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert not too_wide


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("separated", "separated_data"),
        ("LD50", "thresholds"),
        ("odds ratio", "odds_ratios"),
        ("sample size", "power"),
        ("likelihood ratio test", "coefficients"),
        ("multiclass", "classes"),
        ("fairness", "segments"),
        ("Platt scaling", "predictions"),
    ],
)
def test_search_finds_pages_without_a_server(site, browser, words, name):
    """By other people's words, too, which are tags of the pages."""
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.click("input.md-search__input")
    page.keyboard.type(words, delay=20)
    page.wait_for_selector(".md-search-result__link", timeout=20_000)
    found = page.eval_on_selector_all(".md-search-result__link", "all => all.map(a => a.href)")
    page.close()
    assert any(f"{name}.html" in url for url in found)
