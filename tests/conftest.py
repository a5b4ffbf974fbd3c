"""One thread per process, the same random numbers for each test, and one browser for all tests."""

import os
import shutil

import pytest

# two workers with two threads each would wait for each other more than they work: products of
# matrices take several times as long. NumPy reads these when a test first imports it.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


STATES = {}


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Let every test start from the same state of its module's RNG.

    Workers take tests from each other, so that which ones ran before is different in every run.
    """
    rng = getattr(getattr(item, "module", None), "RNG", None)
    if rng is not None:
        state = STATES.setdefault(item.module.__name__, rng.bit_generator.state)
        rng.bit_generator.state = state


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
