"""What users see is what the transcripts say."""

import re

import numpy as np
import pytest

from tests.journeys import HERE, performed

TRANSCRIPTS = sorted(HERE.glob("*.txt"))
NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


def numbers_in(text):
    return [float(found.replace(",", "").replace("−", "-")) for found in NUMBER.findall(text)]


def last_digits_in(text):
    """One unit of the last decimal of each number, 0 for integers."""
    decimals = [found.partition(".")[2] for found in NUMBER.findall(text)]
    return np.array([10.0 ** -len(part) if part.isdigit() else 0.0 for part in decimals])


def words_in(text):
    """The text without numbers; columns may be wider or narrower than before."""
    return re.sub(r"[\s─-]+", " ", NUMBER.sub("#", text))


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: path.stem)
def test_what_users_see(transcript, tmp_path):
    seen, kept = performed(transcript, tmp_path), transcript.read_text(encoding="utf8")
    assert words_in(seen) == words_in(kept)
    # searched ends may move in their last digits where another processor rounds differently
    expected = np.array(numbers_in(kept))
    allowed = 0.02 + 0.05 * np.abs(expected) + last_digits_in(kept)
    assert (np.abs(numbers_in(seen) - expected) <= allowed).all()


def test_no_line_is_wider_than_a_terminal():
    lines = [line for path in TRANSCRIPTS for line in path.read_text("utf8").splitlines()]
    assert len(lines) > 50
    assert [line for line in lines if len(line) > 80 and not line.startswith("$ ")] == []
