"""Run the command: ``python -m exactregion``."""

import sys

from exactregion.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
