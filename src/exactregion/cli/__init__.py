"""The command line: parse, call the library, print.

``main`` is the command ``exactregion``. Results go to stdout, progress and notes to stderr. Exit
codes: 0 done; 1 rejected, only with ``--fail-below``; 2 bad input; 3 a defect; 130 interrupted;
141 nobody reads the pipe. The documentation of the command lists the keys of ``--json``.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Sequence

from exactregion._version import __version__

__all__ = ["main"]

FEWER_COLLECTIONS = 1_000_000
"""Objects between searches for garbage in the process of a command: those of the modules that are
loaded, some 350,000, would be looked through again and again, a sixth of the time of a fit."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command ``exactregion``, with the arguments of the process by default."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if arguments is None:
        gc.set_threshold(FEWER_COLLECTIONS)
    if words == ["--version"] and sys.stdout is not None:
        # at once: loading the commands takes ten times as long
        sys.stdout.write(f"exactregion {__version__}\n")
        return 0
    try:
        from exactregion.cli.app import run

        return run(words)
    except KeyboardInterrupt:
        return 130
    finally:
        if arguments is None:
            # at its end Python would look through all objects for garbage, a tenth of the time of
            # a fit, and the process frees its memory anyway
            gc.freeze()
