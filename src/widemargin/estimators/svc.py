"""Kernel C-support vector classification."""

import inspect
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from widemargin._sklearn import (
    class_weights,
    encode_labels,
    plain,
    sample_weights,
    validate_rows,
    validate_training,
    votes_to_scores,
)
from widemargin.estimators._base import (
    check_choice,
    check_flag,
    check_kernel,
    check_number,
    check_square,
    kernel_of,
    n_jobs_of,
    reporting,
    resolve_gamma,
    seed_of,
    warn_about_scales,
    warn_not_converged,
)
from widemargin.estimators._training import Training


def _has_calibration(estimator: Any) -> bool:
    if estimator.calibration is None:
        raise AttributeError(
            "predict_proba needs calibration='loo' or a number of "
            "folds, for example SVC(calibration=5), and fit again"
        )
    return True


def _refuse_probability(params: dict) -> None:
    if "probability" in params:
        raise TypeError(
            "SVC takes no probability: calibration=5 (folds) or calibration='loo' "
            "gives predict_proba"
        )


class SVC(ClassifierMixin, BaseEstimator):
    """C-support vector classification with a certificate of optimality.

    Solves, for two classes with :math:`y_i \\in \\{-1, +1\\}`,

    .. math::

        \\min_{w, b} \\tfrac12 \\|w\\|^2 + \\sum_i C_i \\,
        \\ell\\bigl(1 - y_i (w^\\top \\phi(x_i) + b)\\bigr), \\qquad C_i = C s_i,

    where :math:`\\ell(\\xi) = \\max(\\xi, 0)` (``loss="hinge"``) or
    :math:`\\tfrac12 \\max(\\xi, 0)^2` (``"squared_hinge"``), :math:`s_i` is the weight
    of the sample times that of its class, and :math:`\\phi` belongs to the kernel. The
    dual is solved,

    .. math::

        \\min_a \\tfrac12 \\sum_{ij} a_i a_j y_i y_j K_{ij} - \\sum_i a_i, \\quad
        y^\\top a = 0, \\quad 0 \\le a_i \\le C_i,

    with :math:`K + \\mathrm{diag}(1/C_i)` and no upper bound for the squared loss. More
    classes are taken one against one. A drop-in for scikit-learn's SVC: same
    decisions, same main attributes, without ``probability``.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses, > 0. The default is scikit-learn's.
    kernel : {"linear", "poly", "rbf", "sigmoid", "laplacian", "exponential", \
            "precomputed"} or callable, default="rbf"
        ``x'z``; ``(gamma x'z + coef0)^degree``; ``exp(-gamma |x-z|^2)``;
        ``tanh(gamma x'z + coef0)``; ``exp(-gamma |x-z|_1)``; ``exp(-gamma |x-z|)``; a
        given Gram matrix in place of X; or a function of two blocks of rows that
        returns their kernel values.
    gamma : {"scale", "auto"}, float or ndarray of shape (n_features,), \
            default="scale"
        Kernel width, >= 0. "scale" is 1 / (n_features * X.var()), "auto" is
        1 / n_features. An array gives the Gaussian kernel one scale for each feature:
        ``exp(-sum_k gamma_k (x_k - z_k)^2)``.
    degree : float, default=3
        Degree of "poly", >= 0.
    coef0 : float, default=0.0
        Constant of "poly" and "sigmoid".
    loss : {"hinge", "squared_hinge"}, default="hinge"
        What an error costs.
    shrinking : bool, default=True
        Iterate only rows near the margin and look at the others now and then. False
        iterates all rows; the result is the same within `tol`. Matters above a few
        thousand rows.
    tol : float, default=1e-3
        Largest KKT gap, > 0, absolute, as in scikit-learn.
    max_iter : int, default=-1
        Limit of SMO steps for each pair of classes; -1 is max(10^7, 100 n_samples), so
        that no fit runs for ever.
    class_weight : dict or "balanced", default=None
        Weight of each class, multiplies C. "balanced" gives every class the same
        total weight.
    cache_size : float, default=1024
        Memory for kernel values in MB, > 0.
    decision_function_shape : {"ovr", "ovo"}, default="ovr"
        With more than two classes, one score for each class (votes, ties broken by
        summed decisions) or one for each pair.
    break_ties : bool, default=False
        Predict by the "ovr" scores, so that equal votes are decided by confidence.
    calibration : int or "loo", default=None
        Gives `predict_proba`: a logistic with slope >= 0 is fitted to the out-of-fold
        decisions of that many folds (>= 2), or to `loo_decision_function`, which needs
        no further fits.
    warm_start : bool, default=False
        Start from the last solution when the data have the same rows and classes.
    random_state : int, RandomState or Generator, default=None
        Order of the subsets above a few thousand rows, and folds of the calibration.
        None is 0: fits repeat.
    n_jobs : int, default=None
        Pairs of classes (and folds) fitted side by side, in threads; None is 1.
        Threads inside one fit follow the BLAS limit.
    verbose : int, default=0
        Above 0, progress is written to standard error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    support_ : ndarray of shape (n_SV,)
        Rows that are support vectors, class by class.
    support_vectors_ : ndarray or CSR of shape (n_SV, n_features)
        These rows; empty with a precomputed kernel.
    n_support_ : ndarray of shape (n_classes,)
        Number of support vectors in each class.
    dual_coef_ : ndarray of shape (n_classes - 1, n_SV)
        ``y_i a_i``; for more classes laid out as in LIBSVM.
    intercept_ : ndarray of shape (n_pairs,)
        b of each pair.
    coef_ : ndarray of shape (n_pairs, n_features)
        w of each pair, linear kernel only.
    objective_ : float or ndarray of shape (n_pairs,)
        The dual objective, as minimised above.
    dual_gap_ : float or ndarray of shape (n_pairs,)
        ``(P - D) / max(|P|, |D|)``: D is ``-objective_``, P the primal value at
        ``(t w, b')`` with the best t >= 0 and b' (to a twentieth of the gap). The
        objective is at most this far from the optimum, whatever the solver did.
    kkt_gap_ : float or ndarray of shape (n_pairs,)
        The measure compared with `tol`.
    converged_ : bool
        True if all KKT gaps are at most `tol`.
    n_iter_ : ndarray of shape (n_pairs,)
        SMO steps.
    solver_ : {"smo", "active_set"}
        The solver that ran (on the largest pair): on a matrix in memory, or beyond.
    gamma_ : float or ndarray of shape (n_features,)
        Kernel width as a number.
    class_weight_ : ndarray of shape (n_classes,)
        Weight of each class.
    shape_fit_ : tuple of int
        Shape of X in fit.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features, where X had them.

    Raises
    ------
    ValueError
        In `fit`: a parameter out of its range, one class only, NaN or infinity in X, a
        target that is continuous, a precomputed kernel that is not square.

    Warns
    -----
    ConvergenceWarning
        The KKT gap is above `tol` at the end.
    DataScaleWarning
        One feature's spread is a hundred times the median one.

    See Also
    --------
    sklearn.svm.SVC : The same model, by LIBSVM.

    Notes
    -----
    Up to 5,000 rows in a pair of classes: sequential minimal optimisation with
    second-order pairs [1]_ on a float32 matrix. Above: nested subsets, then working
    sets of a few thousand rows whose steps are corrected with kernel products that
    are never stored. float64 replaces float32 where the kernel or the tolerance needs
    it; the published gaps count float64 sums.

    References
    ----------
    .. [1] R.-E. Fan, P.-H. Chen and C.-J. Lin, Working set selection using second
       order information for training support vector machines, JMLR 6 (2005).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from widemargin import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SVC(C=1.0).fit(X, y)
    >>> float(model.score(X, y))
    0.9733333333333334
    >>> model.converged_, bool(model.dual_gap_.max() < 1e-3)
    (True, True)
    """

    def __new__(cls, *args, **kwargs):
        """Explain the one argument of scikit-learn's SVC that is not taken."""
        _refuse_probability(kwargs)
        return super().__new__(cls)

    def __init__(
        self,
        C=1.0,
        *,
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=0.0,
        loss="hinge",
        shrinking=True,
        tol=1e-3,
        max_iter=-1,
        class_weight=None,
        cache_size=1024,
        decision_function_shape="ovr",
        break_ties=False,
        calibration=None,
        warm_start=False,
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.shrinking = shrinking
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def set_params(self, **params):
        """Set parameters, as scikit-learn's estimators do.

        Parameters
        ----------
        **params : dict
            Parameters of the estimator.

        Returns
        -------
        self : SVC
            The estimator.
        """
        _refuse_probability(params)
        return super().set_params(**params)

    def __sklearn_tags__(self):
        """Tags of the estimator."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def _check_parameters(self) -> None:
        check_number("C", self.C, 0, open_low=True)
        check_kernel(self)
        check_choice("loss", self.loss, ["hinge", "squared_hinge"])
        check_number("tol", self.tol, 0, open_low=True)
        check_number("max_iter", self.max_iter, -1, whole=True)
        check_number("cache_size", self.cache_size, 0, open_low=True)
        check_choice(
            "decision_function_shape", self.decision_function_shape, ["ovr", "ovo"]
        )
        for name in ("shrinking", "break_ties", "warm_start"):
            check_flag(name, getattr(self, name))
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ValueError(
                "break_ties must be False when decision_function_shape is 'ovo': ties "
                "are broken by the 'ovr' scores"
            )
        if isinstance(self.calibration, str):
            if self.calibration != "loo":
                raise ValueError(
                    "calibration must be None, 'loo' or a whole number of folds >= 2, "
                    f"got {self.calibration!r}"
                )
        elif self.calibration is not None:
            check_number("calibration", self.calibration, 2, whole=True)

    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Samples; with kernel="precomputed" the (n_samples, n_samples) Gram matrix.
        y : array of shape (n_samples,)
            Labels: numbers or strings.
        sample_weight : array of shape (n_samples,), default=None
            Multiplies C row by row; a weight of k counts as k copies of the row, and
            of 0 as no row.

        Returns
        -------
        self : SVC
            The fitted model.
        """
        from widemargin.estimators._svc_fit import fit_pairs

        self._check_parameters()
        X, y = validate_training(self, X, y)
        check_square(X, self.kernel)
        classes, codes = encode_labels(y)
        if len(classes) < 2:
            raise ValueError(
                f"SVC needs samples of at least 2 classes in y, got 1 class: "
                f"{plain(classes[0])!r}"
            )
        weights = sample_weights(sample_weight, X.shape[0])
        by_class = class_weights(self.class_weight, classes, codes, weights)
        rows = by_class[codes]
        if weights is not None:
            rows *= weights
        # Below the rounding of the total, a row cannot be told from none.
        rows[rows < 1e-16 * rows.max(initial=0.0)] = 0.0
        alive = np.bincount(codes, rows > 0, len(classes)) > 0
        if alive.sum() < 2:
            raise ValueError(
                "sample_weight and class_weight are zero for all samples but those of "
                f"{int(alive.sum())} class(es); SVC needs samples of 2"
            )
        names = getattr(self, "feature_names_in_", None)
        warn_about_scales(X, self.kernel, names)
        gamma = resolve_gamma(self.gamma, self.kernel, X, weights)
        start = self._last_solution(classes, codes) if self.warm_start else None

        context, callback = reporting(self.verbose, type(self).__name__)
        with context:
            fitted = fit_pairs(
                X, codes, len(classes), rows * float(self.C), kernel_of(self, gamma),
                squared=self.loss == "squared_hinge", tol=float(self.tol),
                max_iter=int(self.max_iter), shrinking=bool(self.shrinking),
                cache_size=float(self.cache_size), start=start,
                n_jobs=n_jobs_of(self.n_jobs), seed=seed_of(self.random_state),
                callback=callback,
            )  # fmt: skip
            if "failed" in fitted.statuses:
                raise ValueError(
                    "SVC met values that are not finite: kernel values overflow, or "
                    "loss='squared_hinge' has no minimum because the kernel is not "
                    "positive semidefinite. Scale the features, or use loss='hinge'"
                )
            self._publish(X, classes, codes, gamma, by_class, fitted)
            self._training = Training(
                X, codes, rows * float(self.C), kernel_of(self, gamma),
                self.loss == "squared_hinge", float(self.tol),
            )  # fmt: skip
            if self.calibration is not None:
                self._calibrate(X, y, sample_weight)
        if not self.converged_:
            worst = int(np.argmax(fitted.kkt_gaps))
            warn_not_converged(
                type(self).__name__, fitted.statuses[worst], "KKT gap",
                fitted.kkt_gaps[worst], self.tol, int(self.n_iter_[worst]),
            )  # fmt: skip
        return self

    def _last_solution(
        self, classes: np.ndarray, codes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """(support, dual_coef) of the last fit if it was on such rows and classes."""
        if not hasattr(self, "dual_coef_") or self.shape_fit_[0] != len(codes):
            return None
        if not np.array_equal(self.classes_, classes):
            return None
        grouped = np.repeat(np.arange(len(classes)), self.n_support_)
        if not np.array_equal(codes[self.support_], grouped):
            return None
        return self.support_, self.dual_coef_

    def _publish(self, X, classes, codes, gamma, by_class, fitted) -> None:
        binary = len(classes) == 2
        self.classes_ = classes
        self.gamma_ = gamma
        self.class_weight_ = by_class
        self.shape_fit_ = X.shape
        self.support_ = fitted.support.astype(np.int32)
        self.n_support_ = np.bincount(
            codes[fitted.support], minlength=len(classes)
        ).astype(np.int32)
        if self.kernel == "precomputed":
            self.support_vectors_ = np.empty((0, 0))
        else:
            self.support_vectors_ = X[fitted.support]
        self.dual_coef_ = fitted.dual_coef
        self.intercept_ = fitted.intercepts
        self.n_iter_ = np.maximum(fitted.n_iters, 1)
        self.objective_ = float(fitted.objectives[0]) if binary else fitted.objectives
        self.dual_gap_ = float(fitted.dual_gaps[0]) if binary else fitted.dual_gaps
        self.kkt_gap_ = float(fitted.kkt_gaps[0]) if binary else fitted.kkt_gaps
        self.converged_ = bool(fitted.converged)
        self.solver_ = fitted.solver
        for name in ("_calibration", "_coef"):
            self.__dict__.pop(name, None)
        if self.kernel == "linear":
            self._coef = self._linear_coef()

    @property
    def coef_(self):
        """Weight vector of each pair of classes; linear kernel only."""
        if self.kernel != "linear":
            raise AttributeError("coef_ is only available when using a linear kernel")
        check_is_fitted(self)
        return self._coef

    def _linear_coef(self) -> np.ndarray:
        n_classes = len(self.classes_)
        vectors = self.support_vectors_
        if n_classes == 2:
            return np.asarray((vectors.T @ self.dual_coef_.T).T)
        ends = np.concatenate(([0], np.cumsum(self.n_support_)))
        parts = [slice(ends[i], ends[i + 1]) for i in range(n_classes)]
        coefs = [
            vectors[parts[i]].T @ self.dual_coef_[j - 1, parts[i]]
            + vectors[parts[j]].T @ self.dual_coef_[i, parts[j]]
            for i in range(n_classes)
            for j in range(i + 1, n_classes)
        ]
        return np.vstack(coefs)

    def _pair_decisions(self, X) -> np.ndarray:
        """Decisions of all pairs, (n_samples, n_pairs)."""
        from widemargin.estimators._svc_fit import decide

        check_is_fitted(self)
        X = validate_rows(self, X)
        if self.kernel == "linear":
            return np.asarray(X @ self._coef.T) + self.intercept_
        return decide(
            X, self.support_vectors_, self.support_, self.n_support_,
            self.dual_coef_, self.intercept_, kernel_of(self, self.gamma_),
        )  # fmt: skip

    def decision_function(self, X):
        """Signed scores of samples.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Samples; with kernel="precomputed" their kernel values with all training
            rows, (n_samples, n_samples_fit).

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_columns)
            Two classes: positive means ``classes_[1]``. More: one column for each
            class ("ovr") or for each pair of classes ("ovo").
        """
        pairs = self._pair_decisions(X)
        if len(self.classes_) == 2:
            return pairs.ravel()
        if self.decision_function_shape == "ovr":
            return votes_to_scores(pairs > 0, pairs, len(self.classes_))
        return pairs

    def predict(self, X):
        """Labels of samples.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Samples, as in `decision_function`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The sign of the decision for two classes; else the class with most votes,
            the first of them on a tie (with ``break_ties`` the most confident).
        """
        pairs = self._pair_decisions(X)
        n_classes = len(self.classes_)
        if n_classes == 2:
            return self.classes_[(pairs.ravel() > 0).astype(np.intp)]
        scores = votes_to_scores(pairs > 0, pairs, n_classes)
        if not self.break_ties:
            scores = np.rint(scores)  # votes alone: the rest is below 1/3
        return self.classes_[np.argmax(scores, axis=1)]

    def loo_decision_function(self):
        """Leave-one-out decisions of all training rows, predicted from this one fit.

        For a support vector of a pair of classes ``y f(x) - a S^2``, the span rule
        [1]_; for other rows the decision itself. Exact where leaving the row out moves
        no other row between free, bounded and zero; usually within a few rows of the
        true leave-one-out error. Costs a Cholesky factor of the free support vectors
        of each pair. Any scorer can be applied to the result without refitting.

        Returns
        -------
        scores : ndarray
            As `decision_function` of the training rows, in their order.

        Raises
        ------
        AttributeError
            After loading or pickling: the training rows are not saved with the model.

        References
        ----------
        .. [1] V. Vapnik and O. Chapelle, Bounds on error expectation for support
           vector machines, Neural Computation 12 (2000).
        """
        pairs = self._loo_pairs()
        if len(self.classes_) == 2:
            return pairs.ravel()
        if self.decision_function_shape == "ovr":
            return votes_to_scores(pairs > 0, pairs, len(self.classes_))
        return pairs

    def _loo_pairs(self) -> np.ndarray:
        from widemargin.estimators._svc_loo import loo_pairs

        check_is_fitted(self)
        if not hasattr(self, "_training"):
            raise AttributeError(
                "leave-one-out needs the training rows, which are not saved with a "
                "model: fit again"
            )
        return loo_pairs(self)

    def __getstate__(self):
        """State without the training rows, which a saved model does not need."""
        state = dict(super().__getstate__())
        state.pop("_training", None)
        return state

    def _calibrate(self, X, y, sample_weight) -> None:
        from widemargin.estimators._calibration import calibrate

        self._calibration = calibrate(self, X, y, sample_weight)

    @available_if(_has_calibration)
    def predict_proba(self, X):
        """Probability of each class.

        A logistic of the decision, fitted to out-of-fold decisions; pairs of classes
        are coupled as in LIBSVM. The most probable class may differ from `predict`
        near the boundary.

        Parameters
        ----------
        X : array or sparse array of shape (n_samples, n_features)
            Samples, as in `decision_function`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            Rows sum to 1.
        """
        from widemargin.estimators._calibration import probabilities

        check_is_fitted(self)
        if not hasattr(self, "_calibration"):
            raise NotFittedError(
                f"calibration={self.calibration!r} was set after fit: fit again"
            )
        pairs = self._pair_decisions(X)
        return probabilities(pairs, self._calibration, len(self.classes_))


# `__new__` would hide the parameters from help() and from tools that read signatures.
SVC.__signature__ = inspect.Signature(
    list(inspect.signature(SVC.__init__).parameters.values())[1:]
)
