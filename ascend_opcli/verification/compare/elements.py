"""The figures of chosen elements, in float64: the slow and plain definition of every statistic.

The streaming pass proves cheaply that most elements are harmless and hands the others to this module;
:func:`failing` does so for elements that need no figures.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import float_format, part, round_to, widen
from ascend_opcli.verification.standards.rule import Standard


@dataclass(slots=True)
class Figures:
    """One row per element, for a complex number the worse of its parts, or its modulus where that counts."""

    exact: np.ndarray
    outside: np.ndarray
    """The error is over the tolerance."""
    beyond: np.ndarray
    """The error is over the limit, by ``excess``."""
    excess: np.ndarray
    error: np.ndarray
    """|got - golden|, Inf at a mismatch."""
    size: np.ndarray
    """|golden|."""
    used: np.ndarray
    """The share of the tolerance or, where it is nearer, of the limit."""
    nan: np.ndarray
    """NaN against a number."""
    inf: np.ndarray
    """Inf against anything else."""
    nan_got: np.ndarray
    """Such a NaN stands in the output."""
    inf_got: np.ndarray
    """Such an Inf stands in the output."""
    sign: np.ndarray
    zero: np.ndarray
    atol_needed: np.ndarray
    rtol_needed: np.ndarray
    relative: np.ndarray
    paired: np.ndarray
    """NaN meets NaN, and the standard counts that as different."""

    @property
    def mismatch(self) -> np.ndarray:
        return np.asarray(self.nan | self.inf)


def figures(got: np.ndarray, golden: np.ndarray, dtype: str, standard: Standard) -> Figures:
    """All figures of gathered elements: ``got`` [k] in ``dtype``, ``golden`` [k] as it is stored."""
    if dtype_of(dtype).kind in ("float", "complex"):
        return _floats(got, golden, dtype, standard)
    return _integers(got, golden, dtype, standard)


def failing(got: np.ndarray, golden: np.ndarray, dtype: str, standard: Standard) -> np.ndarray:
    """Which elements are over the tolerance or the limit: bool [k], ``got`` and ``golden`` as for :func:`figures`.

    A float far from the largest number is rated without its golden being rounded, which changes nothing there; integers
    that are equal pass every rule.
    """
    kind = dtype_of(dtype).kind
    if kind == "float" and standard.kind in ("linear", "ulp"):
        x, y = widen(got, np.float64), wide_golden(golden, dtype)[:, 0].astype(np.float64, copy=False)
        _, _, _, outside, _, beyond = rated(x, y, standard)
        bad = np.asarray(outside | beyond)
        rest = np.flatnonzero(~((np.abs(y) < float_format(dtype).largest / 2) & np.isfinite(x)))
    else:
        bad = np.zeros(got.shape, bool)
        rest = np.arange(got.size)
        if kind in ("int", "uint"):
            rest = np.flatnonzero((got != round_to(golden, dtype)) | (golden != golden))
    if rest.size:
        found = figures(got[rest], golden[rest], dtype, standard)
        bad[rest] = found.outside | found.beyond
    return bad


def split(values: np.ndarray, dtype: str) -> np.ndarray:
    """Complex numbers as rows of two floats, other values as rows of one: a view [k, parts] of [k]."""
    component = part(dtype)
    if component == dtype:
        return values.reshape(-1, 1)
    return values.view(component).reshape(-1, 2)


def wide_golden(golden: np.ndarray, dtype: str) -> np.ndarray:
    """A golden as float32 or float64 [k, parts], whichever holds it; integers become float64."""
    if part(dtype) != dtype:
        if golden.dtype not in (np.complex64, np.complex128):
            golden = golden.astype(np.complex128)
        return split(golden, golden.dtype.name)
    if golden.dtype.kind in "iub" or golden.dtype.itemsize > 8:
        golden = golden.astype(np.float64)
    elif golden.dtype.itemsize < 4:
        golden = widen(golden, np.float32)
    return golden.reshape(-1, 1)


def distances(got: np.ndarray, golden: np.ndarray, standard: Standard) -> tuple[np.ndarray, ...]:
    """Error, |golden| and share used of finite float64 or complex128 values; the share is of the tolerance or
    the limit."""
    return _linear(got, golden, standard)[:3]


def _linear(got: np.ndarray, golden: np.ndarray, standard: Standard) -> tuple[np.ndarray, ...]:
    """What :func:`distances` gives, the tolerance, and how much each error exceeds the limit, at least 0."""
    error = np.abs(got - golden)
    # The modulus of a finite complex number may overflow.
    size = np.minimum(np.abs(golden), np.finfo(np.float64).max)
    tolerance = allowed = standard.tolerance(size)
    hard = standard.hard_limit(size)
    if hard is None:
        excess = np.zeros_like(error)
    else:
        allowed = np.minimum(tolerance, hard)
        excess = np.maximum(error - hard, 0.0)
    used = np.where(error == 0.0, 0.0, error / allowed)
    return error, size, used, tolerance, excess


def rated(got: np.ndarray, golden: np.ndarray, standard: Standard) -> tuple[np.ndarray, ...]:
    """Error, |golden|, share used, and how it lies: outside, excess over the limit, beyond it. Finite float64."""
    if standard.kind == "msopst":
        return _rated_msopst(got, golden, standard)
    if standard.kind == "torch_npu":
        error, size = np.abs(got - golden), np.abs(golden)
        relative = error / (np.maximum(np.abs(got), size) + standard.numbers["least"])
        nearer = np.minimum(error, relative)
        used = np.where(error == 0.0, 0.0, nearer / standard.atol)
        none = np.zeros(error.shape)
        return error, size, used, nearer > standard.atol, none, none > 0.0
    error, size, used, tolerance, excess = _linear(got, golden, standard)
    outside = (error >= tolerance) if standard.strict else (error > tolerance)
    return error, size, used, outside, excess, excess > 0.0


def _rated_msopst(got: np.ndarray, golden: np.ndarray, standard: Standard) -> tuple[np.ndarray, ...]:
    """msopst computes in float32, and so do we; its threshold t1 is a float32 there too."""
    t1, limit = np.float32(standard.atol), np.float32(standard.limit or 0.0)
    narrow = np.complex64 if got.dtype.kind == "c" else np.float32
    a, b = got.astype(narrow), golden.astype(narrow)
    d = np.abs(a - b)
    floor = np.float32(2.0**-14 / standard.atol) if standard.atol else np.float32(np.inf)
    larger = np.maximum(np.maximum(np.abs(a), np.abs(b)), floor) + np.float32(1e-9)
    r = np.where(d < t1, d, d / larger)
    outside = r > t1
    wide = r.astype(np.float64)
    used = np.where(wide == 0.0, 0.0, wide / float(t1))
    beyond = outside & (r >= limit)
    excess = np.where(beyond, wide - float(limit), 0.0)
    return np.abs(got - golden), np.abs(golden), used, outside, excess, beyond


def needed(error: np.ndarray, size: np.ndarray, standard: Standard) -> tuple[np.ndarray, np.ndarray]:
    """The smallest atol (rtol kept) and rtol (atol kept) with which each element would pass, at least 0."""
    if standard.kind != "linear":
        return np.zeros_like(error), np.zeros_like(error)
    kept = standard.rtol * size
    atol = np.maximum(error - kept, 0.0)
    over = error - standard.atol
    rtol = np.where(over > 0.0, over / size, 0.0)
    # Rounding may leave the tolerance a step or two short of the error.
    for _ in range(4):
        low_atol, low_rtol = atol + kept < error, standard.atol + rtol * size < error
        if not (low_atol.any() or low_rtol.any()):
            break
        atol[low_atol] = np.nextafter(atol[low_atol], np.inf)
        rtol[low_rtol] = np.nextafter(rtol[low_rtol], np.inf)
    return atol, rtol


def _floats(got: np.ndarray, golden: np.ndarray, dtype: str, standard: Standard) -> Figures:
    component = part(dtype)
    value = widen(split(got, dtype), np.float64)
    stored = wide_golden(golden, dtype)
    narrow = round_to(stored, component)
    rounded = widen(narrow, np.float64)
    # A golden that rounds to Inf is expected as that Inf; otherwise it counts unrounded.
    expected = np.where(np.isfinite(rounded), stored.astype(np.float64), rounded)

    exact = same(value, rounded)
    finite = np.isfinite(value) & np.isfinite(expected)
    x, y = np.where(finite, value, 0.0), np.where(finite, expected, 0.0)
    sign = finite & (((x < 0) & (y > 0)) | ((x > 0) & (y < 0)))
    # A golden so small that it rounds to zero is met by zero.
    zero = finite & ((x == 0) != (y == 0)) & (x != rounded)
    if standard.kind == "bits":
        signs = np.signbit(value) != np.signbit(rounded)
        exact &= ~(finite & signs)
        sign |= finite & signs & (x == 0) & (y == 0)

    if standard.kind == "bytes":
        exact = same_bytes(split(got, dtype), narrow)

    got_nan, golden_nan, infinite = np.isnan(value), np.isnan(expected), np.isinf(value)
    special, differ = infinite | np.isinf(expected), value != expected
    if standard.modulus:
        got_nan, golden_nan, infinite, special, differ = (
            np.any(each, axis=1, keepdims=True) for each in (got_nan, golden_nan, infinite, special, differ)
        )
        finite = np.all(finite, axis=1, keepdims=True)
        x, y = (np.where(finite, each, 0.0).view(np.complex128) for each in (x, y))
    nan = got_nan != golden_nan
    either_nan = got_nan | golden_nan
    inf = ~either_nan & special & differ
    mismatch = nan | inf
    paired = np.zeros(nan.shape, dtype=bool)
    if standard.non_finite == "nan differs":
        paired = either_nan & ~nan
        exact &= ~paired
    failing = inf if standard.non_finite == "nan is good" else mismatch | paired

    error, size, used, outside, excess, beyond = rated(x, y, standard)
    if standard.equality:
        outside = ~exact
        used = np.where(exact, 0.0, np.inf)
    else:
        outside = np.asarray(outside | failing)
    atol, rtol = needed(error, size, standard)
    relative = error / (size + standard.mean_epsilon) if standard.mean_limit is not None else error
    for figure in (error, used, atol, rtol, relative):
        figure[failing] = np.inf
    return Figures(
        exact=(exact & ~outside & ~beyond).all(axis=1),
        outside=np.asarray(outside.any(axis=1)),
        beyond=np.asarray(beyond.any(axis=1)),
        excess=excess.max(axis=1),
        error=_of_worse(error, used),
        size=_of_worse(size, used),
        used=used.max(axis=1),
        nan=nan.any(axis=1),
        inf=inf.any(axis=1),
        nan_got=(nan & got_nan).any(axis=1),
        inf_got=(inf & infinite).any(axis=1),
        sign=sign.any(axis=1),
        zero=zero.any(axis=1),
        atol_needed=atol.max(axis=1),
        rtol_needed=rtol.max(axis=1),
        relative=relative.sum(axis=1),
        paired=np.asarray(paired.any(axis=1)),
    )


def same_bytes(got: np.ndarray, rounded: np.ndarray) -> np.ndarray:
    """Equality of the bits of two arrays of one dtype."""
    word = np.dtype(f"u{got.dtype.itemsize}")
    return np.asarray(got.view(word) == rounded.view(word))


def same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where two arrays of floats are equal, NaN being equal to NaN."""
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


def wide(values: np.ndarray) -> np.ndarray:
    """Values as float64 or complex128; 64-bit integers beyond 2^53 are rounded."""
    if values.dtype.kind == "c":
        return values.astype(np.complex128)
    if values.dtype.kind == "b":
        values = values.view(np.uint8)  # a byte that is no bool stays what it is
    if values.dtype.kind in "iu":
        return values.astype(np.float64)
    return widen(values, np.float64)


def _of_worse(figure: np.ndarray, used: np.ndarray) -> np.ndarray:
    """The figure of the part that uses more of its tolerance."""
    if figure.shape[1] == 1:
        return figure[:, 0]
    return np.where(used[:, 1] > used[:, 0], figure[:, 1], figure[:, 0])


def _integers(got: np.ndarray, golden: np.ndarray, dtype: str, standard: Standard) -> Figures:
    """Integers and bool: differences are taken in 64-bit integers, so nothing is lost near 2**63."""
    nan = np.isnan(golden) if golden.dtype.kind == "f" else np.zeros(golden.shape, dtype=bool)
    wide = np.uint64 if dtype_of(dtype).kind == "uint" else np.int64
    # A byte of a bool that is neither 0 nor 1 is no value that the golden could have.
    values = got.view(np.uint8) if dtype == "bool" else got
    x, y = values.astype(wide), round_to(golden, dtype).astype(wide)
    exact = (x == y) & ~nan
    # Subtracting the smaller from the larger modulo 2**64 is the true distance for signed values too.
    error = (np.maximum(x, y).view(np.uint64) - np.minimum(x, y).view(np.uint64)).astype(np.float64)
    size = np.abs(y.astype(np.float64))
    beyond, excess = np.zeros(got.shape, dtype=bool), np.zeros(got.shape)
    if standard.equality:
        outside, used = ~exact, np.where(exact, 0.0, np.inf)
    elif standard.kind in ("msopst", "torch_npu"):
        wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
        _, _, used, outside, excess, beyond = rated(wide_x, wide_y, standard)
        outside |= nan
    else:
        allowed = standard.tolerance(size)
        outside = (error > allowed) | nan
        used = np.where(error == 0.0, 0.0, error / allowed)
    atol, rtol = needed(error, size, standard)
    for figure in (error, used, atol, rtol):
        figure[nan] = np.inf
    none = np.zeros(got.shape, dtype=bool)
    return Figures(
        exact=exact & ~outside,
        outside=outside,
        beyond=beyond,
        excess=excess,
        error=error,
        size=size,
        used=used,
        nan=nan,
        inf=none,
        nan_got=none,
        inf_got=none,
        sign=((x < 0) & (y > 0)) | ((x > 0) & (y < 0)),
        zero=((x == 0) != (y == 0)) & ~nan,
        atol_needed=atol,
        rtol_needed=rtol,
        relative=np.zeros(got.shape),
        paired=none,
    )
