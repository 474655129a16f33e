"""From a table to the matrix a learner takes: which columns, and what is done to them.

`plan_features` decides once, when a model is fitted; `feature_matrix` then makes the
same matrix of every later table. Filling, scaling and encoding are steps of the
scikit-learn pipeline, fitted on the training rows and saved with the model.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from widemargin.app.columns import DROPPED, Kind, Study, study
from widemargin.app.errors import AppError, clip, did_you_mean, numbered, quoted
from widemargin.app.spelling import WEAK_MISSING, point_number
from widemargin.app.tables import Column, Table, spelled

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from sklearn.pipeline import Pipeline

MISSING_LEVEL = "(missing)"
# LIBSVM rows that are mostly filled are a table in another spelling.
DENSE_SHARE = 0.5
DENSE_COLUMNS = 2000
# Above so many indicator columns the encoder keeps them sparse.
SPARSE_LEVELS = 200


@dataclass
class Plan:
    """What becomes of each column."""

    sparse: bool
    numbers: list[str] = field(default_factory=list)
    categories: list[str] = field(default_factory=list)
    dropped: dict[str, str] = field(default_factory=dict)  # name -> why
    missing: dict[str, int] = field(default_factory=dict)  # name -> rows
    notes: list[str] = field(default_factory=list)
    n_features: int = 0  # of sparse rows

    @property
    def names(self) -> list[str]:
        return [*self.numbers, *self.categories]


def as_columns(table: Table, n_features: int | None = None) -> Table:
    """A LIBSVM file as a table of number columns "1", "2", ..."""
    assert table.features is not None
    matrix = table.features.toarray()
    width = matrix.shape[1] if n_features is None else n_features
    columns = [
        Column(
            str(j + 1), matrix[:, j] if j < matrix.shape[1] else np.zeros(len(matrix))
        )
        for j in range(width)
    ]
    return Table(
        table.source, table.n_rows, columns, table.lines, table.how, labels=table.labels
    )


def is_dense(table: Table) -> bool:
    """Whether LIBSVM rows are better kept as a table."""
    if table.features is None:
        return True
    rows, width = table.features.shape
    cells = rows * width
    return width <= DENSE_COLUMNS and table.features.nnz >= DENSE_SHARE * cells


def plan_features(table: Table, target: str, drop: list[str]) -> Plan:
    """Decide what is learned from, and refuse what needs a decision of the user."""
    if table.features is not None:
        if drop:
            raise AppError("--drop works on tables with columns, not on LIBSVM files")
        n_features = table.features.shape[1]
        if not n_features:
            raise AppError(f"{table.source} has labels but no features")
        return Plan(sparse=True, n_features=n_features)
    for name in drop:
        if name not in table.names:
            hint = did_you_mean(name, table.names)
            raise AppError(f"--drop {name}: there is no such column; {hint}")
        if name == target:
            raise AppError(f"--drop {name}: this is the target")
    plan = Plan(sparse=False)
    for column in table.columns:
        if column.name == target:
            continue
        if column.name in drop:
            plan.dropped[column.name] = "as you asked"
            continue
        _place(plan, table, column, study(column))
    if not plan.names:
        why = f"; left out: {_reasons(plan)}" if plan.dropped else ""
        raise AppError(f"{table.source} has no column to learn from{why}")
    return plan


def _reasons(plan: Plan) -> str:
    items = [f"'{clip(name, 30)}' ({why})" for name, why in plan.dropped.items()]
    return ", ".join(items[:4]) + (", ..." if len(items) > 4 else "")


def _place(plan: Plan, table: Table, column: Column, found: Study) -> None:
    name = column.name
    if found.kind in (Kind.FAULTY, Kind.DATE):
        raise AppError(f"{table.source}: {problem_of(table, column, found)}")
    if found.kind in DROPPED:
        plan.dropped[name] = found.why
        return
    (plan.numbers if found.kind is Kind.NUMBER else plan.categories).append(name)
    if found.n_missing:
        plan.missing[name] = found.n_missing
    if column.note:
        plan.notes.append(f"'{clip(name, 30)}': {column.note}")


def problem_of(table: Table, column: Column, found: Study) -> str:
    """One sentence on a column that cannot be used as it is."""
    name = clip(found.name, 40)
    if found.kind is Kind.DATE:
        return (
            f"column '{name}' holds {found.why}; turn them into numbers (days since a "
            f"start, the month) or leave the column out with --drop"
        )
    places = [table.where(row) for row in found.bad_rows[:1]]
    if table.lines is not None and len(found.bad_rows) > 1:
        lines = numbered([int(table.lines[row]) for row in found.bad_rows])
        places = [f"lines {lines}"]
    elif len(found.bad_rows) > 1:
        places = [f"rows {numbered([row + 1 for row in found.bad_rows])}"]
    return (
        f"column '{name}' has {found.why} ({places[0]}); correct the cells, write NA "
        "where a value is not known, or leave the column out with --drop"
    )


def make_pipeline(plan: Plan, table: Table, learner: Any) -> "Pipeline":
    """The steps that are saved with the model: fill, scale, encode, learn."""
    from sklearn.compose import ColumnTransformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler

    if plan.sparse:
        # Division by the largest value keeps zeros zero; means would fill the rows.
        return Pipeline([("scale", MaxAbsScaler()), ("learner", learner)])
    n, m = len(plan.numbers), len(plan.categories)
    parts: list[tuple[str, Any, list[int]]] = []
    if n:
        fill = SimpleImputer(strategy="median", keep_empty_features=True)
        steps = [("fill", fill), ("scale", StandardScaler())]
        parts.append(("numbers", Pipeline(steps), list(range(n))))
    if m:
        levels = sum(
            len({cell for cell in table.column(name).values if cell is not None})
            for name in plan.categories
        )
        fill = SimpleImputer(
            missing_values=None, strategy="constant", fill_value=MISSING_LEVEL
        )
        encode = OneHotEncoder(
            handle_unknown="ignore", sparse_output=levels > SPARSE_LEVELS
        )
        steps = [("fill", fill), ("encode", encode)]
        parts.append(("categories", Pipeline(steps), list(range(n, n + m))))
    return Pipeline([("prepare", ColumnTransformer(parts)), ("learner", learner)])


def feature_matrix(plan: Plan, table: Table) -> "npt.NDArray[Any] | csr_array":
    """The columns of the plan side by side: float64, or objects with categories."""
    if plan.sparse:
        return _sparse_matrix(plan, table)
    numbers = [_numbers(table, table.column(name)) for name in plan.numbers]
    if not plan.categories:
        return np.column_stack(numbers)
    matrix = np.empty((table.n_rows, len(plan.names)), dtype=object)
    for j, values in enumerate(numbers):
        matrix[:, j] = values
    for j, name in enumerate(plan.categories, start=len(numbers)):
        matrix[:, j] = _categories(table.column(name))
    return matrix


def _sparse_matrix(plan: Plan, table: Table) -> "csr_array":
    from scipy.sparse import csr_array

    rows = table.features
    if rows is None:
        raise AppError(
            f"the model learned from a LIBSVM file, but {table.source} is a table with "
            "columns; give it a LIBSVM file"
        )
    check_width(table, plan.n_features)
    shape = (rows.shape[0], plan.n_features)
    return csr_array((rows.data, rows.indices, rows.indptr), shape=shape)


def check_width(table: Table, n_features: int) -> None:
    """Refuse LIBSVM rows with features that a model does not know."""
    rows = table.features
    assert rows is not None
    if rows.shape[1] <= n_features:
        return
    beyond = int(np.flatnonzero(rows.indices >= n_features)[0])
    row = int(np.searchsorted(rows.indptr, beyond, side="right")) - 1
    raise AppError(
        f"{table.source}, {table.where(row)}: index {rows.indices[beyond] + 1}, but "
        f"the model knows indices 1 to {n_features}; leave higher ones out, or fit "
        "again on rows that have them"
    )


def _numbers(table: Table, column: Column) -> npt.NDArray[np.float64]:
    if column.is_number:
        values = column.values.astype(np.float64, copy=False)
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            raise AppError(
                f"{table.source}, {table.where(infinite[0])}: column '{column.name}' "
                "is infinite; write a number, or NA where it is not known"
            )
        return values
    values = np.full(table.n_rows, np.nan)
    for row, cell in enumerate(column.values):
        if cell is None or cell.lower() in WEAK_MISSING:
            continue
        number = point_number(cell)
        if number is None:
            raise AppError(
                f"{table.source}, {table.where(row)}: column '{column.name}' should be "
                f"a number as in the training data, but is '{clip(cell, 40)}'"
            )
        values[row] = number
    return values


def _categories(column: Column) -> npt.NDArray[np.object_]:
    if not column.is_number:
        return column.values.astype(object, copy=False)
    if column.text is not None:
        return column.text
    cells = np.empty(len(column.values), dtype=object)
    cells[:] = [None if v != v else spelled(v) for v in column.values.tolist()]
    return cells


def _bare(table: Table) -> bool:
    return table.names[:1] == ["column 1"]


def match_columns(plan: Plan, table: Table, target: str) -> list[str]:
    """Check that a new table has the plan's columns; words on what is ignored."""
    missing = [name for name in plan.names if name not in set(table.names)]
    if missing:
        spare = [n for n in table.names if n not in plan.names and n != target]
        if len(missing) == 1:
            hint = f"; {did_you_mean(missing[0], spare)}" if spare else ""
            raise AppError(f"{table.source} lacks the column '{missing[0]}'{hint}")
        raise AppError(
            f"{table.source} lacks {len(missing)} of the {len(plan.names)} columns the "
            f"model needs: {quoted(missing)}"
            + ("; it has no header line" if _bare(table) else "")
        )
    known = {*plan.names, *plan.dropped, target}
    extra = [name for name in table.names if name not in known]
    return [f"ignored, not known to the model: {quoted(extra)}"] if extra else []
