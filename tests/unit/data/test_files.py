"""Files are written whole or not at all, and read within bounds."""

import io
import os
import threading
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from exactregion.data import files
from exactregion.data.files import pack, unpack, write_whole
from exactregion.errors import FileAccessError, FileFormatError, InvalidValueError


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


def test_threads_that_write_to_one_path_do_not_see_each_other(tmp_path):
    path = tmp_path / "shared.bin"
    both = threading.Barrier(2, timeout=20)

    def write(letter):
        def slowly(file):
            file.write(letter * 500)
            file.flush()
            both.wait()  # the other has begun, and has not finished
            file.write(letter * 500)

        write_whole(path, slowly)

    with ThreadPoolExecutor(2) as pool:
        for _ in range(10):
            list(pool.map(write, (b"a", b"b")))
            assert path.read_bytes() in (b"a" * 1000, b"b" * 1000)
    assert list(tmp_path.iterdir()) == [path]


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("n" * 255)
    assert write_whole(path, lambda file: file.write(b"new")).read_bytes() == b"new"


@pytest.mark.parametrize("exists", [True, False])
def test_links_are_followed(tmp_path, exists):
    target, link = tmp_path / "target", tmp_path / "link"
    link.symlink_to("target")
    if exists:
        target.write_bytes(b"old")
    write_whole(link, lambda file: file.write(b"new"))
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("through_link", [True, False])
def test_what_is_no_regular_file_stays(tmp_path, through_link):
    pipe = path = tmp_path / "pipe"
    os.mkfifo(pipe)
    if through_link:
        path = tmp_path / "link"
        path.symlink_to(pipe)
    with pytest.raises(FileAccessError, match="must be a regular file"):
        write_whole(path, lambda file: file.write(b"new"))
    assert pipe.is_fifo()
    assert path.is_symlink() == through_link


# --- archives -----------------------------------------------------------------------------------


def read(content):
    return unpack(io.BytesIO(content), lambda header: None)


@pytest.fixture
def small_limits(monkeypatch):
    monkeypatch.setattr(files, "MAX_PACKED", 2000)
    monkeypatch.setattr(files, "MAX_HEADER", 100)


@pytest.mark.usefixtures("small_limits")
def test_what_is_too_large_to_be_packed_is_stored():
    arrays = {"a": np.zeros(100), "b": np.zeros(1000), "c": np.zeros(50)}
    content = pack({"a": 1}, arrays)
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        kinds = {entry.filename: entry.compress_type for entry in archive.infolist()}
    assert kinds["b.npy"] == zipfile.ZIP_STORED
    assert kinds["a.npy"] == kinds["c.npy"] == zipfile.ZIP_DEFLATED
    header, found = read(content)
    assert header == {"a": 1}
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)


@pytest.mark.usefixtures("small_limits")
def test_a_header_that_load_would_refuse_is_not_saved():
    with pytest.raises(InvalidValueError, match="at most 100 bytes to be saved"):
        pack({"text": "a" * 200}, {})


def zipped(*members, kind=zipfile.ZIP_DEFLATED):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as archive:
        for name, size in members:
            archive.writestr(name, bytes(size))
    return file.getvalue()


@pytest.fixture
def nothing_read(monkeypatch):
    def read(*args, **kwargs):
        raise AssertionError("a member was read")

    monkeypatch.setattr(zipfile.ZipFile, "read", read)


@pytest.mark.usefixtures("small_limits", "nothing_read")
@pytest.mark.parametrize(
    "content",
    [
        zipped(("header.json", 2), ("a.npy", 3000)),
        zipped(("header.json", 2), ("a.npy", 1500), ("b.npy", 1500)),
        zipped(("header.json", 2), ("a.npy", 3000), kind=zipfile.ZIP_LZMA),
        zipped(("header.json", 101)),
    ],
    ids=["one", "two", "lzma", "header"],
)
def test_an_archive_that_unpacks_to_too_much_is_refused_unread(content):
    with pytest.raises(FileFormatError, match="not a file that exactregion saved"):
        read(content)


@pytest.mark.usefixtures("nothing_read")
def test_stored_members_cannot_share_their_bytes():
    content = bytearray(zipped(("header.json", 2), ("a.npy", 5), kind=zipfile.ZIP_STORED))
    place = content.rindex(b"a.npy") - 46  # of the entry in the directory at the end
    content[place + 20 : place + 28] = (10**6).to_bytes(4, "little") * 2
    with pytest.raises(FileFormatError, match="unpack to 1,000,002"):
        read(bytes(content))


@pytest.mark.usefixtures("nothing_read")
def test_a_member_that_is_there_twice():
    with pytest.warns(UserWarning, match="Duplicate name"):
        content = zipped(("header.json", 2), ("a.npy", 5), ("a.npy", 6))
    with pytest.raises(FileFormatError, match=r"2 members called 'a\.npy'"):
        read(content)


def test_text_of_no_width_is_no_array():
    content = pack({}, {"a": np.zeros(3, dtype="U1").astype("U0")})
    with pytest.raises(FileFormatError, match="must hold numbers"):
        read(content)
