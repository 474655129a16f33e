"""Hyperparameters from leave-one-out margins, or from folds: `MarginSearchCV`."""

import time
import warnings

from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import get_tags, indexable

from widemargin._sklearn import sample_weights
from widemargin.estimators._base import (
    check_choice,
    check_flag,
    check_number,
    n_jobs_of,
    reporting,
    seed_of,
)
from widemargin.model_selection import plan
from widemargin.model_selection.checkpoint import Checkpoint, identity
from widemargin.model_selection.delegate import Delegating
from widemargin.model_selection.evaluate import Data, fit_params
from widemargin.model_selection.results import best_scores, cv_results, history
from widemargin.model_selection.run import Run
from widemargin.model_selection.space import Space
from widemargin.model_selection.targets import default_space, seen_rows, start_params


class MarginSearchCV(Delegating, MetaEstimatorMixin, BaseEstimator):
    r"""Hyperparameters by CMA-ES, zooming or plain grid, two lines, or BFGS.

    Maximises a score over a box of parameters :math:`\theta`. For `SVC` one fit gives
    the leave-one-out margins of all rows (the span rule, see
    `SVC.loo_decision_function`), so a setting costs one fit instead of one for each
    fold. By default it minimises the share of wrong leave-one-out predictions with a
    little of their log-loss, which tells settings with equally many errors apart,

    .. math::

        \min_\theta \tfrac1n \sum_p \bigl[y_p f^{-p}_\theta(x_p) \le 0\bigr]
        - \tfrac{0.3}{n} \sum_p \ln P(y_p \mid f^{-p}_\theta(x_p)),

    with P a logistic of slope >= 0. The published score is minus the first term.

    Parameters
    ----------
    estimator : estimator
        What is tuned: `SVC`, any scikit-learn estimator, or a pipeline.
    space : dict, default=None
        From parameter name (``svc__C`` in a pipeline) to `Log`, `Linear` or `Integer`,
        a pair ``(low, high)`` of positive numbers, which means `Log`, or, for "grid"
        and "zoom", a list of values. ``Log(low, high, per_feature=True)`` on ``gamma``
        gives every feature a scale of its own. None is the estimator's own: for SVC C
        in [2^-5, 2^15] and gamma in [2^-15, 2^3].
    search : {"cmaes", "zoom", "grid", "line", "bfgs"}, default="cmaes"
        CMA-ES for any number of parameters; grids that halve around the best; one even
        grid; the two lines of Keerthi and Lin for C and gamma; BFGS on the
        radius/margin criterion with its gradient, for the Gaussian kernel and best with
        ``loss="squared_hinge"``.
    scoring : str or callable, default=None
        With leave-one-out: "loo_error" (the default), "loo_logloss" (after a logistic
        with slope >= 0), "loo_mix" (their sum), "span", "radius_margin" (the default of
        "bfgs"), "xi_alpha" or "gacv" (see `loo_estimates`), or any scikit-learn scorer,
        applied to the leave-one-out decisions. With folds: any scikit-learn scorer;
        None is the estimator's ``score``.
    cv : "loo", int, splitter or iterable of splits, default=None
        "loo" and, where the estimator has leave-one-out margins, None: one fit and
        these margins. Otherwise folds, 5 for None.
    budget : int, default=None
        Most settings tried, each one fit under leave-one-out and one for each fold
        under folds. None is 40, 66, 110 and 160 for one to four parameters and 100 + 30
        for each of more, or what the first grid takes.
    max_time : float, default=None
        Seconds after which no further setting is begun (one is tried in any case).
    refit : bool, default=True
        Fit the best setting to all rows, for `predict` and others.
    checkpoint : path-like, default=None
        JSON file of all settings tried. A search that is started again with the same
        estimator, space, data and seed takes them from it and ends in the same result.
    n_jobs : int, default=None
        Settings tried side by side, in threads; None is 1. The result does not depend
        on it.
    random_state : int, RandomState or Generator, default=None
        Random numbers of CMA-ES. None is 0: searches repeat.
    verbose : int, default=0
        Above 0, progress is written to standard error, at most once a second.

    Attributes
    ----------
    best_params_ : dict
        The best setting; of equal ones that with the smallest C.
    best_score_ : float
        Its score, higher is better: errors, losses and bounds are negated.
    best_index_ : int
        Its place in `cv_results_`.
    best_estimator_ : estimator
        Fitted to all rows with the best setting; not with ``refit=False``.
    cv_results_ : dict of str to list or ndarray
        One entry for each setting, in the order tried: "params", "param_NAME",
        "mean_test_score", "rank_test_score", "fit_time", "n_fits", "status", "error",
        and with folds "splitK_test_score" and "std_test_score". The status is "ok";
        "max_iter" (ended after 100 n steps); "degenerate" (one class is predicted for
        all rows, or no support vector is free); or "failed", with the reason in
        "error". Settings that are not "ok" rank behind all that are.
    history_ : dict of str to ndarray
        "batch", "score", "best_score" and "seconds" of fits so far, for each setting.
    n_fits_ : int
        Fits of the search, without the last one to all rows.
    n_splits_ : int
        Number of folds; 0 with leave-one-out.
    stop_reasons_ : dict of str to float
        Why the search ended: "budget", "tolx", "tolfun", "complete", "box", "lines",
        "gradient", "line_search", "start" (BFGS cannot begin), "max_time",
        "interrupted", or a reason of pycma.
    refit_time_ : float
        Seconds of the last fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features, where X had them and `best_estimator_` knows them.

    Raises
    ------
    ValueError
        In `fit`: a space that is empty or names no parameter, a criterion that the
        estimator cannot give, leave-one-out behind a transformer that learns from the
        labels, a fold of one class, a budget too small for the search, a checkpoint of
        another search, or no setting that could be fitted.

    Warns
    -----
    ConvergenceWarning
        The search was interrupted (Ctrl-C); the best setting so far is kept.

    See Also
    --------
    sklearn.model_selection.GridSearchCV : All combinations, by folds.
    loo_estimates : The estimates of one fit.

    Notes
    -----
    A pipeline's transformers are fitted to all rows, also to the one that is left out;
    without labels that matters little, with labels it is refused.

    References
    ----------
    .. [1] O. Chapelle, V. Vapnik, O. Bousquet and S. Mukherjee, Choosing multiple
       parameters for support vector machines, Machine Learning 46 (2002).
    .. [2] F. Friedrichs and C. Igel, Evolutionary tuning of multiple SVM parameters,
       Neurocomputing 64 (2005).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import SVC
    >>> from widemargin.model_selection import MarginSearchCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> search = MarginSearchCV(make_pipeline(StandardScaler(), SVC())).fit(X, y)
    >>> sorted(search.best_params_)
    ['svc__C', 'svc__gamma']
    >>> search.n_fits_ <= 66, search.best_score_ > -0.025
    (True, True)
    """

    def __init__(
        self,
        estimator,
        space=None,
        *,
        search="cmaes",
        scoring=None,
        cv=None,
        budget=None,
        max_time=None,
        refit=True,
        checkpoint=None,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.space = space
        self.search = search
        self.scoring = scoring
        self.cv = cv
        self.budget = budget
        self.max_time = max_time
        self.refit = refit
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def __sklearn_tags__(self):
        """Tags of the estimator that is tuned."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.target_tags = inner.target_tags
        tags.input_tags = inner.input_tags
        tags.array_api_support = False
        return tags

    def _check_parameters(self) -> None:
        if not hasattr(self.estimator, "fit") or isinstance(self.estimator, type):
            raise TypeError(
                f"estimator must be an estimator with fit, got {self.estimator!r}"
            )
        check_choice("search", self.search, plan.SEARCHES)
        if self.budget is not None:
            check_number("budget", self.budget, 1, whole=True)
        if self.max_time is not None:
            check_number("max_time", self.max_time, 0, open_low=True)
        check_flag("refit", self.refit)

    def fit(self, X, y=None, sample_weight=None, groups=None):
        """Search, and fit the best setting to all rows.

        Parameters
        ----------
        X : array, sparse array or data frame of shape (n_samples, n_features)
            Samples; with a precomputed kernel the (n_samples, n_samples) Gram matrix.
        y : array of shape (n_samples,), default=None
            Labels.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows, in fits and in scores.
        groups : array of shape (n_samples,), default=None
            Groups for the splitter `cv`.

        Returns
        -------
        self : MarginSearchCV
            The fitted search.
        """
        self._check_parameters()
        X, y, groups = indexable(X, y, groups)
        n_samples = X.shape[0] if hasattr(X, "shape") else len(X)
        y = plan.check_target(self.estimator, y)
        data = Data(X, y, sample_weights(sample_weight, n_samples), groups)
        given = default_space(self.estimator) if self.space is None else self.space
        known = list(self.estimator.get_params(deep=True))
        space = Space(given, known, type(self.estimator).__name__)
        rows = seen_rows(self.estimator, X, y)
        if space.per_feature:
            if rows is None:
                raise ValueError(
                    f"space: {space.per_feature[0]} with per_feature=True needs a "
                    "table of numbers at the last step"
                )
            space.resolve(rows.shape[1])
        start = space.encode(start_params(self.estimator, space, rows))
        evaluator, scoring, n_folds = plan.make_evaluator(
            self.estimator, data, self.search, self.scoring, self.cv, space
        )
        seed = seed_of(self.random_state)
        optimizer = plan.make_optimizer(self.search, space, start, self.budget, seed)
        settings = {
            "search": self.search, "scoring": scoring, "cv": self.cv, "groups": groups,
            "random_state": seed,
        }  # fmt: skip
        marks = (
            identity(self.estimator, space, data, settings) if self.checkpoint else {}
        )
        run = Run(
            optimizer, evaluator, space, Checkpoint(self.checkpoint, marks),
            self.max_time, n_jobs_of(self.n_jobs),
        )  # fmt: skip
        context, _ = reporting(self.verbose, type(self).__name__)
        with context:
            run.go()
        self._publish(run, n_folds)
        if self.refit:
            self._refit(data)
        return self

    def _publish(self, run: Run, n_folds: int) -> None:
        best = run.best()
        if best is None:
            if run.interrupted:
                raise KeyboardInterrupt
            raise run.failure()
        records = run.records
        if run.interrupted:
            warnings.warn(
                f"the search was interrupted after {len(records)} of at most "
                f"{run.optimizer.budget} settings; the best of these is kept",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.best_index_ = best
        self.best_params_ = dict(records[best].params)
        self.best_score_ = records[best].outcome.score
        self.cv_results_ = cv_results(records, n_folds)
        self.history_ = history(records, best_scores(records))
        self.n_fits_ = int(sum(r.outcome.n_fits for r in records))
        self.n_splits_ = n_folds
        self.stop_reasons_ = dict(run.reasons)
        for name in ("best_estimator_", "refit_time_"):
            self.__dict__.pop(name, None)

    def _refit(self, data: Data) -> None:
        model = clone(self.estimator).set_params(**self.best_params_)
        began = time.perf_counter()
        params = fit_params(model, data.weights)
        if data.y is None:
            model.fit(data.X, **params)
        else:
            model.fit(data.X, data.y, **params)
        self.refit_time_ = time.perf_counter() - began
        self.best_estimator_ = model
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
