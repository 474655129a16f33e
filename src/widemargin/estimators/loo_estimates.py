"""Error bounds and leave-one-out estimates of a fitted SVC."""

import difflib
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from widemargin._sklearn import validate_rows


def loo_estimates(svc: Any, X: Any, y: Any, names: Any = "all") -> dict[str, float]:
    """Estimates of the error of a fitted SVC, without cross-validation.

    Formula, range, source and cost of each are in the docstring of the function of
    the same name in `widemargin.solvers.loo`. In short, with N rows, a_p the dual
    variables, m_p the margins and xi_p the slacks:

    ==================  =============================================== ===========
    sv_count            #SV / N                                         bound
    jaakkola_haussler   share of a_p K_pp >= m_p                        bound, no bias
    gacv                mean of xi + weights times a_p K_pp             estimate
    opper_winther       share of a_p / (K_SV^-1)_pp >= m_p              estimate
    xi_alpha            share of 2 a_p R_D^2 + xi_p >= 1                bound
    vc_bound            training error + VC confidence                  bound
    radius_margin       R^2 |w|^2 / N, modified for the hinge           bound
    span                share of a_p S_p^2 >= m_p                       estimate
    span_smooth         the same, continuous in the parameters          estimate
    loo                 the leave-one-out error, by refits              exact
    ==================  =============================================== ===========

    Parameters
    ----------
    svc : SVC
        A fitted classifier.
    X : array or sparse array of shape (n_samples, n_features)
        The rows it was fitted on.
    y : array of shape (n_samples,)
        Their labels.
    names : "all" or list of str, default="all"
        Which estimates; "all" leaves out "loo", whose cost is a refit for each
        support vector.

    Returns
    -------
    estimates : dict of str to float
        With more than two classes, the mean over the pairs, weighted by their rows.

    Raises
    ------
    ValueError
        A name that is not known, or rows that are not those of the fit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> from widemargin import SVC, loo_estimates
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X = StandardScaler().fit_transform(X)
    >>> estimates = loo_estimates(SVC().fit(X, y), X, y, ["span", "loo"])
    >>> {name: round(value * len(y)) for name, value in estimates.items()}
    {'span': 14, 'loo': 13}
    """
    from widemargin.estimators._svc_loo import solutions
    from widemargin.solvers.loo import ESTIMATES

    check_is_fitted(svc)
    if isinstance(names, str) and names == "all":
        names = [name for name in ESTIMATES if name != "loo"]
    names = list(dict.fromkeys([names] if isinstance(names, str) else names))
    for name in names:
        if name not in ESTIMATES:
            near = difflib.get_close_matches(str(name), ESTIMATES, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(
                f"names must be among {', '.join(ESTIMATES)}, got {name!r}{hint}"
            )
    X = validate_rows(svc, X)
    y = np.asarray(y)
    training = getattr(svc, "_training", None)
    if training is None:
        raise ValueError(
            "loo_estimates needs an SVC fitted in this session: the training problem "
            "is not saved with a model. Fit it again"
        )
    same = len(y) == len(training.codes) and _same_rows(X, training.X)
    if not (same and np.array_equal(svc.classes_[training.codes], y)):
        raise ValueError(
            f"X and y must be those the SVC was fitted on: {training.X.shape[0]} rows "
            f"of {training.X.shape[1]} features, got {X.shape[0]} rows"
        )
    totals = dict.fromkeys(names, 0.0)
    weight = 0
    for _, _, index, solution in solutions(svc):
        if len(np.unique(solution.y)) < 2:
            continue  # weights of 0 have left out a class
        weight += len(index)
        for name in names:
            totals[name] += len(index) * ESTIMATES[name](solution)
    return {name: value / weight for name, value in totals.items()}


def _same_rows(X: Any, other: Any) -> bool:
    if X.shape != other.shape or sparse.issparse(X) != sparse.issparse(other):
        return False
    if sparse.issparse(X):
        return (X != other).nnz == 0
    return np.array_equal(X, other)
