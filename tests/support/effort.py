"""Searches and proofs that end early, for tests of what is made of their results.

Commands, pages, pictures and files take the ends of intervals as they are. So these may lie farther
out, and be audited by fewer probes: the same code finds them, and what is proven stays proven. How
good ends are is tested in tests/unit/region and tests/validity, where searches have all their time.

``python -m tests.support.effort mkdocs build`` builds the site so.
"""

import runpy
import sys
from contextlib import contextmanager

import pytest

from exactregion.region import bounds
from exactregion.region.search import ends, extremes

LITTLE = (
    (bounds, "JOINT_GAP", 0.08),
    (bounds, "FOCUSED_GAP", 0.08),
    (bounds, "LARGEST_GAP", 0.08),
    (bounds, "PROBES", (100, 100)),
    (ends, "AUDITS", 1),
    (ends, "MOST", 1),
    (extremes, "RAYS", 2),
    (extremes, "TOLERANCE", 0.05),
    (extremes, "ROUNDS", 6),
    (extremes, "GATHERED", 0.1),
    (extremes, "QUICKLY_GATHERED", 0.1),
)


@contextmanager
def little_effort():
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in LITTLE:
            patch.setattr(module, name, value)
        yield


if __name__ == "__main__":  # python -m tests.support.effort MODULE ARGUMENTS
    sys.argv = sys.argv[1:]
    with little_effort():
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
