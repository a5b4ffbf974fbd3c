"""Scripts of the journeys are run by the transcripts, not imported."""

from pathlib import Path

HERE = Path(__file__).parent
collect_ignore = [
    path.name for path in HERE.glob("[!_]*.py") if path.stem not in ("conftest", "test_journeys")
]
