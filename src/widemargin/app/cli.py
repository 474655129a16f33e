"""The program ``widemargin``: parses, calls, prints.

Importing this file must stay cheap (`widemargin --help` answers in under 0.3 s), so
everything that imports NumPy or scikit-learn is imported inside the commands.
"""

import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from widemargin import __version__
from widemargin.app import console
from widemargin.app.errors import AppError, UsageError

app = typer.Typer(
    name="widemargin",
    help="Learn to classify from a table, with a certificate for every fit.",
    no_args_is_help=True,
    add_completion=False,
    # Plain help: Rich's panels triple the time and break words in narrow terminals.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

TableArgument = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, TSV, Parquet, JSON or LIBSVM file, plain, gzip or bzip2; "
        "- for standard input.",
        show_default=False,
    ),
]
ModelArgument = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="Folder NAME.wm that fit wrote.", show_default=False
    ),
]
TargetOption = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="COLUMN",
        help="Column to be learned; LIBSVM files need none.",
        show_default=False,
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON, for machines.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress on standard error.")
]


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"widemargin {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Show the version."
        ),
    ] = False,
) -> None:
    pass


@app.command(short_help="Learn from a table, measure and save the model.")
@console.command
def fit(
    table: TableArgument,
    target: TargetOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="DIR",
            help="Folder for the model; TABLE's name with .wm if not given.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace a model that is there.")
    ] = False,
    holdout: Annotated[
        float,
        typer.Option(
            metavar="FRACTION",
            help="Share of rows kept back to measure the accuracy, 0 to 0.5.",
        ),
    ] = 0.25,
    seed: Annotated[
        int, typer.Option(help="Seed of the hold-out and of the sample.", min=0)
    ] = 0,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Setting of the learner, such as C=10 or kernel=linear; repeatable.",
            show_default=False,
        ),
    ] = None,
    learner: Annotated[str, typer.Option(help="What learns: svc.")] = "svc",
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Learn from N rows drawn at random, classes in proportion.",
            min=2,
            show_default=False,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Leave a column out; repeatable.", show_default=False
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Pairs of classes fitted side by side; -1 for all cores.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Learn from a table: hold-out accuracy, certificate, saved model."""
    from widemargin.app.learners import find_learner, parse_settings
    from widemargin.app.models import check_output, default_output

    say = console.teller(quiet)
    if not 0 <= holdout <= 0.5:
        raise UsageError(
            f"--holdout must be between 0 and 0.5, got {holdout:g}; "
            "the share is of all rows, 0 holds out none"
        )
    if jobs == 0:
        raise UsageError("--jobs must be 1 or more, or -1 for all cores, got 0")
    chosen = find_learner(learner)
    given = parse_settings(chosen, settings or [])
    folder = output or default_output(table)
    check_output(folder, force=force)

    from widemargin.app import summary
    from widemargin.app.models import save
    from widemargin.app.tables import read_table
    from widemargin.app.training import Request, fit_table

    start = time.perf_counter()
    with console.library_messages(say):
        data = read_table(table, target=target)
        reading = time.perf_counter() - start
        request = Request(
            chosen, given, target, drop or [], holdout, sample, seed, jobs
        )
        model = fit_table(data, request, say)
    model.facts["read_seconds"] = reading
    model.facts["seconds"] = time.perf_counter() - start
    written = save(model, folder)
    if as_json:
        console.out_json({**summary.as_json(model), "model": str(folder)})
        return
    console.pairs(
        [
            *summary.data_pairs(model),
            *summary.holdout_pairs(model),
            *summary.model_pairs(model),
            ("time", summary.times(model)),
            ("written", str(written)),
            ("next", f"widemargin predict {folder} NEW_TABLE"),
        ],
        title=summary.headline(model),
    )


@app.command(short_help="Labels and scores for new rows, as CSV.")
@console.command
def predict(
    model: ModelArgument,
    table: TableArgument,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File for the predictions, in place of standard output.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Labels and scores of new rows, as CSV in the order of the table.

    Where the table has the target column, the accuracy goes to standard error.
    """
    import json

    from widemargin.app import predicting
    from widemargin.app.models import load
    from widemargin.app.tables import read_table

    say = console.teller(quiet)
    if output is not None:
        predicting.check_file(output, [table])
    with console.library_messages(say):
        fitted = load(model)
        data = read_table(
            table,
            text=fitted.plan.categories,
            target=fitted.target,
            expected=fitted.plan.numbers,
        )
        result = predicting.predict_table(fitted, data)
    for text in result.notes:
        console.note(f"note: {text}")
    if result.truth is not None:
        console.note(predicting.truth_in_words(result.truth))
    if as_json:
        text = json.dumps(predicting.as_json(result), ensure_ascii=False) + "\n"
    else:
        text = predicting.as_csv(result)
    if output is None:
        console.out_text(text)
    else:
        predicting.write_file(output, text)
        say(f"{len(result.labels):,} predictions written to {output}")


@app.command(short_help="What is wrong with a file, with line numbers.")
@console.command
def check(
    table: TableArgument, target: TargetOption = None, as_json: JsonOption = False
) -> None:
    """What is wrong with a file, with line numbers; exit code 1 if it is unusable."""
    from widemargin.app import words
    from widemargin.app.checking import check_file

    found = check_file(table, target)
    if as_json:
        console.out_json(found.as_json())
    else:
        read = f" ({', '.join(found.read_as)})" if found.read_as else ""
        columns = words.plural(found.columns, "column")
        size = f"{words.plural(found.rows, 'row')}, {columns}"
        lines = [("problem", text) for text in found.problems]
        lines += [("remark", text) for text in found.remarks]
        console.pairs(lines, title=f"{found.source}{read}: {size}")
    if found.problems:
        count = words.plural(len(found.problems), "problem")
        raise AppError(f"{found.source} cannot be used as it is: {count}")
    if not as_json:
        console.out("usable")


@app.command(short_help="What is in a model.")
@console.command
def show(model: ModelArgument, as_json: JsonOption = False) -> None:
    """What is in a model: settings, certificate, data it was trained on."""
    from widemargin.app import summary
    from widemargin.app.models import load

    fitted = load(model)
    if as_json:
        console.out_json(summary.as_json(fitted))
        return
    console.pairs(
        [
            *summary.data_pairs(fitted),
            *summary.column_pairs(fitted),
            *summary.holdout_pairs(fitted),
            *summary.model_pairs(fitted),
            *summary.origin_pairs(fitted),
        ],
        title=f"{model}: a model of {summary.headline(fitted)}",
    )


@app.command(short_help="See it work on data that you have already.")
@console.command
def demo() -> None:
    """Breast cancer, fitted and certified, beside scikit-learn's grid search."""
    from widemargin.app.demo import run

    with console.library_messages(console.note):
        run()


def main() -> None:
    """Entry point of the console script."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a letter gets its code, not a crash.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except KeyboardInterrupt:  # before a command had begun
        sys.exit(console.INTERRUPTED)
