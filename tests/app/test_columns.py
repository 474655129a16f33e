"""What columns are found to be, and what becomes of them."""

import numpy as np
import pytest

from widemargin.app.columns import Kind, study
from widemargin.app.errors import AppError
from widemargin.app.labels import find_labels
from widemargin.app.preparing import feature_matrix, make_pipeline, plan_features
from widemargin.app.tables import Column, Table, column_from_cells, objects

RNG = np.random.default_rng(0)


def numbers(name: str, values: object) -> Column:
    return Column(name, np.array(values, dtype=np.float64))


def texts(name: str, values: list[str | None]) -> Column:
    return Column(name, objects(values))


COLUMNS: list[tuple[Kind, Column]] = [
    (Kind.NUMBER, numbers("x", RNG.normal(size=40))),
    (Kind.NUMBER, numbers("dose", range(1, 9))),
    (Kind.NUMBER, numbers("zip", RNG.permutation(90_000)[:40])),
    (Kind.NUMBER, numbers("year", [1999, 2000, 2001, 2001])),
    (Kind.IDENTIFIER, numbers("nr", range(1, 41))),
    (Kind.IDENTIFIER, numbers("x", range(40))),
    (Kind.IDENTIFIER, numbers("customer_id", RNG.permutation(900)[:9])),
    (Kind.IDENTIFIER, numbers("orderID", [7, 12, 3])),
    (Kind.IDENTIFIER, texts("name", [f"person {i}" for i in range(9)])),
    (Kind.CONSTANT, numbers("x", [3, 3, np.nan, 3])),
    (Kind.CONSTANT, texts("x", ["a", "a", None])),
    (Kind.EMPTY, numbers("x", [np.nan] * 3)),
    (Kind.EMPTY, texts("x", [None] * 3)),
    (Kind.FAULTY, numbers("x", [1, np.inf, 2, 3])),
    (Kind.FAULTY, numbers("x", [1, 1e160, 2, 3])),
    (Kind.FAULTY, texts("x", [*(str(i * i) for i in range(30)), "12O"])),
    (Kind.FAULTY, texts("x", [*(f"{i},5" for i in range(30)), "low"])),
    (Kind.CATEGORY, texts("x", ["1", "2", "3", "many", "1"] * 9)),
    (Kind.CATEGORY, texts("x", ["red", "blue", None] * 9)),
    (Kind.CATEGORY, texts("x", [f"c{i % 49}" for i in range(98)])),
    (Kind.TEXT, texts("x", [f"some words {i % 60}" for i in range(120)])),
    (Kind.CATEGORY, texts("x", [f"c{i % 60}" for i in range(600)])),
    (Kind.DATE, texts("x", ["2024-01-31", "2024-02-01", "2024-02-02"])),
    (Kind.DATE, texts("x", ["31.01.2024", "1.2.2024", None])),
    (Kind.DATE, texts("x", ["1/31/24", "2/1/24"])),
    (Kind.DATE, texts("x", ["31-Jul-18", "1-Aug-18"])),
    (Kind.DATE, texts("x", ["Jul 31, 2018", "August 1, 2018"])),
    (Kind.DATE, texts("x", ["2024-01-31T12:30:00Z", "2024-01-31 12:30:15.5"])),
    (Kind.DATE, texts("x", ["12:30", "7:15 pm"])),
    (Kind.DATE, numbers("date", [20240131, 20240201, 20240202])),
    (Kind.NUMBER, numbers("price", [20240131, 20240201, 20240203])),
]


@pytest.mark.parametrize(("kind", "column"), COLUMNS)
def test_kind(kind: Kind, column: Column) -> None:
    assert study(column).kind is kind


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            texts("age", [*map(str, range(20, 50)), "old"]),
            "t.csv: column 'age' has numbers, but for 'old' (line 32); correct the "
            "cells, write NA where a value is not known, or leave the column out with "
            "--drop",
        ),
        (
            numbers("age", [*range(20, 49), np.inf, np.inf]),
            "t.csv: column 'age' has infinite values (lines 31, 32); correct the "
            "cells, write NA where a value is not known, or leave the column out with "
            "--drop",
        ),
        (
            texts("day", [f"2024-01-{i + 1:02d}" for i in range(31)]),
            "t.csv: column 'day' holds dates or times such as '2024-01-01'; turn them "
            "into numbers (days since a start, the month) or leave the column out with "
            "--drop",
        ),
    ],
)
def test_refused_columns(column: Column, message: str) -> None:
    table = Table("t.csv", 31, [column], lines=np.arange(2, 33))
    with pytest.raises(AppError) as caught:
        plan_features(table, "class", [])
    assert str(caught.value) == message


def test_plan_and_matrix() -> None:
    table = Table(
        "t.csv",
        4,
        [
            texts("class", ["a", "b", "a", "b"]),
            numbers("x", [1, np.nan, 3, 4]),
            texts("colour", ["red", None, "blue", "red"]),
            texts("name", ["p", "q", "r", "s"]),
            numbers("same", [7] * 4),
            numbers("mine", [1, 2, 2, 1]),
        ],
    )
    plan = plan_features(table, "class", ["mine"])
    assert (plan.numbers, plan.categories) == (["x"], ["colour"])
    assert plan.dropped == {
        "name": "all its 4 values differ",
        "same": "it is 7 in every row",
        "mine": "as you asked",
    }
    assert plan.missing == {"x": 1, "colour": 1}
    pipeline = make_pipeline(plan, table, "passthrough")
    made = pipeline.fit_transform(feature_matrix(plan, table))
    # x: the median 3 fills; then (missing), blue, red as indicators.
    expected = (np.array([1, 3, 3, 4]) - 2.75) / np.std([1, 3, 3, 4])
    np.testing.assert_allclose(made[:, 0].astype(float), expected, rtol=1e-12)
    indicators = [[0, 0, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    assert made[:, 1:].astype(int).tolist() == indicators


def test_nothing_left_to_learn_from() -> None:
    table = Table("t.csv", 3, [numbers("a", [1, 1, 1]), texts("y", ["p", "q", "p"])])
    with pytest.raises(
        AppError, match=r"no column to learn from; left out: 'a' \(it is"
    ):
        plan_features(table, "y", [])


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (
            numbers("y", RNG.normal(size=100)),
            "looks continuous (100 different numbers from",
        ),
        (
            numbers("y", range(50)),
            "looks continuous (50 different numbers from 0 to 49)",
        ),
        (texts("y", ["a"] * 3), "is 'a' in every row; two classes are needed"),
        (numbers("y", [np.nan] * 3), "has no value in any row"),
        (texts("y", ["a", "a", "b"]), "the class 'b' has only one row (row 3)"),
        (texts("y", ["a", "b", "c", "c"]), "2 classes have only one row: 'a' and 'b'"),
        (texts("y", [f"p{i}" for i in range(40)]), "40 different values in 40 rows"),
        (texts("y", ["2024-01-01", "2024-01-02"] * 2), "holds dates such as"),
        (numbers("y", [1, np.inf, 1, 2]), "the target 'y' is infinite (row 2)"),
    ],
)
def test_refused_targets(column: Column, message: str) -> None:
    table = Table("t.csv", len(column.values), [column])
    with pytest.raises(AppError) as caught:
        find_labels(table, column)
    assert message in str(caught.value)


def test_labels_are_sorted_as_numbers_and_spelled_as_written() -> None:
    column = numbers("y", [10, 9, -1, 10, 9, -1, np.nan])
    column.text = objects(["10", "9.0", "-1", "+10", "9.0", "-1", None])
    labels = find_labels(Table("t.csv", 7, [column]), column)
    assert labels.classes == [-1, 9, 10]
    assert labels.spellings == ["-1", "9.0", "10"]
    assert labels.rows.tolist() == [0, 1, 2, 3, 4, 5]
    assert labels.spell(np.array([10, -1])) == ["10", "-1"]


def test_many_whole_numbers_with_many_rows_are_classes() -> None:
    column = numbers("letter", list(range(26)) * 10)
    assert len(find_labels(Table("t.csv", 260, [column]), column).classes) == 26


def test_cells_of_typed_files() -> None:
    assert column_from_cells("x", [1, None, 2.5]).is_number
    assert column_from_cells("x", [True, False, None]).values.tolist() == [
        "true",
        "false",
        None,
    ]
    assert column_from_cells("x", ["a", 1, 2.0]).values.tolist() == ["a", "1", "2"]
    with pytest.raises(AppError, match="column 'x' holds a nested value"):
        column_from_cells("x", [[1, 2]])
