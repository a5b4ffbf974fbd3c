"""Files become frames, or an error that names the place and the cure."""

import gzip

import numpy as np
import pandas as pd
import pytest

from exactregion.data.table import did_you_mean, read_table, shown_names
from exactregion.errors import ExactRegionError, FileAccessError, FileFormatError, InvalidValueError


@pytest.fixture
def read(tmp_path):
    def read(content, name="data.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, **options)

    return read


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("a,b,c\n1,x,0.5\n2,y,-1e3\n", {}),
        ("\ufeffa,b,c\n1,x,0.5\n2,y,-1e3\n", {}),
        ('"a","b","c"\n"1","x","0.5"\n"2","y","-1e3"\n', {}),
        ("a, b, c\r\n1, x , 0.5\r\n\r\n2, y,-1e3\r\n  \r\n", {}),
        ("a\tb\tc\n1\tx\t0.5\n2\ty\t-1e3\n", {"name": "data.tsv"}),
        ("a;b;c\n1;x;0,5\n2;y;-1e3\n", {"delimiter": ";", "decimal": ","}),
        (gzip.compress(b"a,b,c\n1,x,0.5\n2,y,-1e3\n"), {}),
    ],
    ids=["plain", "bom", "quoted", "spaces and blank lines", "tsv", "decimal comma", "gzip"],
)
def test_the_same_table_in_many_spellings(read, content, options):
    frame = read(content, **options).take(["a", "b", "c"])
    expected = pd.DataFrame({"a": [1, 2], "b": ["x", "y"], "c": [0.5, -1000.0]}, index=[1, 2])
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False)
    assert [frame[name].dtype.kind for name in ("a", "c")] == ["i", "f"]


def test_numbers_are_those_of_python(read):
    written = ["0.1", "1e-320", "123456789012345678", "0.30000000000000004", "9007199254740993"]
    frame = read("x\n" + "\n".join(written)).take(["x"])
    assert frame["x"].tolist() == [float(text) for text in written]


def test_booleans_and_words(read):
    table = read("a,b\nTRUE,None\nfalse,some\n")
    assert table.take(["a"])["a"].tolist() == [True, False]
    assert table.take(["a"])["a"].dtype == np.bool_
    assert table.take(["b"])["b"].tolist() == ["None", "some"]  # among words None is a word


def test_rows_keep_their_numbers_and_lines(read):
    table = read('a,b\n"two\nlines",1\n\nx,2\n,3\n')
    assert table.take(["a", "b"], drop_missing=True).index.tolist() == [1, 2]
    assert table.where(2) == "row 2 (line 5)"


def test_dropping_rows_looks_at_the_columns_taken_only(read):
    table = read("a,b\n1,\n,2\n3,4\n")
    assert table.take(["a"], drop_missing=True)["a"].tolist() == [1, 3]
    assert table.take(["a", "b"], drop_missing=True)["b"].tolist() == [4]


WRONG_FILES = {
    "empty": (b"", "is empty"),
    "blank": (b"\n  \n", "is empty"),
    "header only": (b"a,b\n", "column names, but no rows"),
    "semicolons": (b"a;b\n1;2\n", "separated by ';': add --delimiter ';'"),
    "tabs": (b"a\tb\n1\t2\n", "separated by tab: add --delimiter tab"),
    "utf-16": ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
    "latin-1": ("a,b\n1,caf\xe9\n".encode("latin-1"), "not in UTF-8: line 2 has the byte 0xe9"),
    "zero bytes": (b"a,b\n1,\x002\n", "neither text nor Parquet"),
    "spreadsheet": (b"PK\x03\x04rest", "looks like a spreadsheet"),
    "cut gzip": (gzip.compress(b"a,b\n1,2\n")[:-9], "cannot be unpacked"),
    "semicolons and a comma": (
        b'a,b;c;d\n1;"2,3",4,5;6\n',
        "in row 1 (line 2), where the header has 2. It looks separated by ';'",
    ),
    "open quote": (b'a,b\n1,2\n"3,4\n5,6\n', "after line 2: a quotation mark is not closed"),
    "short row after an empty cell": (b"a,b\n1,\n3\n", "has 1 cell in row 2 (line 3)"),
    "too few cells": (b"a,b\n1,2\n3\n", "has 1 cell in row 2 (line 3), where the header has 2"),
    "too many cells": (b"a,b\n1,2,3\n", "has 3 cells in row 1 (line 2)"),
}


@pytest.mark.parametrize(("content", "message"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_files_that_are_no_tables(read, content, message):
    with pytest.raises(FileFormatError) as caught:
        read(content)
    assert message in str(caught.value)


WRONG_COLUMNS = {
    "text": ("x\n1\n2\nabc\n", "Column 'x' must hold numbers, but row 3 (line 4) has 'abc'."),
    "decimal comma": ('x\n1\n"2,5"\n', "row 2 (line 3) has '2,5'. If the comma separates decimals"),
    "per cent": ("x\n1\n2\n25%\n", "has '25%'. Write per cents as shares"),
    "infinite": ("x\n1\n2\ninf\n", "row 3 (line 4) has 'inf'"),
    "empty cell": ("x,y\n1,1\n,1\n", "Column 'x' has an empty cell in row 2 (line 3). Fill it in"),
    "NA": ("x\n1\nNA\nNA\n", "'NA' (no value) in row 2 (line 3); 2 rows have missing values"),
    "absent": ("X\n1\n", "no column 'x'. Did you mean 'X'? It has 'X'."),
    "twice": ("x,x\n1,2\n", "has 2 columns named 'x'"),
}


@pytest.mark.parametrize(("content", "message"), WRONG_COLUMNS.values(), ids=WRONG_COLUMNS)
def test_columns_that_cannot_be_taken(read, content, message):
    with pytest.raises(InvalidValueError) as caught:
        read(content).take(["x"])
    assert message in str(caught.value)


def test_nothing_is_left_when_all_rows_have_missing_values(read):
    with pytest.raises(InvalidValueError, match="has no row without missing values"):
        read("a,b\n1,\n,2\n").take(["a", "b"], drop_missing=True)


def test_words_where_numbers_must_be(read):
    table = read("a,b\nx,true\ny,false\n")
    with pytest.raises(InvalidValueError, match=r"row 1 \(line 2\) has 'x'"):
        table.take(["a"], numbers=["a"])
    with pytest.raises(InvalidValueError, match="Got true and false instead"):
        table.take(["b"], numbers=["b"])


def test_decimals_of_the_other_kind_are_named(read):
    with pytest.raises(InvalidValueError, match=r"has '1\.5'. Decimals are separated by ','"):
        read("x\n1.5\n2.5\n", decimal=",").take(["x"])


def test_missing_files_folders_and_similar_names(tmp_path):
    (tmp_path / "oring.csv").write_text("a\n1\n")
    with pytest.raises(FileAccessError, match=r"There is no file .*Did you mean '.*oring\.csv'"):
        read_table(tmp_path / "orng.csv")
    with pytest.raises(FileAccessError, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(FileAccessError, match=r"There is no folder '.*nowhere' either"):
        read_table(tmp_path / "nowhere" / "a.csv")


def test_a_file_without_permission_is_named(tmp_path, monkeypatch):
    path = tmp_path / "secret.csv"
    path.write_text("a\n1\n")

    def refuse(self, *args, **kwargs):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.open", refuse)  # root may read everything
    with pytest.raises(FileAccessError, match=r"secret\.csv' cannot be read: permission denied"):
        read_table(path)


def test_parquet(tmp_path):
    frame = pd.DataFrame(
        {"n": [1, 2], "p": [0.5, None], "s": pd.Categorical(["u", "v"]), "b": [True, False]}
    )
    frame["nested"] = [[1], [2]]
    frame["day"] = pd.to_datetime(["2020-01-01", "2020-01-02"])
    for name in ("data.parquet", "data.csv"):  # what is in the file decides
        frame.to_parquet(tmp_path / name)
        table = read_table(tmp_path / name)
        taken = table.take(["n", "s", "b"])
        assert taken.to_dict("list") == {"n": [1, 2], "s": ["u", "v"], "b": [True, False]}
        with pytest.raises(InvalidValueError, match=r"'p' has an empty cell in row 2\. Fill"):
            table.take(["p"])
        with pytest.raises(InvalidValueError, match=r"'nested' must hold numbers\. Got list<"):
            table.take(["nested"])
        with pytest.raises(InvalidValueError, match=r"'day' must hold numbers\. Got timestamp"):
            table.take(["day"])
        with pytest.raises(InvalidValueError, match="row 1 has 'u'"):
            table.take(["s"], numbers=["s"])


def test_parquet_in_name_only(read, tmp_path):
    with pytest.raises(FileFormatError, match="is not a Parquet file, or it is damaged"):
        read(b"a,b\n1,2\n", name="data.parquet")
    with pytest.raises(FileFormatError, match="is not a Parquet file, or it is damaged"):
        read(b"PAR1 and nothing else", name="data.csv")
    pd.DataFrame({"a": []}).to_parquet(tmp_path / "none.parquet")
    with pytest.raises(FileFormatError, match="has columns, but no rows"):
        read_table(tmp_path / "none.parquet")


def test_every_error_is_one_of_ours(read):
    for content in (b"", b"a;b\n", b"\xff\xfe"):
        with pytest.raises(ExactRegionError):
            read(content)


def test_names_in_messages():
    assert did_you_mean("tmp", ["temp", "pressure"]) == " Did you mean 'temp'?"
    assert did_you_mean("zzz", ["temp"]) == ""
    many = [f"c{number}" for number in range(20)]
    assert shown_names(many).endswith("'c11' and 8 more")
