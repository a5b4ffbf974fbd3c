"""From the parts of a page to one HTML text that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from bokeh.embed import json_item
from bokeh.resources import Resources
from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from exactregion._version import __version__
from exactregion.report.figures import THEMES
from exactregion.report.parts import Explorer, Page

__all__ = ["render"]


def render(page: Page) -> str:
    """Write the page as HTML.

    Every text goes through the template's escaping or into a block of JSON, and the policy of the
    page lets no script run but the two written here, by their hashes: what is in names and titles
    stays text.
    """
    library, script = _library(), _packaged("page.js")
    environment = Environment(autoescape=True, undefined=StrictUndefined)
    environment.filters["unbroken"] = _unbroken
    return environment.from_string(_packaged("page.html")).render(
        page=page,
        policy=_policy(library, script),
        style=Markup(_packaged("page.css")),
        library=Markup(library),
        script=Markup(script),
        data=Markup(_json_block(_for_script(page))),
        version=__version__,
    )


def _unbroken(text: str) -> str:
    """Keep "p = 0.03" on one line."""
    return text.replace("p = ", "p\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}").replace(
        "p ≤ ", "p\N{NO-BREAK SPACE}≤\N{NO-BREAK SPACE}"
    )


def _packaged(name: str) -> str:
    return files("exactregion.report").joinpath(name).read_text(encoding="utf-8")


def _library() -> str:
    """Give the code of BokehJS: figures only, no widgets, nothing that loads more."""
    code = Resources(mode="inline", components=["bokeh"], log_level="error").js_raw
    return "\n".join(code).replace("</script", r"<\/script")


def _policy(*scripts: str) -> str:
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _json_block(content: Any) -> str:
    """Write JSON that no parser of HTML takes for markup."""
    text = json.dumps(content, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def _for_script(page: Page) -> dict[str, Any]:
    """Gather what the script draws, and what it shows where."""
    explorers = [
        part.script
        for section in page.sections
        for part in section.parts
        if isinstance(part, Explorer)
    ]
    return {
        "themes": THEMES,
        "figures": [
            {
                "id": figure.id,
                "item": json_item(figure.root, target=None),
                "pointers": [vars(pointer) for pointer in figure.pointers],
            }
            for figure in page.figures
        ],
        "explorer": explorers[0] if explorers else None,
    }
