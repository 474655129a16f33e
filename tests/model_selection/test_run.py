"""Threads, seeds, interruption, time limits, checkpoints, progress."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from widemargin import SVC
from widemargin.model_selection import Log, MarginSearchCV
from widemargin.progress import listening

SEARCHES = ["cmaes", "zoom", "grid", "line", "bfgs"]


def course(model):
    """All that must be the same when a search is."""
    rows = [
        [np.asarray(v).tolist() for v in p.values()]
        for p in model.cv_results_["params"]
    ]
    return rows, model.cv_results_["mean_test_score"].tolist(), model.best_params_


@pytest.mark.parametrize("search", SEARCHES)
def test_workers_do_not_change_the_result(search, rings):
    X, y = rings()
    one, two, again = (
        MarginSearchCV(SVC(), search=search, budget=30, n_jobs=n).fit(X, y)
        for n in (1, 2, 2)
    )
    assert course(one) == course(two) == course(again)
    assert one.stop_reasons_ == two.stop_reasons_


def test_seeds(rings):
    X, y = rings()

    def fit(seed):
        return course(MarginSearchCV(SVC(), budget=20, random_state=seed).fit(X, y))

    assert fit(3) == fit(3) != fit(4)
    assert fit(None) == fit(0)
    assert fit(np.random.default_rng(5)) == fit(np.random.default_rng(5))
    assert fit(np.random.RandomState(5)) == fit(np.random.RandomState(5))


def test_nothing_is_left_behind(rings, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    before = np.random.get_state()  # noqa: NPY002
    for search in SEARCHES:
        MarginSearchCV(SVC(), search=search, budget=30, n_jobs=2).fit(*rings())
    after = np.random.get_state()  # noqa: NPY002
    assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_checkpoint_replays(search, n_jobs, rings, counting_svc, tmp_path):
    X, y = rings()
    path = tmp_path / "search.json"

    def fit(**changes):
        counting_svc.counter = 0
        model = MarginSearchCV(
            counting_svc(), search=search, budget=30, checkpoint=path, n_jobs=n_jobs
        )
        return model.set_params(**changes).fit(X, y), counting_svc.counter

    free, all_fits = fit(checkpoint=None)
    # ended after 7 fits, by Ctrl-C in the 8th
    counting_svc.interrupt_at = 8
    with pytest.warns(ConvergenceWarning, match=r"interrupted after \d+ of at most 30"):
        part, _ = fit()
    assert 7 <= len(part.cv_results_["params"]) < len(free.cv_results_["params"])
    assert part.stop_reasons_ == {"interrupted": len(part.cv_results_["params"])}
    assert hasattr(part, "best_estimator_")
    known = len(json.loads(path.read_text())["points"])
    assert known >= len(part.cv_results_["params"])
    counting_svc.interrupt_at = -1
    whole, fits = fit()
    assert fits == all_fits - known
    assert course(whole) == course(free)
    assert whole.n_fits_ == free.n_fits_
    again, fits = fit()
    assert fits == 1  # to all rows
    assert course(again) == course(free)
    assert [p.name for p in tmp_path.iterdir()] == ["search.json"]


def test_checkpoint_of_failures_and_scales(rings, tmp_path):
    class Picky(SVC):
        def fit(self, X, y, sample_weight=None):
            if self.C > 1:
                raise RuntimeError("no")
            return super().fit(X, y, sample_weight)

    X, y = rings()
    space = {"C": (0.1, 10), "gamma": Log(0.1, 1, per_feature=True)}
    model = MarginSearchCV(Picky(), space, budget=30, checkpoint=tmp_path / "a.json")
    first = course(model.fit(X, y))
    assert "failed" in model.cv_results_["status"]
    second = course(model.fit(X, y))
    assert_array_equal(first[1], second[1])
    assert first[0] == second[0]
    json.loads((tmp_path / "a.json").read_text(), parse_constant=pytest.fail)


def test_checkpoint_of_another_search(rings, tmp_path):
    X, y = rings()
    path = tmp_path / "search.json"
    pipe = make_pipeline(StandardScaler(), SVC())
    base = MarginSearchCV(pipe, {"svc__C": (0.1, 1)}, budget=8, checkpoint=path)
    base.fit(X, y)

    def refused(message, *data, **changes):
        other = MarginSearchCV(**(base.get_params(deep=False) | changes))
        pattern = re.escape(f"checkpoint {str(path)!r} belongs to another search: ")
        with pytest.raises(ValueError, match=pattern + re.escape(message)):
            other.fit(*(data or (X, y)))

    refused("random_state is 0 there and 1 here", random_state=1)
    refused(
        "space of svc__C is Log(low=0.1, high=1.0, per_feature=False) there and "
        "Log(low=0.1, high=2.0, per_feature=False) here. Name another file, or delete",
        space={"svc__C": (0.1, 2)},
    )
    changed = make_pipeline(StandardScaler(), SVC(gamma=2.0))
    refused("estimator's svc__gamma is 'scale' there and 2.0 here", estimator=changed)
    refused("X is not the same data. ", X + 1, y)
    refused("y is not the same data. ", X, 1 - y)
    refused("sample_weight is not the same data", X, y, np.ones(len(y)))
    refused(
        "scoring is 'loo_error' there and None here; cv is None there and 3 here", cv=3
    )
    refused("search is 'cmaes' there and 'zoom' here", search="zoom")
    refused("scoring is 'loo_error' there and 'span' here", scoring="span")
    # these do not matter to the points
    quiet = make_pipeline(StandardScaler(), SVC(n_jobs=2, cache_size=10))
    MarginSearchCV(
        quiet, base.space, budget=20, checkpoint=path, n_jobs=2, max_time=100
    ).fit(X, y)


def test_checkpoint_that_is_none(rings, tmp_path):
    path = tmp_path / "notes.json"
    for text in ("{}", "[1]", "not json"):
        path.write_text(text)
        with pytest.raises(ValueError, match="is not a checkpoint of MarginSearchCV"):
            MarginSearchCV(SVC(), budget=8, checkpoint=path).fit(*rings())
        assert path.read_text() == text
    with pytest.raises(FileNotFoundError, match=r"checkpoint: the folder .* does not"):
        MarginSearchCV(SVC(), checkpoint=tmp_path / "no" / "a.json").fit(*rings())


def test_interrupted_before_anything_is_known(rings, counting_svc):
    counting_svc.interrupt_at = 1
    with pytest.raises(KeyboardInterrupt):
        MarginSearchCV(counting_svc(), budget=20).fit(*rings())


def test_time_limit_tries_one_setting_at_least(rings):
    model = MarginSearchCV(SVC(), search="grid", max_time=1e-9).fit(*rings())
    assert len(model.cv_results_["params"]) == 1
    assert model.stop_reasons_ == {"max_time": 1e-9}


def test_progress_goes_to_the_listeners(rings, monkeypatch, capsys):
    from widemargin.model_selection import run

    monkeypatch.setattr(run, "REPORT_SECONDS", 0.0)
    lines: list[str] = []
    with listening(lines.append):
        MarginSearchCV(SVC(), budget=8).fit(*rings())
    assert re.match(
        r"MarginSearchCV: 7 of at most 8 settings, best score -0\.\d+ with C=[\d.e+-]+"
        r", gamma=[\d.e+-]+, [\d.]+ s",
        lines[-2],
    )
    assert capsys.readouterr().err == ""
    MarginSearchCV(SVC(), budget=8, verbose=1).fit(*rings())
    assert "MarginSearchCV: 8 of at most 8" in capsys.readouterr().err
