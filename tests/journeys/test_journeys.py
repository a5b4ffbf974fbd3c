"""What users see is what the transcripts say."""

import re

import pytest

from tests.journeys import HERE, performed

TRANSCRIPTS = sorted(HERE.glob("*.txt"))
NUMBER = re.compile(r"[-−]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")


def numbers_in(text):
    return [float(found.replace(",", "").replace("−", "-")) for found in NUMBER.findall(text)]


def words_in(text):
    """The text without numbers; columns may be wider or narrower than before."""
    return re.sub(r"[\s─-]+", " ", NUMBER.sub("#", text))


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: path.stem)
def test_what_users_see(transcript, tmp_path):
    seen, kept = performed(transcript, tmp_path), transcript.read_text(encoding="utf8")
    assert words_in(seen) == words_in(kept)
    # searched ends may move in their last digits where another processor rounds differently
    assert numbers_in(seen) == pytest.approx(numbers_in(kept), rel=0.05, abs=0.02)


def test_no_line_is_wider_than_a_terminal():
    lines = [line for path in TRANSCRIPTS for line in path.read_text("utf8").splitlines()]
    assert len(lines) > 50
    assert [line for line in lines if len(line) > 80 and not line.startswith("$ ")] == []
