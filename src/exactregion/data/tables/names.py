"""Names of columns in messages."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

__all__ = ["did_you_mean", "shown_names"]


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Suggest the name that was probably meant, if there is one.

    Examples
    --------
    >>> did_you_mean("Temp", ["temp", "pressure"])
    " Did you mean 'temp'?"
    """
    lower = {other.lower(): other for other in names}
    close = difflib.get_close_matches(name.lower(), lower, n=1)
    return f" Did you mean {lower[close[0]]!r}?" if close else ""


def shown_names(names: Sequence[str], most: int = 12) -> str:
    """List names, not too many of them.

    Examples
    --------
    >>> shown_names(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
