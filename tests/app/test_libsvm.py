"""The LIBSVM reader: scikit-learn's result on good files, the line of bad ones."""

import bz2
import gzip
import io
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from widemargin.app import libsvm
from widemargin.app.errors import AppError
from widemargin.app.tables import Table, read_table


def read(tmp_path: Path, content: bytes | str, name: str = "rows.svm") -> Table:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read_table(str(path))


def assert_same(table: Table, X: sparse.csr_matrix, y: np.ndarray) -> None:
    assert table.features is not None and table.labels is not None
    assert table.features.shape == X.shape
    np.testing.assert_array_equal(table.features.indptr, X.indptr)
    np.testing.assert_array_equal(table.features.indices, X.indices)
    np.testing.assert_array_equal(table.features.data, X.data)  # bit for bit
    np.testing.assert_array_equal(table.labels.values, y)


@pytest.mark.parametrize("block", [64, 1000, 1 << 21])
@pytest.mark.parametrize("packing", ["", "gzip", "bz2"])
def test_same_as_scikit_learn(
    block: int,
    packing: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    global_random_seed: int,
) -> None:
    rng = np.random.default_rng(global_random_seed)
    X = sparse.random_array((70, 30), density=0.2, rng=rng, format="csr")
    X.data *= 10.0 ** rng.integers(-20, 20, len(X.data))
    y = rng.integers(-2, 3, 70)
    stream = io.BytesIO()
    dump_svmlight_file(X, y, stream, zero_based=False, comment="made up")
    content = stream.getvalue()
    monkeypatch.setattr(libsvm, "_BLOCK_BYTES", block)
    pack = {"": bytes, "gzip": gzip.compress, "bz2": bz2.compress}[packing]
    table = read(tmp_path, pack(content))
    expected, labels = load_svmlight_file(io.BytesIO(content), zero_based=False)
    assert_same(table, expected, labels)


GOOD = {
    "comments": "# head\n1 1:1 # tail\n  # indented\n\n-1 2:5\n1 1:2\n",
    "CRLF": "1 1:1\r\n-1 2:5\r\n1 1:2\r\n",
    "tabs and blanks": "1\t1:1 \n -1   2:5  \n1 1:2\t\n",
    "blank lines": "\n1 1:1\n\n\n-1 2:5\n1 1:2\n\n",
    "no newline at the end": "1 1:1\n-1 2:5\n1 1:2",
    "numbers": "1 1:+1E0\n-1 2:.5e1\n1 1:2.\n",
    "blank after the colon": "1 1: 1\n-1 2:\t5\n1 1:  2\n",
    "byte-order mark": "\ufeff1 1:1\n-1 2:5\n1 1:2\n",
    "zeros written out": "1 1:1\n-1 2:5\n1 1:2 # 3:4\n",
}


@pytest.mark.parametrize("kind", GOOD)
def test_spellings(kind: str, tmp_path: Path) -> None:
    table = read(tmp_path, GOOD[kind])
    assert table.features is not None and table.labels is not None
    assert table.features.toarray().tolist() == [[1, 0], [0, 5], [2, 0]]
    assert table.labels.values.tolist() == [1, -1, 1]


def test_rows_without_features(tmp_path: Path) -> None:
    table = read(tmp_path, "1 3:1\n-1\n1 \n-1 1:2\n")
    assert table.features is not None
    assert table.features.toarray().tolist() == [[0, 0, 1], [0] * 3, [0] * 3, [2, 0, 0]]


def test_labels_keep_their_spelling(tmp_path: Path) -> None:
    table = read(tmp_path, "+1 1:1\n-1.0 1:2\n")
    assert table.labels is not None and table.labels.text is not None
    assert table.labels.text.tolist() == ["+1", "-1.0"]


BAD = {
    "1 1:1\n-1 0:1\n": "line 2: index 0, but LIBSVM counts from 1; add 1 to every "
    "index",
    "1 1:1\n-1 3:1 2:1\n": "line 2: index 2 comes after 3; indices must rise within a "
    "row",
    "1 1:1\n-1 2:1 2:1\n": "line 2: index 2 is repeated; keep one value for each index",
    "1 1:1\n\n-1 2:nan\n": "line 3: index 2 has the value nan; leave the pair out or "
    "give a number",
    "1 1:1\n-1 2:-inf\n": "line 2: index 2 has the value -inf; leave the pair out or "
    "give a number",
    "1 1:1\n-1 2:1e999\n": "line 2: index 2: 1e999 is too large for a number",
    "1 1:1\n-1 2:1_0\n": "line 2: index 2: '1_0' is not a number",
    "1 1:1\n-1 2:x\n": "line 2: index 2: 'x' is not a number",
    "1 1:1\n-1 2:\n": "line 2: index 2 has no value after its colon",
    "1 1:1\n-1 2\n1 1:1\n1 1:1\n1 1:1\n": "line 2: '2' is not of the form index:value",
    "1 1:1\n-1 1.5:2\n1 1:1\n1 1:1\n1 1:1\n": "line 2: '1.5:2': the index must be a "
    "whole number from 1 on",
    "1 1:1\n-1 -2:1\n": "line 2: '-2:1': the index must be 1 or more",
    "1 1:1\n-1 9999999999:1\n": "line 2: '9999999999:1': the index must be at most "
    "2147483647",
    "1 1:1\nspam 1:1\n": "line 2: label: 'spam' is not a number",
    "1 1:1\nnan 1:1\n": "line 2: the label is nan; give a number",
    "1 1:1\n1:2 2:3\n": "line 2: starts with the pair '1:2'; a label must come first",
    "1 1:1\n1,2 1:1\n": "line 2: several labels '1,2'; only one label a row can be "
    "learned",
    "1 1:1\n1 qid:3 1:1\n": "line 2: 'qid:3': ranking groups (qid) are not supported",
}


@pytest.mark.parametrize("content", BAD)
def test_bad_lines_are_named(content: str, tmp_path: Path) -> None:
    with pytest.raises(AppError) as caught:
        read(tmp_path, content)
    assert str(caught.value) == f"rows.svm, {BAD[content]}"


def test_a_bad_line_far_down_is_named(tmp_path: Path) -> None:
    lines = ["1 1:1 5:2.5"] * 100_000
    lines[98_765] = "1 5:1 1:2"
    with pytest.raises(AppError, match=r"rows.svm, line 98766: index 1 comes after 5"):
        read(tmp_path, "\n".join(lines))


def test_the_name_does_not_matter(tmp_path: Path) -> None:
    table = read(tmp_path, "1 1:1\n-1 2:5\n", name="rows.csv")
    assert table.features is not None


def test_times_are_not_pairs(tmp_path: Path) -> None:
    table = read(
        tmp_path, "when,what\n2024-01-31 12:30,1\n2024-01-31 12:45,2\n", "t.csv"
    )
    assert table.names == ["when", "what"]


@pytest.mark.parametrize(
    "name",
    ["a9a.gz", "w8a.gz", "ijcnn1.val.gz", "heart_scale.gz", "sector.t.scale.bz2"],
)
def test_real_files(data_dir: Path, name: str) -> None:
    path = data_dir / "libsvm" / name
    unpack = bz2.decompress if name.endswith("bz2") else gzip.decompress
    X, y = load_svmlight_file(io.BytesIO(unpack(path.read_bytes())), zero_based=False)
    assert_same(read_table(str(path)), X, y)
