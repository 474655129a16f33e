"""Hyperparameter search with leave-one-out margins."""

from widemargin.model_selection.search import MarginSearchCV
from widemargin.model_selection.space import Integer, Linear, Log

__all__ = ["Integer", "Linear", "Log", "MarginSearchCV"]
