"""The words of `fit` and `show`: a model's data, scores and certificate."""

from typing import Any

from widemargin.app import words
from widemargin.app.errors import clip, quoted
from widemargin.app.learners import LEARNERS
from widemargin.app.models import Model
from widemargin.app.preparing import MISSING_LEVEL

Pairs = list[tuple[str, str]]


def headline(model: Model) -> str:
    facts = model.facts
    read = f" ({', '.join(facts['read_as'])})" if facts["read_as"] else ""
    return f"{facts['source']}{read}: {words.plural(facts['rows'], 'row')}"


def data_pairs(model: Model) -> Pairs:
    """Rows, classes and columns."""
    facts, plan = model.facts, model.plan
    rows: Pairs = []
    if facts["sampled_from"]:
        rows.append(("sample", f"drawn from {facts['sampled_from']:,} rows"))
    rows.append(("target", f"'{clip(model.target)}': {classes(model)}"))
    rows.append(("features", features(model)))
    if plan.dropped:
        by_reason: dict[str, list[str]] = {}
        for name, why in plan.dropped.items():
            by_reason.setdefault(why, []).append(name)
        text = "; ".join(
            f"{quoted(names)}: {why}" for why, names in list(by_reason.items())[:6]
        )
        more = len(by_reason) - 6
        rows.append(("left out", text + (f"; and {more} more" if more > 0 else "")))
    if plan.missing:
        rows.append(("missing", missing(model)))
    rows += [("note", text) for text in facts["notes"]]
    return rows


def classes(model: Model) -> str:
    counts = model.facts["class_counts"]
    if len(counts) <= 6:
        named = zip(model.spellings, counts, strict=True)
        return ", ".join(f"{clip(name, 24)} {count:,}" for name, count in named)
    small, large = min(counts), max(counts)
    least = model.spellings[counts.index(small)]
    most = model.spellings[counts.index(large)]
    return (
        f"{len(counts)} classes, from {small:,} rows ('{clip(least, 24)}') to "
        f"{large:,} ('{clip(most, 24)}')"
    )


def features(model: Model) -> str:
    plan = model.plan
    if plan.sparse:
        return (
            f"{plan.n_features:,} sparse numbers, each divided by its largest value "
            "so that zeros stay zeros"
        )
    parts = []
    if plan.numbers:
        count = words.plural(len(plan.numbers), "number")
        parts.append(f"{count}, scaled to mean 0 and variance 1")
    if plan.categories:
        indicators = model.facts["features"] - len(plan.numbers)
        count = words.plural(len(plan.categories), "category", "categories")
        parts.append(f"{count}, as {words.plural(indicators, 'indicator')}")
    return "; ".join(parts)


def missing(model: Model) -> str:
    plan = model.plan
    items = sorted(plan.missing.items(), key=lambda item: -item[1])
    shown = [f"'{clip(name, 30)}' in {words.plural(n, 'row')}" for name, n in items[:5]]
    text = ", ".join(shown)
    if len(items) > 5:
        text += f" and {len(items) - 5} more columns"
    ways = []
    if any(name in plan.numbers for name in plan.missing):
        ways.append("numbers are filled with the column's median")
    if any(name in plan.categories for name in plan.missing):
        ways.append(f"categories get a level '{MISSING_LEVEL}'")
    return f"{text}; {', '.join(ways)}"


def holdout_pairs(model: Model) -> Pairs:
    held = model.facts["holdout"]
    if held is None:
        return [("hold-out", "none, so nothing is known about new rows")]
    no_better = ""
    if held["baseline"] >= held["accuracy_low"]:
        no_better = ", not clearly worse"
    return [
        (
            "hold-out",
            f"{words.percent(held['accuracy'])} right on "
            f"{words.plural(held['rows'], 'row')} kept back; 95% interval "
            f"{interval(held)}",
        ),
        (
            "",
            f"{words.percent(held['baseline'])} by always saying "
            f"'{clip(held['baseline_class'], 30)}'{no_better}; balanced accuracy "
            f"{words.percent(held['balanced_accuracy'])}",
        ),
    ]


def interval(scores: dict[str, Any]) -> str:
    low = words.percent(scores["accuracy_low"]).removesuffix("%")
    return f"{low} to {words.percent(scores['accuracy_high'])}"


def model_pairs(model: Model) -> Pairs:
    facts = model.facts
    held, proof = facts["holdout"], facts["certificate"]
    text = f"{LEARNERS[facts['learner']].title}, {settings(model)}"
    rows: Pairs = [("model", text)]
    if held is not None:
        rows.append(
            (
                "",
                f"fitted again on all {words.plural(facts['rows'], 'row')}; the "
                f"hold-out scores are those of the same settings fitted on "
                f"{held['train_rows']:,}",
            )
        )
    first, second = words.certificate(proof)
    rows += [("certificate", first), ("", second)]
    vectors, total = proof["support_vectors"], facts["rows"]
    share = words.percent(vectors / total)
    rows.append(
        ("support", f"{vectors:,} of {total:,} rows are support vectors ({share})")
    )
    return rows


def times(model: Model) -> str:
    facts = model.facts
    parts = [f"reading {words.seconds(facts['read_seconds'])}"]
    if facts["start_seconds"] > 1:
        parts.append(f"compiling {words.seconds(facts['start_seconds'])}")
    if facts["holdout"] is not None:
        parts.append(f"hold-out {words.seconds(facts['holdout_seconds'])}")
    parts.append(f"final fit {words.seconds(facts['fit_seconds'])}")
    return f"{words.seconds(facts['seconds'])}: {', '.join(parts)}"


def column_pairs(model: Model) -> Pairs:
    """The names of the columns a model needs."""
    plan = model.plan
    rows: Pairs = []
    if plan.numbers:
        rows.append(("numbers", quoted(plan.numbers, 20)))
    if plan.categories:
        rows.append(("categories", quoted(plan.categories, 20)))
    return rows


def origin_pairs(model: Model) -> Pairs:
    """How it came to be: solver, all settings, versions."""
    facts = model.facts
    proof = facts["certificate"]
    return [
        ("solver", f"{proof['solver']}, {words.plural(proof['n_iter'], 'step')}"),
        ("settings", _listed(facts["settings"])),
        ("seed", str(facts["seed"])),
        ("time", times(model)),
        ("versions", ", ".join(f"{n} {v}" for n, v in facts["versions"].items())),
    ]


def settings(model: Model) -> str:
    """The parameters that matter, those that were chosen first."""
    facts = model.facts
    values = {
        name: value
        for name, value in facts["settings"].items()
        if name in facts["chosen"] or name in ("C", "kernel", "gamma")
    }
    return _listed(values)


def _listed(values: dict[str, Any]) -> str:
    shown = {
        name: f"{value:g}" if isinstance(value, float) else str(value)
        for name, value in values.items()
    }
    return ", ".join(f"{name}={text}" for name, text in shown.items())


def as_json(model: Model) -> dict[str, Any]:
    """All of it, for machines."""
    return {
        "target": model.target,
        "classes": model.spellings,
        "columns": {
            "numbers": model.plan.numbers,
            "categories": model.plan.categories,
            "left_out": model.plan.dropped,
            "missing": model.plan.missing,
            "sparse_features": model.plan.n_features or None,
        },
        **model.facts,
    }
