"""Files are written whole or not at all."""

import pytest

from exactregion.data.files import write_whole


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "numbers.json"
    write_whole(path, lambda file: file.write(b"old"))

    def fail(file):
        file.write(b"half of the n")
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        write_whole(path, fail)
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
