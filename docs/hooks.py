"""What mkdocs does besides: formulas as MathML, and a folder and a command for the examples.

Formulas are set in STIX Two Math, which the package ziamath brings. Without a font for mathematics
browsers do not know where subscripts go.
"""

import html
import os
import re
import sys
import tempfile
import unicodedata
from importlib.metadata import distribution
from pathlib import Path

import showing  # noqa: F401  the examples import these two, and this folder is on the path only now
import studied  # noqa: F401
from fontTools import subset
from latex2mathml.converter import convert
from mkdocs.exceptions import PluginError

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>', re.DOTALL
)
EXECUTED = re.compile(r'^(?P<fence> *`{3,}(?:python|console) exec="on".*)$', re.MULTILINE)
TAG = re.compile(r"<[^>]*>")
SPACED = re.compile(r"<mo>(&#x0221E;|&#x02026;|&#x000B7;(?=</mo><mo[^>]*>&#x00029;))</mo>")
BAR = re.compile(r"<mo([^>]*)>&#x0007C;</mo>")
SIGN = re.compile(  # after = ( [ { or a comma
    r"(<mo[^>]*>(?:\[|&#x000(?:3D|28|7B|2C);)</mo>)<mo>(&#x02212;|&#x0002B;)</mo>"
)
FONT = Path("stylesheets", "math.woff")

folders = []
characters = {"√"}  # of all formulas; browsers draw this one themselves


def on_startup(command, dirty):
    """Let the examples find the command of this environment, and draw without a screen."""
    beside = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([beside, os.environ["PATH"]])
    os.environ |= {"COLUMNS": "80", "NO_COLOR": "1", "MPLBACKEND": "Agg"}


def on_page_markdown(markdown, page, config, files):
    """Give the examples of each page an empty folder of their own."""
    folders.append(tempfile.TemporaryDirectory())
    return EXECUTED.sub(rf'\g<fence> workdir="{folders[-1].name}"', markdown)


def on_page_content(html, page, config, files):
    """Write formulas as MathML, which browsers show without a script."""
    return FORMULA.sub(lambda found: mathml(found, page.file.src_uri), html)


def on_post_build(config):
    """Add the font of formulas, and take the folders of the examples away."""
    write_font(Path(config.site_dir) / FONT)
    while folders:
        folders.pop().cleanup()


def mathml(found, source):
    """Turn one formula into MathML; a command that is not known fails the build."""
    latex = html.unescape(found["latex"]).strip()
    display = "block" if found["tag"] == "div" else "inline"
    answer = convert(latex, display=display)
    if "\\" in html.unescape(answer):
        raise PluginError(f"{source}: latex2mathml does not know a command of {latex!r}")
    # it takes these for binary operators, which browsers set with space on both sides
    answer = SPACED.sub(r"<mi>\1</mi>", answer)
    answer = BAR.sub(r'<mo\1 lspace="0" rspace="0">&#x0007C;</mo>', answer)
    answer = SIGN.sub(r'\1<mo form="prefix">\2</mo>', answer)
    characters.update(html.unescape(TAG.sub("", answer)))
    return f'<div class="formula">{answer}</div>' if display == "block" else answer


def write_font(path):
    """Write the part of the font that formulas need, 70 kB of 1.5 MB."""

    def is_needed(code):
        # browsers show a variable x as the italic letter of mathematics
        name = unicodedata.name(chr(code), "")
        return chr(code) in characters or name.startswith(("MATHEMATICAL ITALIC", "PLANCK"))

    options = subset.Options(flavor="woff", layout_features=["ssty"], hinting=False)
    # found without importing the package, which takes a while and warns
    whole = distribution("ziamath").locate_file("ziamath/fonts/STIXTwoMath-Regular.ttf")
    font = subset.load_font(str(whole), options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=filter(is_needed, font.getBestCmap()))
    subsetter.subset(font)
    path.parent.mkdir(parents=True, exist_ok=True)
    subset.save_font(font, str(path), options)
