"""Reports in a real browser: drawn, answering the pointer, and leaking nothing."""

import re

import pytest

import exactregion as er

READOUT = "#readout"

# canvases live in the shadow trees of Bokeh's elements
CANVASES = """(id) => {
  const found = [];
  const walk = (node) => {
    if (node instanceof HTMLCanvasElement) found.push(node);
    for (const child of node.children) walk(child);
    if (node.shadowRoot) walk(node.shadowRoot);
  };
  walk(document.getElementById(id));
  return found.map((canvas) => {
    const { width, height } = canvas;
    if (!width || !height) return 0;
    const { data } = canvas.getContext("2d").getImageData(0, 0, width, height);
    const colors = new Set();
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] > 128) colors.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
    }
    return colors.size;
  });
}"""

MODEL = "Bokeh.documents.flatMap((d) => d.roots()).flatMap((r) => [...r.references()])"
CURVE = f"() => Array.from({MODEL}.find((m) => m.name === 'curve').data.y)"


def colours(page, figure):
    return max(page.evaluate(CANVASES, figure))


def place(page, figure, across, up):
    """Give the pixel at shares of the width and height of a figure."""
    page.locator(f"#{figure}").scroll_into_view_if_needed()
    box = page.locator(f"#{figure}").bounding_box()
    return box["x"] + across * box["width"], box["y"] + up * box["height"]


def point(page, figure, across, up):
    page.mouse.move(*place(page, figure, across, up), steps=3)
    page.wait_for_timeout(80)


FIGURES = {
    "plane": ["plane", "band0"],
    "cloud": ["plane", "band0"],
    "line": ["plane", "band0"],
    "tested": ["null", "groups"],
    "belt": ["belt"],
    "models": ["belts", "belt-0", "belt-1"],
    "segments": ["segments"],
}


@pytest.mark.parametrize("name", list(FIGURES))
def test_every_figure_is_drawn(name, visit):
    page = visit(name)
    for figure in FIGURES[name]:
        assert colours(page, figure) > 5, figure


@pytest.mark.parametrize("name", ["plane", "cloud", "line"])
def test_pointing_at_parameters_shows_their_curve_and_rank(name, visit):
    page = visit(name)
    assert page.evaluate(CURVE) == []
    hint = page.inner_text(READOUT)
    assert hint.startswith("Point at")

    point(page, "plane", 0.5, 0.5)
    first, said = page.evaluate(CURVE), page.inner_text(READOUT)
    assert len(first) > 10
    assert all(0 <= p <= 1 for p in first)
    assert re.search(r": rank \d+ of 40, p-value [\d.]+, (in|outside) the region\.$", said)

    point(page, "plane", 0.8, 0.3)
    assert page.evaluate(CURVE) != first
    assert page.inner_text(READOUT) != said

    page.mouse.move(5, 5)
    page.wait_for_timeout(80)
    assert page.evaluate(CURVE) == []
    assert page.inner_text(READOUT) == hint


def test_what_is_said_is_what_the_region_says(visit):
    page = visit("plane")
    d = er.datasets.oring()
    region = er.ConfidenceRegion("logistic", n_resamples=39, rng=0).fit(d["temp"], d["y"])
    for across, up in ((0.5, 0.45), (0.3, 0.7), (0.85, 0.2)):
        point(page, "plane", across, up)
        said = page.inner_text(READOUT)
        rank = int(re.search(r"rank (\d+)", said).group(1))
        theta = page.evaluate(
            f"""() => {{
              const named = (name) => {MODEL}.find((m) => m.name === name);
              const {{ x, y, theta0, theta1 }} = named("points").data;
              const at = x.findIndex(
                (_, i) => x[i] === named("chosen").data.x[0] && y[i] === named("chosen").data.y[0]);
              return [theta0[at], theta1[at]];
            }}"""
        )
        assert region.rank(theta) == rank
        assert ("in the region" in said) == region.contains(theta)
        curve = region.model_.probabilities(
            theta,
            page.evaluate(f"() => Array.from({MODEL}.find((m) => m.name === 'curve').data.x)"),
        )
        assert page.evaluate(CURVE) == pytest.approx(curve, abs=1e-4)


def test_a_click_keeps_what_it_hit_and_lets_go(visit):
    page = visit("plane")
    page.mouse.click(*place(page, "plane", 0.5, 0.5))
    page.wait_for_timeout(80)
    kept, curve = page.inner_text(READOUT), page.evaluate(CURVE)
    assert kept.startswith("Kept: ")
    point(page, "plane", 0.8, 0.3)
    assert page.inner_text(READOUT) == kept
    assert page.evaluate(CURVE) == curve
    page.click("#release")
    assert page.inner_text(READOUT).startswith("Point at")
    assert page.evaluate(CURVE) == []
    assert page.is_disabled("#release")


def test_a_finger_can_point(visit):
    page = visit("plane", has_touch=True, viewport={"width": 380, "height": 800})
    page.touchscreen.tap(*place(page, "plane", 0.6, 0.5))
    page.wait_for_timeout(300)
    assert page.inner_text(READOUT).startswith("Kept: intercept = ")
    assert len(page.evaluate(CURVE)) > 10


@pytest.mark.parametrize(("name", "sliders"), [("plane", 2), ("cloud", 1), ("line", 1)])
def test_keys_can_point(name, sliders, visit):
    page = visit(name)
    assert page.locator(".slider").count() == sliders
    page.locator(".slider").first.focus()
    page.keyboard.press("ArrowRight")
    first = page.inner_text(READOUT)
    assert first.startswith("Kept: ")
    page.keyboard.press("ArrowRight")
    assert page.inner_text(READOUT) != first
    assert page.locator(".slider").first.get_attribute("aria-valuetext") in page.inner_text(READOUT)
    page.keyboard.press("Escape")
    assert page.inner_text(READOUT).startswith("Point at")


def test_other_parameters_and_inputs_can_be_chosen(visit):
    page = visit("cloud")
    before = page.evaluate(f"() => {MODEL}.find((m) => m.name === 'points').data.x[0]")
    page.select_option("#across", label="intercept")
    after = page.evaluate(f"() => {MODEL}.find((m) => m.name === 'points').data.x[0]")
    assert after != before
    label = page.evaluate(f"() => {MODEL}.find((m) => m.name === 'plane').below[0].axis_label.text")
    assert label == "intercept"
    assert page.is_visible("#band0")
    assert not page.is_visible("#band1")
    page.select_option("#along", label="PSI")
    page.wait_for_timeout(150)
    assert page.is_visible("#band1")
    assert not page.is_visible("#band0")
    assert colours(page, "band1") > 5


@pytest.mark.parametrize(
    ("name", "figure", "said"),
    [
        ("tested", "null", "alternatives: "),
        ("tested", "groups", "expected"),
        ("belt", "belt", "between 0."),
    ],
)
def test_pointing_at_other_figures_says_numbers(name, figure, said, visit):
    page = visit(name)
    tip = page.locator(f"[data-figure={figure}] .tip")
    assert not tip.is_visible()
    point(page, figure, 0.5, 0.4)
    assert said in tip.inner_text()
    box, frame = tip.bounding_box(), page.locator(f"#{figure}").bounding_box()
    assert frame["x"] <= box["x"]
    assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
    page.mouse.move(5, 5)
    page.wait_for_timeout(80)
    assert not tip.is_visible()


def test_a_name_that_is_a_program_does_not_run(visit):
    page = visit("evil")
    point(page, "plane", 0.5, 0.5)
    for select in ("#across", "#up", "#along"):
        page.select_option(select, index=1)
    page.wait_for_timeout(150)
    assert page.evaluate("() => window.__xss") is None
    assert page.locator("img").count() == 0
    assert page.inner_text("h1").startswith("<script>window.__xss = 1</script>")
    assert page.inner_text(READOUT).count("<script>") == 2
    # no formula renderer was asked for
    assert page.evaluate("() => typeof window.MathJax") == "undefined"


def test_figures_follow_the_colours_of_the_system(visit):
    page, figure = visit("plane"), "plane"
    ink = f"() => {MODEL}.find((m) => m.name === '{figure}').left[0].axis_label_text_color"
    light, background = page.evaluate(ink), "() => getComputedStyle(document.body).backgroundColor"
    shade = page.evaluate(background)
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(150)
    assert page.evaluate(ink) != light
    assert page.evaluate(background) != shade
    assert colours(page, figure) > 5
    page.emulate_media(color_scheme="light")
    page.wait_for_timeout(150)
    assert page.evaluate(ink) == light


def test_paper_is_light_and_has_no_buttons(visit):
    page = visit("plane", color_scheme="dark")
    toolbar = page.locator("#plane .bk-Toolbar").first
    assert toolbar.is_visible()
    assert page.locator(".slider").first.is_visible()
    page.emulate_media(media="print", color_scheme="dark")
    page.wait_for_timeout(150)
    assert not toolbar.is_visible()
    assert not page.locator(".slider").first.is_visible()
    assert page.evaluate("() => document.documentElement.dataset.theme") == "light"
    background = page.evaluate("() => getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"


def test_a_print_waits_for_no_frame(visit):
    """What a printer gets at once is already light, and has the curves along all inputs."""
    page = visit("cloud", color_scheme="dark")
    shades = page.evaluate(
        """() => {
          dispatchEvent(new Event("beforeprint"));
          const theme = document.documentElement.dataset.theme;
          const shown = getComputedStyle(document.querySelector("[data-figure=band1]")).display;
          dispatchEvent(new Event("afterprint"));
          return [theme, shown, document.documentElement.dataset.theme];
        }"""
    )
    assert shades == ["light", "block", "dark"]


@pytest.mark.parametrize("name", ["cloud", "belt"])
def test_a_narrow_screen_needs_no_sideways_scrolling(name, visit):
    page = visit(name, viewport={"width": 380, "height": 800})
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 380
    for figure in FIGURES[name]:
        assert page.locator(f"#{figure}").bounding_box()["width"] <= 360
        assert colours(page, figure) > 5


def test_the_policy_refuses_what_is_not_of_the_page(browser, written, tmp_path):
    """Even markup that got into the page would not run, and would fetch nothing."""
    strange = (
        "<script>window.__xss = 1</script>"
        '<img src="x.png" onerror="window.__xss = 1"><img src="https://example.invalid/a.png">'
    )
    html = written("tested").read_text(encoding="utf-8")
    path = tmp_path / "strange.html"
    path.write_text(html.replace("</main>", f"{strange}</main>", 1), encoding="utf-8")
    with browser.new_context() as context:
        page = context.new_page()
        answered = []
        page.on("requestfinished", lambda request: answered.append(request.url))
        page.on("response", lambda response: answered.append(response.url))
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=yes]", state="attached", timeout=20_000)
        assert page.locator("main img").count() == 2
        assert page.evaluate("() => window.__xss") is None
        assert set(answered) == {path.as_uri()}


@pytest.mark.parametrize(
    "viewport", [{"width": 1160, "height": 1600}, {"width": 380, "height": 800}]
)
def test_figures_stay_under_the_pointer(viewport, visit):
    """The text above the figures changes its length, never its height."""
    page = visit("cloud", viewport=viewport)
    before = page.locator(READOUT).bounding_box()["height"]
    point(page, "plane", 0.5, 0.5)
    assert "rank" in page.inner_text(READOUT)
    assert page.locator(READOUT).bounding_box()["height"] == before


def test_segments_are_pointed_at_and_sorted(visit):
    page = visit("segments")
    place = page.locator("#segments").bounding_box()
    point(page, "segments", 0.7, 60 / place["height"])
    assert "adjusted p-value 0.01" in page.inner_text(".tip")
    rows = page.locator(".sortable tbody tr")
    assert "all rows" not in rows.first.inner_text()
    head = page.locator(".sortable thead th").nth(1)
    for order, first in (("ascending", min), ("descending", max)):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == order
        sizes = [int(cell) for cell in page.locator(".sortable td:nth-child(2)").all_inner_texts()]
        assert sizes[0] == first(sizes)
    assert rows.first.inner_text().startswith("all rows")
