"""What three kinds of users do, and what they see, kept as transcripts.

A transcript is a text file. A line that starts with ``$ `` is a command of the shell, and what
follows, up to the next command, is what it prints; ``python NAME.py`` runs a script beside the
transcript. ``python -m tests.journeys`` writes the transcripts again, and the pictures to the
folder that it is given: look at both before they are committed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
TERMINAL = {"COLUMNS": "80", "NO_COLOR": "1", "PYTHONUTF8": "1", "MPLBACKEND": "Agg"}
LONGEST = 300
"""Seconds that one command may take."""


def commands_of(transcript: Path) -> list[str]:
    """Give the commands of a transcript."""
    lines = transcript.read_text(encoding="utf8").splitlines()
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


def run(command: str, folder: Path) -> str:
    """Run a command in a folder, and give what it prints in a terminal of 80 columns."""
    target, (program, *arguments) = None, shlex.split(command)
    if ">" in arguments:
        arguments, target = arguments[: arguments.index(">")], folder / arguments[-1]
    known = {
        "exactregion": [sys.executable, "-m", "exactregion"],
        "python": [sys.executable],
    }
    if program == "python":
        arguments[0] = str(HERE / arguments[0])
    done = subprocess.run(
        [*known[program], *arguments],
        cwd=folder,
        env={**os.environ, **TERMINAL},
        capture_output=True,
        text=True,
        encoding="utf8",
        timeout=LONGEST,
        check=False,
    )
    if target is not None:
        target.write_text(done.stdout, encoding="utf8")
    printed = ("" if target is not None else done.stdout) + done.stderr
    code = f"[exit code {done.returncode}]\n" if done.returncode else ""
    # the page of a report has the date, and a search may say how long it took
    text = re.sub(r"\d+(\.\d+)? seconds?", "N seconds", printed)
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines()) + code


def performed(transcript: Path, folder: Path) -> str:
    """Run all commands, and give the transcript that they make."""
    return "\n".join(f"$ {command}\n{run(command, folder)}" for command in commands_of(transcript))
