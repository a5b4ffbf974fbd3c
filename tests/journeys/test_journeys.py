"""What users see is what the transcripts say."""

import pytest

from tests.journeys import HERE, performed

TRANSCRIPTS = sorted(HERE.glob("*.txt"))


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda path: path.stem)
def test_what_users_see(transcript, tmp_path):
    assert performed(transcript, tmp_path) == transcript.read_text(encoding="utf8")


def test_no_line_is_wider_than_a_terminal():
    lines = [line for path in TRANSCRIPTS for line in path.read_text("utf8").splitlines()]
    assert len(lines) > 50
    assert [line for line in lines if len(line) > 80 and not line.startswith("$ ")] == []
