"""Quadratic programs with an independent answer, and what an answer must satisfy."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import cdist

from widemargin.gram import Kernel, prepare
from widemargin.result import SolverResult
from widemargin.solvers.active_set import solve_active_set
from widemargin.solvers.smo import solve_smo
from widemargin.solvers.working_sets import Policy

GAMMA = 0.5  # of the Gaussian kernel of all problems


@dataclass
class Problem:
    """``min 1/2 b'(K + D) b - target'b,  sum b = total,  lower <= b <= upper``."""

    K: np.ndarray
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    total: float = 0.0
    X: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    shift: np.ndarray = field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        if not len(self.shift):
            self.shift = np.zeros(len(self.target))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.target, self.lower, self.upper

    def hessian(self) -> np.ndarray:
        return self.K.astype(np.float64) + np.diag(self.shift)

    def value(self, b: np.ndarray) -> float:
        return float(0.5 * b @ self.hessian() @ b - self.target @ b)

    def slopes(self, b: np.ndarray) -> np.ndarray:
        return self.target - self.hessian() @ b

    def gap(self, b: np.ndarray) -> float:
        v = self.slopes(b)
        top = v[b < self.upper].max(initial=-np.inf)
        bottom = v[b > self.lower].min(initial=np.inf)
        return max(0.0, top - bottom)

    def feasible_start(self) -> np.ndarray:
        """The feasible point in the middle of the ray through the bounds."""
        low = np.maximum(self.lower, -10.0)
        high = np.minimum(self.upper, 10.0)
        t = (self.total - low.sum()) / (high - low).sum()
        assert 0 <= t <= 1
        b = low + t * (high - low)
        b[np.argmax(high - low)] += self.total - b.sum()
        return b


def check_solution(
    problem: Problem, result: SolverResult, tol: float, noise: float | None = None
) -> None:
    """Feasibility, the gap and the objective, all anew from K.

    `noise` is how far the solver's slopes may be from K's; by default rounding.
    """
    b = result.x
    assert np.all(b >= problem.lower) and np.all(b <= problem.upper)
    size = np.abs(b).sum() + abs(problem.total)
    assert abs(b.sum() - problem.total) <= 1e-9 * size
    if noise is None:
        noise = 1e-12 * (1.0 + size + np.abs(problem.hessian()).max())
    assert problem.gap(b) <= tol * (1 + 1e-6) + noise
    assert abs(result.measure - problem.gap(b)) <= 2 * noise
    assert_allclose(-result.gradient, problem.slopes(b), rtol=0, atol=noise)
    assert_allclose(result.objective, problem.value(b), rtol=1e-10, atol=noise * size)
    assert 0 <= result.n_iter and result.seconds >= 0
    free = (b > problem.lower) & (b < problem.upper)
    if free.any():
        v = problem.slopes(b)[free]
        assert v.min() - noise <= result.intercept <= v.max() + noise


def check_optimum(
    problem: Problem, result: SolverResult, reference: np.ndarray, noise: float = 1e-9
) -> None:
    """The objective against another solver's: convexity bounds the difference.

    ``f(b) - f(b*) <= v'(b* - b) <= gap |b* - b|_1 / 2`` as both have the same sum.
    """
    moved = 0.5 * np.abs(result.x - reference).sum()
    optimum = problem.value(reference)
    size = 1.0 + abs(optimum)
    assert problem.value(result.x) - optimum <= result.measure * moved + noise * size
    assert optimum - problem.value(result.x) <= 1e3 * noise * size  # not a vain bound


@pytest.fixture(scope="session")
def reference_solution(require_package) -> Callable[[Problem], np.ndarray]:
    """Solve a `Problem` by the interior-point code Clarabel."""
    clarabel: Any = require_package("clarabel")

    def solve(problem: Problem) -> np.ndarray:
        n = len(problem.target)
        eye = sparse.eye(n, format="csc")
        above = np.isfinite(problem.upper)
        below = np.isfinite(problem.lower)
        A = sparse.vstack([np.ones((1, n)), eye[above], -eye[below]], format="csc")
        right = [[problem.total], problem.upper[above], -problem.lower[below]]
        cones = [
            clarabel.ZeroConeT(1),
            clarabel.NonnegativeConeT(int(above.sum() + below.sum())),
        ]
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
        # in b * size, so that curvatures are about 1
        size = max(1.0, np.abs(np.diagonal(problem.hessian())).max())
        P = sparse.csc_array(np.triu(problem.hessian()) / size)
        solver = clarabel.DefaultSolver(
            P, -problem.target, A, size * np.concatenate(right), cones, settings
        )
        solution = solver.solve()
        assert "Solved" in str(solution.status)
        return np.clip(np.array(solution.x) / size, problem.lower, problem.upper)

    return solve


@pytest.fixture(scope="session")
def make_problem() -> Callable[..., Problem]:
    return build_problem


def build_problem(name: str, seed: int, n: int = 40, C: float = 1.0) -> Problem:
    """One of a family of problems on a Gaussian Gram matrix of random rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    K = np.exp(-GAMMA * cdist(X, X, "sqeuclidean"))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    low, high = np.minimum(y * C, 0.0), np.maximum(y * C, 0.0)
    zero, free = np.zeros(n), np.full(n, np.inf)
    match name:
        case "hinge":
            problem = Problem(K, y, low, high)
        case "weighted hinge":
            weights = rng.uniform(0.1, 3.0, n)
            problem = Problem(K, y, low * weights, high * weights)
        case "squared hinge":
            low, high = np.where(y > 0, 0.0, -free), np.where(y > 0, free, 0.0)
            problem = Problem(K, y, low, high, shift=np.full(n, 1 / C))
        case "one class":
            problem = Problem(K, zero, zero, zero + 1.0, 0.3 * n)
        case "linear term":
            low, high = -rng.uniform(0.0, 2.0, n), rng.uniform(0.0, 2.0, n)
            problem = Problem(K, rng.normal(size=n), low, high, 0.5)
        case "no bounds":
            shift = rng.uniform(0.1, 1.0, n)
            problem = Problem(K, rng.normal(size=n), -free, free, 2.0, shift=shift)
        case "fixed variables":
            fixed, value = rng.random(n) < 0.3, 0.5 * (low + high)
            low, high = np.where(fixed, value, low), np.where(fixed, value, high)
            problem = Problem(K, y, low, high)
        case "linear kernel":  # of low rank
            problem = Problem(X @ X.T, y, low, high)
        case _:
            raise ValueError(name)
    problem.X = X
    return problem


FAMILIES = [
    "hinge",
    "weighted hinge",
    "squared hinge",
    "one class",
    "linear term",
    "no bounds",
    "fixed variables",
    "linear kernel",
]


@pytest.fixture(params=FAMILIES)
def problem(request, global_random_seed) -> Problem:
    return build_problem(request.param, global_random_seed)


@pytest.fixture(scope="session")
def checks() -> tuple[Callable[..., None], Callable[..., None]]:
    """(check_solution, check_optimum)."""
    return check_solution, check_optimum


@pytest.fixture(scope="session")
def smo_solve() -> Callable[..., SolverResult]:
    """`solve_smo` on a `Problem`, from a feasible point where 0 is none."""

    def solve(problem: Problem, **options: Any) -> SolverResult:
        inside = np.all(problem.lower <= 0) and np.all(problem.upper >= 0)
        if not inside or problem.total != 0:
            options.setdefault("start", problem.feasible_start())
        return solve_smo(problem.K, *problem.arrays, shift=problem.shift, **options)

    return solve


class ActiveSet:
    """`solve_active_set` on a `Problem`, beyond memory by a policy of small sizes."""

    small = Policy(
        in_memory=100, base_level=100, working_set=64, working_set_max=300,
        float32_rows=80,
    )  # fmt: skip

    @staticmethod
    def samples(X: Any, dtype: Any = np.float32) -> Any:
        return prepare(X, Kernel("rbf", GAMMA), dtype, 0.0)

    def solve(self, problem: Problem, rows: Any, **options: Any) -> SolverResult:
        options = {"policy": self.small, "normalised": True, **options}
        total, shift = problem.total, problem.shift
        return solve_active_set(
            rows, *problem.arrays, total=total, shift=shift, **options
        )

    @staticmethod
    def reference(problem: Problem) -> np.ndarray:
        """The solution by plain SMO on the whole float64 matrix."""
        start = problem.feasible_start() if problem.total else None
        return solve_smo(
            problem.K, *problem.arrays, shift=problem.shift, start=start, tol=1e-7
        ).x


@pytest.fixture(scope="session")
def active() -> ActiveSet:
    return ActiveSet()
