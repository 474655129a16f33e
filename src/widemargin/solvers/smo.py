"""Sequential minimal optimisation on a Gram matrix in memory.

In signed variables ``b_i = y_i a_i`` the dual of every kernel machine here is

    min 1/2 b'(K + D) b - t'b   subject to  sum b = const,  lower <= b <= upper

with a diagonal D >= 0. C-SVM: t = y, lower = min(0, y C), upper = max(0, y C);
with squared loss D = 1/C and no upper bound; one-class: t = 0, 0 <= b <= 1, sum = nu n.
Signed, one step needs no labels: b_i += d, b_j -= d.

``v = t - (K + D) b`` is kept; ``v_i - v_j`` is the slope of that step. Pairs are
chosen by second-order information (Fan, Chen and Lin, 2005). Both passes over v are
written so that they vectorise: maxima by an intrinsic in blocks of 512, and only the
best block is searched again for the place.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from widemargin._extrema import larger, smaller
from widemargin._jit import kernel
from widemargin.kernels import dense_row, pack_transposed, prefix_product
from widemargin.progress import Callback
from widemargin.result import SolverResult, Status, TracePoint

BLOCK = 512
SUB_BLOCK = 64
# Kernels return to Python about this often, so that Ctrl-C is heard.
SLICE_SECONDS = 0.05
# Rows computed one by one, up to this share; beyond it tiles are cheaper.
LAZY_SHARE = 0.3

_STEPS, _DONE, _NAN, _FULL = 0, 1, 2, 3


@kernel(reduce=True)
def _find(values, penalty, start, best):
    """Place of `best`, the largest of values + penalty, known to be in this block."""
    stop = min(values.shape[0], start + BLOCK)
    top = values[start] + penalty[start]
    place = start
    for s in range(start, stop, SUB_BLOCK):
        e = min(stop, s + SUB_BLOCK)
        part = values[s:e]
        pen = penalty[s:e]
        m = part[0] + pen[0]
        for k in range(part.shape[0]):
            m = larger(m, part[k] + pen[k])
        if m > top:
            top = m
            place = s
        if m >= best:
            break
    end = min(stop, place + SUB_BLOCK)
    for k in range(place, end):
        if values[k] + penalty[k] >= top:
            return k
    return place


@kernel(reduce=True)
def _find_gain(row, values, penalty, diag, start, vi, kii, two_scale, tau, best):
    """Place of the largest second-order gain, known to be in this block; -1 on NaN."""
    stop = min(values.shape[0], start + BLOCK)
    number = values.dtype.type
    zero = number(0.0)
    top = zero
    block = start
    for s in range(start, stop, SUB_BLOCK):
        e = min(stop, s + SUB_BLOCK)
        part = values[s:e]
        pen = penalty[s:e]
        dg = diag[s:e]
        line = row[s:e]
        m = zero
        for k in range(part.shape[0]):
            diff = larger(vi - (part[k] + pen[k]), zero)
            curve = larger(kii + dg[k] - two_scale * number(line[k]), tau)
            m = larger(m, diff * diff / curve)
        if m > top:
            top = m
            block = s
        if m >= best:
            break
    # not compared with `best`: another loop may round it in another way
    place = -1
    top = zero
    for k in range(block, min(stop, block + SUB_BLOCK)):
        diff = larger(vi - (values[k] + penalty[k]), zero)
        curve = larger(kii + diag[k] - two_scale * number(row[k]), tau)
        gain = diff * diff / curve
        if gain > top:
            top = gain
            place = k
    return place


@kernel(reduce=True)
def smo_steps(
    K, scale, diag, shift, v, b, lower, upper, up, low, tau, tol, n_steps,
    rows, rows_t, code, coef0, degree, have, room,
):  # fmt: skip
    """At most `n_steps` steps; returns (code, steps, max_up v, min_low v).

    K (n, n) float or uint16 (times `scale`); diag = K_ii + shift, v, up, low in the
    state's float type; b, lower, upper, shift float64. up is 0 where b < upper and
    -inf elsewhere, low is 0 where b > lower and +inf elsewhere; all updated. Rows of K
    that are not there yet (have == 0) are computed from `rows` and `rows_t`, see
    `kernels.dense_row`, but no more than `room` of them. With rows = None, which
    compiles without that part, K is whole.
    """
    filled = 0
    n = v.shape[0]
    number = v.dtype.type
    zero = number(0.0)
    two_scale = number(2.0 * scale)
    best = v[0] + up[0]
    block = 0
    for s in range(0, n, BLOCK):
        part = v[s : s + BLOCK]
        pen = up[s : s + BLOCK]
        m = part[0] + pen[0]
        for k in range(part.shape[0]):
            m = larger(m, part[k] + pen[k])
        if m > best:
            best = m
            block = s
    bottom = number(np.inf)
    for step in range(n_steps):
        i = _find(v, up, block, best)
        vi = best
        row = K[i]
        if rows is not None:
            if have[i] == 0:
                if filled == room:
                    return _FULL, step, float(vi), float(bottom)
                dense_row(rows[i], rows_t, code, coef0, degree, row)
                have[i] = 1
                filled += 1
        kii = diag[i]
        gain = zero
        bottom = number(np.inf)
        block = 0
        for s in range(0, n, BLOCK):
            part = v[s : s + BLOCK]
            pen = low[s : s + BLOCK]
            dg = diag[s : s + BLOCK]
            line = row[s : s + BLOCK]
            m = zero
            lo = bottom
            for k in range(part.shape[0]):
                vk = part[k] + pen[k]
                lo = smaller(lo, vk)
                diff = larger(vi - vk, zero)
                curve = larger(kii + dg[k] - two_scale * number(line[k]), tau)
                m = larger(m, diff * diff / curve)
            bottom = lo
            if m > gain:
                gain = m
                block = s
        if not vi - bottom > tol:
            if np.isnan(vi - bottom):
                return _NAN, step, float(vi), float(bottom)
            return _DONE, step, float(vi), float(bottom)
        j = _find_gain(row, v, low, diag, block, vi, kii, two_scale, tau, gain)
        if j < 0:
            return _NAN, step, float(vi), float(bottom)
        other = K[j]
        if rows is not None:
            if have[j] == 0:
                if filled == room:
                    return _FULL, step, float(vi), float(bottom)
                dense_row(rows[j], rows_t, code, coef0, degree, other)
                have[j] = 1
                filled += 1

        # the step, in float64; a variable that reaches its bound gets that value
        curve = max(float(kii) + float(diag[j]) - 2.0 * scale * row[j], float(tau))
        d = (float(vi) - float(v[j])) / curve
        room_i = upper[i] - b[i]
        room_j = b[j] - lower[j]
        if d >= room_i and room_i <= room_j:
            d = room_i
            b[j] = lower[j] if room_i == room_j else b[j] - d
            b[i] = upper[i]
        elif d >= room_j:
            d = room_j
            b[i] += d
            b[j] = lower[j]
        else:
            b[i] += d
            b[j] -= d
        up[i] = zero if b[i] < upper[i] else number(-np.inf)
        up[j] = zero if b[j] < upper[j] else number(-np.inf)
        low[i] = zero if b[i] > lower[i] else number(np.inf)
        low[j] = zero if b[j] > lower[j] else number(np.inf)
        v[i] -= number(d * shift[i])
        v[j] += number(d * shift[j])

        factor = number(d * scale)
        best = number(-np.inf)
        block = 0
        for s in range(0, n, BLOCK):
            part = v[s : s + BLOCK]
            pen = up[s : s + BLOCK]
            line = row[s : s + BLOCK]
            line2 = other[s : s + BLOCK]
            m = number(-np.inf)
            for k in range(part.shape[0]):
                t = part[k] - factor * (number(line[k]) - number(line2[k]))
                part[k] = t
                m = larger(m, t + pen[k])
            if m > best:
                best = m
                block = s
    return _STEPS, n_steps, float(best), float(bottom)


def penalties(b, lower, upper, dtype):
    """(up, low): what is added to v so that its maxima see only movable variables."""
    up = np.where(b < upper, 0.0, -np.inf).astype(dtype)
    low = np.where(b > lower, 0.0, np.inf).astype(dtype)
    return up, low


def kkt_gap(
    v: np.ndarray, b: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[float, float]:
    """(max of v over b < upper, min of v over b > lower): the gap is between them."""
    top = v.max(where=b < upper, initial=-np.inf)
    bottom = v.min(where=b > lower, initial=np.inf)
    return float(top), float(bottom)


def multiplier(
    v: np.ndarray, b: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> float:
    """Multiplier of ``sum b``: mean of v over free variables, else the gap's middle.

    With no variable that can go up (or down) the one-sided bound is returned.
    """
    free = (b > lower) & (b < upper)
    if free.any():
        return float(v[free].mean())
    top, bottom = kkt_gap(v, b, lower, upper)
    if np.isfinite(top) and np.isfinite(bottom):
        return 0.5 * (top + bottom)
    return top if np.isfinite(top) else bottom if np.isfinite(bottom) else 0.0


class Inner:
    """SMO on one matrix, called again and again from its last point.

    With ``lazy=(rows, code, coef0, degree)`` the matrix starts empty: a row is computed
    when first needed. It pays where few rows become support vectors; beyond a share
    of `LAZY_SHARE` `run` returns early with `full` set, and the caller completes the
    matrix.
    """

    def __init__(
        self,
        K: np.ndarray,
        diagonal: np.ndarray,
        shift: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        lazy: tuple[np.ndarray, int, float, float] | None = None,
    ) -> None:
        small = K.dtype != np.float64
        self.dtype = np.float32 if small else np.float64
        self.K = K
        self.scale = 1.0 / 65535.0 if K.dtype == np.uint16 else 1.0
        self.shift = shift
        self.lower, self.upper = lower, upper
        self.diag = (diagonal + shift).astype(self.dtype)
        largest = float(np.abs(diagonal).max(initial=1.0))
        # A curvature below the rounding of its parts is noise.
        self.tau = self.dtype(2.4e-7 * largest if small else 1e-12)
        self.full = self.broken = False
        self._have: np.ndarray | None = None
        self._lazy: tuple[Any, ...] = (None, None, 0, 0.0, 0.0, None)
        if lazy is not None:
            rows, code, coef0, degree = lazy
            transposed = np.empty(rows.shape[::-1], rows.dtype)
            pack_transposed(rows, code, transposed)
            self._have = have = np.zeros(len(K), np.uint8)
            constants = code, self.dtype(coef0), float(degree)
            self._lazy = rows, transposed, *constants, have

    def run(
        self,
        v: np.ndarray,
        b: np.ndarray,
        tol: float,
        budget: int,
        stop: Callback | None = None,
    ) -> tuple[int, bool]:
        """Move b (in place) until the gap of this matrix is at most `tol`.

        v is not changed: the caller computes it anew, more exactly. Returns the
        steps taken and whether the gap was reached; `broken` is set on NaN.
        """
        work = v.astype(self.dtype)
        up, low = penalties(b, self.lower, self.upper, self.dtype)
        per_step = 1e-9 * len(b) + 1e-6
        slice_steps = max(100, int(SLICE_SECONDS / per_step))
        done = 0
        while done < budget:
            code, steps, _, _ = smo_steps(
                self.K, self.scale, self.diag, self.shift, work, b, self.lower,
                self.upper, up, low, self.tau, self.dtype(tol),
                min(slice_steps, budget - done), *self._lazy, self._room(),
            )  # fmt: skip
            done += steps
            if code == _FULL:
                self.full = True
                return done, False
            if code != _STEPS:
                self.broken = code == _NAN
                return done, code == _DONE
            if stop is not None and stop(TracePoint(done, np.nan, np.nan, 0.0)):
                break
        return done, False

    def _room(self) -> int:
        if self._have is None:
            return 0
        limit = int(LAZY_SHARE * len(self._have)) + 64
        return max(0, limit - int(self._have.sum()))

    def complete(self, square: Callable[[np.ndarray], object]) -> None:
        """Fill the whole matrix at once, after `full`."""
        square(self.K)
        self.full = False
        self._have = None
        self._lazy = (None, None, 0, 0.0, 0.0, None)


def solve_smo(
    K: np.ndarray,
    target: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    *,
    tol: float = 1e-3,
    max_iter: int = 10_000_000,
    start: np.ndarray | None = None,
    shift: np.ndarray | None = None,
    callback: Callback | None = None,
) -> SolverResult:
    """Minimise ``1/2 b'(K + D) b - target'b`` at fixed ``sum b`` within bounds.

    Stops when ``max{v_i: b_i < upper_i} - min{v_i: b_i > lower_i} <= tol`` with
    ``v = target - (K + D) b`` computed in float64 from the entries given.

    Parameters
    ----------
    K : ndarray of float64 or float32, (n, n)
        Gram matrix, symmetric; need not be positive semidefinite (a pair with
        negative curvature moves until a bound stops it).
    target, lower, upper : ndarray of float64, (n,)
        Linear term and bounds; `upper` may be inf.
    tol : float
        Largest gap, absolute.
    max_iter : int
        Largest number of steps.
    start : ndarray of float64, (n,), optional
        Feasible first point; it fixes ``sum b``. Zero by default.
    shift : ndarray of float64, (n,), optional
        The diagonal D, kept apart from the entries of K.
    callback : callable, optional
        Called with a TracePoint about every 50 ms; True stops the solver.

    Returns
    -------
    SolverResult
        ``x`` is b, ``gradient`` is -v, ``intercept`` the multiplier of ``sum b``,
        ``measure`` the gap.
    """
    began = time.perf_counter()
    n = len(target)
    b = np.zeros(n) if start is None else np.array(start, np.float64)
    shift = np.zeros(n) if shift is None else shift
    inner = Inner(K, np.diagonal(K).astype(np.float64), shift, lower, upper)
    with np.errstate(over="ignore", invalid="ignore"):
        steps, status, gap, v = run_smo(
            inner, lambda index, w: columns_product(K, index, w), target, b,
            tol=tol, max_iter=max_iter, callback=callback,
        )  # fmt: skip
        objective = float(-0.5 * (b @ (target + v)))
    return SolverResult(
        x=b,
        status=status if np.isfinite(objective) else Status.FAILED,
        n_iter=steps,
        objective=objective,
        measure=gap,
        intercept=multiplier(v, b, lower, upper),
        gradient=-v,
        seconds=time.perf_counter() - began,
    )


def columns_product(K: np.ndarray, index: np.ndarray, w: np.ndarray) -> np.ndarray:
    """``K[:, index] @ w`` for a symmetric K, sums in float64."""
    out = np.zeros(K.shape[0])
    prefix_product(K, index.view(np.uint64), w, out)
    return out


def run_smo(inner, product, target, b, *, tol, max_iter, callback=None, square=None):
    """SMO with its gradient computed anew until the exact gap is at most `tol`.

    ``product(index, w)`` gives ``K[:, index] @ w``; ``square(out)`` the whole matrix,
    for a lazy `inner` that asks for it. Returns (steps, status, gap, v)
    and moves b in place.
    """
    shift, lower, upper = inner.shift, inner.lower, inner.upper
    nonzero = np.flatnonzero(b)
    v = target - shift * b
    if len(nonzero):
        v -= product(nonzero, b[nonzero])
    steps = 0
    previous = np.inf
    reached = stopped = False
    # Rounding gathers in the kernel's v; renewing it costs about n/3 steps.
    refresh = 20_000 + 20 * len(b)
    began = time.perf_counter()

    def stop(point: TracePoint) -> bool:
        nonlocal stopped
        if callback is not None:
            seconds = time.perf_counter() - began
            so_far = TracePoint(steps + point.n_iter, np.nan, np.nan, seconds)
            stopped = bool(callback(so_far))
        return stopped

    while True:
        top, bottom = kkt_gap(v, b, lower, upper)
        gap = max(0.0, top - bottom)
        if inner.broken or not np.isfinite(v).all():
            return steps, Status.FAILED, np.nan, v
        if gap <= tol:
            return steps, Status.CONVERGED, gap, v
        if stopped:
            return steps, Status.STOPPED, gap, v
        if steps >= max_iter:
            return steps, Status.MAX_ITER, gap, v
        if reached and gap > 0.9 * previous:
            return steps, Status.STALLED, gap, v
        previous = gap
        before = b.copy()
        budget = min(max_iter - steps, refresh)
        taken, reached = inner.run(v, b, 0.95 * tol, budget, stop)
        steps += taken
        if inner.full:
            inner.complete(square)
        changed = np.flatnonzero(b != before)
        v -= product(changed, b[changed] - before[changed])
        v -= shift * (b - before)
