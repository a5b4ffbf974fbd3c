"""Whatever is wrong with a file, load says so, or gives the region that was saved."""

import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

import exactregion as er
from exactregion import kernels, models, statistics
from exactregion.data import files
from exactregion.data.files import pack, unpack
from exactregion.errors import FileAccessError, FileFormatError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
Y = (X[:, 0] + RNG.normal(size=12) > 0).astype(int)
THETAS = RNG.normal(size=(15, 3))
STATISTIC = statistics.Discrepancy(kernels.Precomputed(np.eye(12)))
FITTED = er.ConfidenceRegion(models.Logistic(), statistic=STATISTIC, n_resamples=19, rng=0)
FITTED.fit(X, Y)
RANKS = FITTED.rank(THETAS)


@pytest.fixture
def path(tmp_path):
    return FITTED.save(tmp_path / "region.npz")


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    return FITTED.save(tmp_path_factory.mktemp("whole") / "region.npz").read_bytes()


def load_bytes(content, path):
    path.write_bytes(content)
    return er.load(path)


# --- no file, or another kind of file -----------------------------------------------------------


def test_a_missing_file(tmp_path):
    with pytest.raises(FileAccessError, match=r"that region.save wrote.*none.npz.*No such file"):
        er.load(tmp_path / "none.npz")


def test_a_directory(tmp_path):
    with pytest.raises(FileAccessError, match=r"that region.save wrote.*Is a directory"):
        er.load(tmp_path)


def test_a_path_that_cannot_be():
    with pytest.raises(FileAccessError, match="null byte"):
        er.load("a\0b")


@pytest.mark.parametrize("path", ["/dev/zero", "/dev/urandom"])
def test_a_device_without_end(path):
    with pytest.raises(FileAccessError, match="must be a regular file"):
        er.load(path)


def test_a_pipe_that_nobody_writes_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileAccessError, match="must be a regular file"):
        er.load(tmp_path / "pipe")


def npz(**arrays):
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"temp,damage\n53,1\n",
        b"\x89PNG\r\n\x1a\n",
        pickle.dumps({"a": 1}),
        npz(inputs=X, successes=Y),
        npz(a=np.array([{}], dtype=object)),
    ],
    ids=["empty", "csv", "png", "pickle", "npz", "npz of objects"],
)
def test_another_kind_of_file(content, tmp_path):
    with pytest.raises(
        FileFormatError,
        match=r"x\.npz' cannot be loaded: it is not a file that exactregion saved",
    ):
        load_bytes(content, tmp_path / "x.npz")


# --- damage -------------------------------------------------------------------------------------


def same_or_refused(damaged, path):
    """Load; True if refused as it should be, False if the region is the same all the same."""
    try:
        ranks, message = load_bytes(damaged, path).rank(THETAS), ""
    except FileFormatError as error:
        ranks, message = RANKS, str(error)
    np.testing.assert_array_equal(ranks, RANKS)
    assert not message or message.startswith(f"The file {str(path)!r} cannot be loaded: it ")
    return bool(message)


def test_a_file_cut_short(content, tmp_path):
    for length in range(0, len(content), 7):
        assert same_or_refused(content[:length], tmp_path / "x.npz")
    assert same_or_refused(content[:-1], tmp_path / "x.npz")


@pytest.mark.parametrize("mask", [0x01, 0x80, 0xFF])
def test_a_flipped_byte(content, mask, tmp_path):
    refused = 0
    places = range(0, len(content), 5)
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= mask
        refused += same_or_refused(bytes(damaged), tmp_path / "x.npz")
    assert refused > 0.7 * len(places)  # the others are times, flags and the like of the archive


def test_bytes_overwritten_lost_or_added(content, tmp_path):
    rng = np.random.default_rng(1)
    refused = 0
    for _ in range(150):
        start, stop = np.sort(rng.integers(0, len(content), 2))
        noise = rng.bytes(int(rng.integers(0, 40)))
        for damaged in (
            content[:start] + noise + content[start + len(noise) :],
            content[:start] + content[stop:],
            content[:start] + noise + content[start:],
        ):
            refused += same_or_refused(damaged, tmp_path / "x.npz")
    assert refused > 0.7 * 3 * 150


def test_damaged_bytes_are_called_damaged(content, tmp_path):
    damaged = bytearray(content)
    place = content.index(b"inputs.npy") + 60
    damaged[place : place + 40] = bytes(40)
    with pytest.raises(FileFormatError, match=r"cannot be loaded: it is damaged \("):
        load_bytes(bytes(damaged), tmp_path / "x.npz")


def members_of(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, member in members.items():
            archive.writestr(name, member)
    return file.getvalue()


def test_zipped_again_it_is_the_same(content, tmp_path):
    loaded = load_bytes(zipped(members_of(content)), tmp_path / "x.npz")
    np.testing.assert_array_equal(loaded.rank(THETAS), RANKS)


@pytest.mark.parametrize("name", ["inputs.npy", "successes.npy", "sha256", "statistic.kernel.gram"])
def test_a_missing_member(content, name, tmp_path):
    members = {key: value for key, value in members_of(content).items() if not key.startswith(name)}
    with pytest.raises(FileFormatError, match=r"damaged .*does not match its digest"):
        load_bytes(zipped(members), tmp_path / "x.npz")


def test_swapped_and_foreign_members(content, tmp_path):
    members = members_of(content)
    swapped = members | {"trials.npy": members["successes.npy"]}
    foreign = members | {"extra.npy": members["successes.npy"]}
    other = er.ConfidenceRegion("logistic", n_resamples=19, rng=0).fit(-X, Y)
    mixed = members | {
        "inputs.npy": members_of(other.save(tmp_path / "other.npz").read_bytes())["inputs.npy"]
    }
    for damaged in (swapped, foreign, mixed):
        with pytest.raises(FileFormatError, match=r"damaged .*does not match its digest"):
            load_bytes(zipped(damaged), tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"", r"damaged \(JSONDecodeError"),
        (b"{'a': 1}", r"damaged \(JSONDecodeError"),
        (b"\xff\xfe\x00", r"damaged \((Unicode|Recursion)"),
        (b"[" * 100_000, r"damaged \((Unicode|Recursion)"),
        (b"[1, 2]", "not a region that exactregion saved"),
        (b"null", "not a region that exactregion saved"),
        (b"{}", "not a region that exactregion saved"),
        (b'{"kind": "exactregion.ConfidenceRegion"}', r"damaged \(format None\)"),
        (b'{"kind": "exactregion.ConfidenceRegion", "format": true}', r"damaged \(format True\)"),
        (b'{"kind": "exactregion.ConfidenceRegion", "format": 0}', r"damaged \(format 0\)"),
        (b'{"kind": "exactregion.ConfidenceRegion", "format": 1}', "does not match its digest"),
    ],
)
def test_a_header_that_is_none(content, header, message, tmp_path):
    with pytest.raises(FileFormatError, match=message):
        load_bytes(zipped(members_of(content) | {"header.json": header}), tmp_path / "x.npz")


def test_a_newer_format(content, tmp_path):
    header = {"kind": "exactregion.ConfidenceRegion", "format": 3, "version": "9.1"}
    members = {"header.json": json.dumps(header).encode(), "else": b"unknown"}
    with pytest.raises(FileFormatError) as caught:
        load_bytes(zipped(members), tmp_path / "x.npz")
    assert str(caught.value) == (
        f"The file {str(tmp_path / 'x.npz')!r} cannot be loaded: it was saved by exactregion 9.1, "
        f"format 3; this is exactregion {er.__version__}, which reads up to format 1: upgrade with "
        "pip install --upgrade exactregion."
    )


# --- files that are whole, and say what cannot be -----------------------------------------------


def edited(content, edit):
    header, arrays = unpack(io.BytesIO(content), lambda header: None)
    edit(header, arrays)
    return pack(header, arrays)


def set_in(*keys, value):
    def edit(header, arrays):
        for key in keys[:-1]:
            header = header[key]
        header[keys[-1]] = value

    return edit


def set_array(name, value):
    def edit(header, arrays):
        arrays[name] = value

    return edit


def test_edited_by_nothing_it_is_the_same(content, tmp_path):
    loaded = load_bytes(edited(content, lambda header, arrays: None), tmp_path / "x.npz")
    np.testing.assert_array_equal(loaded.rank(THETAS), RANKS)


KERNEL = ("settings", "statistic", "settings", "kernel")
WRONG = [
    set_in("settings", value=None),
    set_in("settings", value=[]),
    set_in("settings", value={}),
    set_in("settings", "model", value={"type": "Function", "settings": {}}),
    set_in("settings", "model", value={"type": "Score", "settings": {}}),
    set_in("settings", "model", value={"type": ["Logistic"], "settings": {}}),
    set_in("settings", "model", value={"type": "Logistic"}),
    set_in("settings", "model", value={"type": "Logistic", "settings": {"link": "log"}}),
    set_in("settings", "model", value={"type": "Logistic", "settings": []}),
    set_in("settings", "model", value="tobit"),
    set_in("settings", "model", value=[]),
    set_in("settings", "model", value={"distribution": "norm"}),
    set_in("settings", "model", value={"distribution": "poisson"}),
    set_in("settings", "model", value={"distribution": "__builtins__"}),
    set_in("settings", "model", value={"own": 3}),
    set_in("settings", "statistic", value={"type": "Neighborhood", "settings": {"k": "many"}}),
    set_in("settings", "statistic", value={"type": "Combined", "settings": {"statistics": 3}}),
    set_in("settings", "statistic", value={"mapping": 3}),
    set_in("settings", "statistic", value={"type": "Neighborhood", "settings": {"nodes": 10**7}}),
    set_in("settings", "statistic", value={"type": "Likelihood", "settings": {"members": 10**7}}),
    set_in(
        *("settings", "statistic"),
        value={
            "type": "Combined",
            "settings": {"statistics": {"tuple": [{"type": "Score", "settings": {}}] * 65}},
        },
    ),
    set_in("settings", "n_resamples", value="many"),
    set_in("settings", "n_resamples", value={"float": "many"}),
    set_in("settings", "n_resamples", value=10**30),
    set_in("settings", "confidence_level", value=2),
    set_in("settings", "accepted_ranks", value={"tuple": [1, 99]}),
    set_in("settings", "rng", value="seed"),
    set_in("settings", "rng", value=-1),
    set_in("entropy", value=None),
    set_in("entropy", value="-0000000000000000000000000000001"),
    set_in("entropy", value="abc"),
    set_in("parameter_names", value=["a", "b", "c"]),
    set_in("parameter_names", value=7),
    set_in("data", value=None),
    set_in("data", "inputs", value={"array": "nowhere"}),
    set_in("data", "inputs", value={"array": ["inputs"]}),
    set_in("data", "inputs", value={"tuple": [1, 2]}),
    set_in("data", "inputs", value="inputs"),
    set_in("data", "inputs", value=5),
    set_in("data", "names", value=["a"]),
    set_in("data", "names", value=["a", "a"]),
    set_in("data", "names", value=[]),
    set_in("data", "names", value=None),
    set_in("data", "classes", value={"tuple": ["a", {"array": 1}]}),
    set_in(*KERNEL, "settings", "gram", value={"array": "trials"}),
    set_in(*KERNEL, "type", value="CallableKernel"),
    set_in(*KERNEL, "type", value="os.system"),
    set_array("inputs", X[:-1]),
    set_array("inputs", X[None]),
    set_array("inputs", X[:0]),
    set_array("inputs", np.where(X > 0, np.nan, X)),
    set_array("inputs", X.astype("U20")),
    set_array("inputs", X + 1j),
    set_array("inputs", np.float64(3)),
    set_array("successes", Y[:-1]),
    set_array("successes", Y[:, None]),
    set_array("successes", Y.astype(float)),
    set_array("successes", Y - 1),
    set_array("successes", Y + 1),
    set_array("trials", np.zeros(12, dtype=int)),
    set_array("trials", np.full(12, 2**62)),
    set_array("statistic.kernel.gram", np.eye(11)),
    set_array("statistic.kernel.gram", np.arange(144.0).reshape(12, 12)),
    set_array("statistic.kernel.gram", np.full((12, 12), "a")),
]


@pytest.mark.parametrize("edit", WRONG, ids=range(len(WRONG)))
def test_what_cannot_be_is_told(content, edit, tmp_path):
    with pytest.raises(er.ExactRegionError):
        load_bytes(edited(content, edit), tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (set_array("successes", Y[:-1]), r"successes must be 12 integers.*shape \(11,\)"),
        (set_array("trials", np.ones(12)), "trials must be 12 integers.*float64"),
        (set_array("successes", Y + 1), "more successes than trials"),
        (set_in("entropy", value="abc"), "entropy must be 32 hexadecimal digits"),
        (set_in("data", "is_counts", value=None), "is_counts"),
        (set_in("data", "classes", value=None), "classes"),
        (set_in("settings", "model", value={"type": "Evil", "settings": {}}), "'Evil' is none of"),
        (set_in("settings", "model", value={"distribution": "poisson"}), "not in scipy.stats"),
        (set_in("settings", "statistic", value=[]), "no setting"),
    ],
)
def test_the_message_says_what_is_wrong(content, edit, message, tmp_path):
    with pytest.raises(FileFormatError, match=rf"cannot be loaded: it is damaged \(.*{message}"):
        load_bytes(edited(content, edit), tmp_path / "x.npz")


class Trap:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickles_are_not_opened(content, tmp_path):
    file = io.BytesIO()
    trap = np.array([Trap(tmp_path / "sprung")], dtype=object)
    np.lib.format.write_array(file, trap, allow_pickle=True)
    members = members_of(content) | {"inputs.npy": file.getvalue()}
    del members["sha256"]
    members["sha256"] = files._digest(members)
    with pytest.raises(FileFormatError, match=r"damaged \(ValueError: Object arrays cannot"):
        load_bytes(zipped(members), tmp_path / "x.npz")
    assert not (tmp_path / "sprung").exists()
