"""widemargin: learning with wide margins.

Support vector machines and their relatives with the scikit-learn interface,
compiled speed, and a certificate with every fit. Public names are loaded on
first use, so ``import widemargin`` costs nothing over NumPy and scikit-learn.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# name -> module that defines it
_PUBLIC = {
    "SVC": "widemargin.estimators.svc",
    "MarginSearchCV": "widemargin.model_selection",
    "DataScaleWarning": "widemargin.estimators._base",
    "loo_estimates": "widemargin.estimators.loo_estimates",
    "warm_up": "widemargin._warm_up",
}

__all__ = ["__version__", *sorted(_PUBLIC)]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        value = getattr(import_module(_PUBLIC[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'widemargin' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
