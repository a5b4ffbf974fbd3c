"""A browser: one for all tests, since a process can drive one only."""

import os
import shutil

import pytest

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def missing(reason):
    if os.environ.get("EXACTREGION_REQUIRE_BROWSER") == "1":
        pytest.fail(f"EXACTREGION_REQUIRE_BROWSER is set, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def browser():
    program = shutil.which("chromium")
    if program is None:
        missing("there is no chromium on this machine to open reports with")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()
