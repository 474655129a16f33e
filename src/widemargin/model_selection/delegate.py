"""What a fitted search hands on to its best estimator."""

from typing import Any

from sklearn.metrics import check_scoring
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from widemargin.model_selection.criteria import CRITERIA


def _best_has(name: str) -> Any:
    """For `available_if`: the fitted best estimator, or the one given, has `name`."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "best_estimator_", self.estimator), name)
        return True

    return check


class Delegating:
    """Methods and attributes of ``best_estimator_``, there as far as it has them."""

    estimator: Any
    refit: bool
    scoring: Any
    best_estimator_: Any

    @property
    def classes_(self):
        """Labels of the best estimator, classifiers only."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.classes_

    @property
    def n_features_in_(self):
        """Number of features seen in fit."""
        try:
            check_is_fitted(self, "best_estimator_")
        except ValueError as error:
            raise AttributeError(
                "n_features_in_ needs a fit with refit=True"
            ) from error
        return self.best_estimator_.n_features_in_

    def _fitted(self) -> Any:
        if not self.refit and hasattr(self, "best_params_"):
            raise AttributeError(
                "refit=False: no estimator was fitted to all rows. Set refit=True, or "
                "fit one with best_params_"
            )
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    @available_if(_best_has("predict"))
    def predict(self, X):
        """Predictions of the best estimator.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        predictions : ndarray of shape (n_samples,)
            As the estimator gives them.
        """
        return self._fitted().predict(X)

    @available_if(_best_has("decision_function"))
    def decision_function(self, X):
        """Decisions of the best estimator.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As the estimator gives them.
        """
        return self._fitted().decision_function(X)

    @available_if(_best_has("predict_proba"))
    def predict_proba(self, X):
        """Probabilities of the best estimator.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            As the estimator gives them.
        """
        return self._fitted().predict_proba(X)

    @available_if(_best_has("transform"))
    def transform(self, X):
        """Samples transformed by the best estimator.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        transformed : ndarray of shape (n_samples, n_features_out)
            As the estimator gives them.
        """
        return self._fitted().transform(X)

    def score(self, X, y=None, sample_weight=None):
        """Score of the best estimator on further samples.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Samples.
        y : array of shape (n_samples,), default=None
            Labels.
        sample_weight : array of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        score : float
            By `scoring` where that is a scikit-learn scorer, else the estimator's own,
            which is the accuracy of classifiers.
        """
        model = self._fitted()
        own = isinstance(self.scoring, str) and self.scoring in CRITERIA
        scorer = check_scoring(model, None if own else self.scoring)
        if sample_weight is None:
            return scorer(model, X, y)
        return scorer(model, X, y, sample_weight=sample_weight)
