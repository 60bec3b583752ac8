"""Results of too little precision: another rounding, a narrower dtype on the way, a fixed number of ulp off."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np

from ascend_opcli.tensors.dtypes import DTYPES, float_format, integer_range, numpy_dtype, round_to
from ascend_opcli.verification.compare.elements import wide
from ascend_opcli.verification.diagnosis.evidence import NEARLY_ALL, Evidence
from ascend_opcli.verification.diagnosis.explanation import Explanation

_NARROWER = {
    "float64": ("float32", "float16", "bfloat16"),
    "float32": ("float16", "bfloat16"),
    "float16": ("bfloat16", "float8_e4m3fn", "float8_e5m2"),
    "bfloat16": ("float16", "float8_e4m3fn", "float8_e5m2"),
}
_COMPUTED_IN = {"float32": ("float16", "bfloat16"), "float16": ("float16",), "bfloat16": ("bfloat16",)}
_CERTAIN = 0.99

MANY_ULPS = 4096
"""More steps than this are no matter of rounding."""

FEW_ULPS = 64
"""Errors up to this size are said in ulp."""


def finer_than_rounding(e: Evidence) -> Explanation | None:
    """Nothing is wrong with the output: the standard allows less than the output's dtype can hold."""
    if not e.is_float:
        return None
    same = e.finite & (e.x == e.rounded) & (np.signbit(e.x) == np.signbit(e.rounded))
    text = f"got is the golden rounded to {e.dtype} in {{these}}: the standard allows less than that rounding"
    return e.explained(same, text, complete=True)


def other_rounding(e: Evidence) -> Explanation | None:
    """Truncation and the like instead of rounding to nearest, ties to even."""
    if not e.is_float or e.dtype == "float64":
        return None
    for exact in _unrounded(e):
        told = np.isfinite(exact) & (np.abs(exact) < e.largest) & np.isfinite(e.x)
        below, above = _neighbours(np.where(told, exact, 0.0), e.dtype)
        told &= below != np.abs(exact)
        if not (told & e.wrong).any():
            continue
        # Only where they are rounded right are these the values that the golden is made of.
        if np.mean(wide(round_to(exact, e.dtype))[told] == e.rounded[told]) < NEARLY_ALL:
            continue
        size, signed = np.abs(exact), np.copysign(1.0, exact)
        halfway = bool((size - below == above - size)[told].all())
        for text, up in _modes(exact, size - below, above - size, halfway):
            same = e.x == signed * np.where(up, above, below)
            if np.mean(same[told]) >= _CERTAIN and (share := e.share(same & told)) >= NEARLY_ALL:
                return Explanation(
                    f"results are {text} instead of rounded to nearest, ties to even",
                    share,
                    complete=True,
                    guess=True,
                )
    return None


def _modes(
    exact: np.ndarray, down: np.ndarray, up: np.ndarray, halfway: bool
) -> Iterator[tuple[str, np.ndarray]]:
    """Each rule with where it takes the larger magnitude; ``down`` and ``up`` are the ways to both neighbours.

    Where all values lie ``halfway``, rules that differ elsewhere cannot be told apart.
    """
    cut, grown = ("truncated", "rounded away from zero")
    if halfway:
        cut, grown = (f"{cut}, or half way towards zero,", f"{grown}, or half way cases alone (half up),")
    yield cut, np.zeros(exact.shape, bool)
    yield grown, np.ones(exact.shape, bool)
    yield "rounded half away from zero (half up)", down >= up
    yield "rounded half towards zero", down > up
    yield "rounded half towards +Inf, floor(x + 0.5),", np.where(exact > 0, down >= up, down > up)
    yield "rounded towards +Inf", exact > 0
    yield "rounded towards -Inf (floor)", exact < 0


def _unrounded(e: Evidence) -> Iterator[np.ndarray]:
    """What the kernel would have before it rounds: the host's float32, then the golden."""
    if e.rerun is not None and DTYPES[e.dtype].itemsize < 4:
        with contextlib.suppress(Exception):
            values = e.rerun.values(unrounded=True)
            if values is not None:
                yield values
    yield e.y


def _neighbours(exact: np.ndarray, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """The magnitudes of the dtype around each |exact|: the largest not above, and the next."""
    bits, nearest = _bits(round_to(np.abs(exact), dtype))
    bits = bits - (wide(nearest) > np.abs(exact))
    kind = f"u{numpy_dtype(dtype).itemsize}"
    below, above = (b.astype(kind).view(numpy_dtype(dtype)) for b in (bits, bits + 1))
    return wide(below), wide(above)


def _bits(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values = np.ascontiguousarray(values)
    return values.view(f"u{values.itemsize}").astype(np.int64), values


def ulps_off(e: Evidence) -> Explanation | None:
    """The same number of steps of the dtype away from the golden, everywhere."""
    if not e.is_float:
        return None
    told = e.finite & (e.x != 0) & (e.rounded != 0) & (np.sign(e.x) == np.sign(e.rounded))
    chosen = told & e.wrong
    if np.count_nonzero(chosen) < 4:
        return None
    steps = _bits(np.abs(e.raw))[0] - _bits(np.abs(round_to(e.rounded, e.dtype)))[0]
    middle = int(np.median(steps[chosen]))
    # The host rounds intermediate float32 values otherwise than a kernel: one step more or less is the same.
    slack = 1 if e.dtype == "float32" and abs(middle) >= 3 else 0
    same = told & (np.abs(steps - middle) <= slack)
    share = e.share(same)
    if 0 < abs(middle) <= MANY_ULPS and share >= NEARLY_ALL:
        way = "further from" if middle > 0 else "nearer to"
        return Explanation(f"got is {abs(middle):,} ulp {way} zero than the golden, in {{these}}", share)
    same = told & (np.abs(steps) == abs(int(np.median(np.abs(steps[chosen])))))
    share = e.share(same)
    many = int(np.median(np.abs(steps[chosen])))
    if 0 < many <= 4 and share >= NEARLY_ALL:
        return Explanation(
            f"got is {many:,} ulp off the golden, in {{these}}, both ways: rounding noise", share
        )
    return None


def rounded_through(e: Evidence) -> Explanation | None:
    """The right results, but rounded to a narrower dtype before they were stored."""
    if e.is_integer and DTYPES[e.dtype].itemsize >= 4:
        other = np.clip(np.rint(e.y.astype(np.float32).astype(np.float64)), *integer_range(e.dtype))
        share = e.share(e.alike(other))
        if share >= NEARLY_ALL:
            return Explanation(
                "got is the golden rounded to float32 on the way, in {these}", share, complete=share == 1
            )
        return None
    for dtype in _NARROWER.get(e.dtype, ()):
        other = wide(round_to(wide(round_to(e.y, dtype)), e.dtype))
        # Equality of nearly all: only so is the narrow dtype told from one a little wider.
        told = np.isfinite(other) & np.isfinite(e.x)
        if not (told & e.wrong).any():
            continue
        share = e.share(e.alike(other))
        if share >= NEARLY_ALL and np.mean(wide(round_to(e.x[told], dtype)) == e.x[told]) >= _CERTAIN:
            text = f"got is the golden rounded to {dtype} on the way"
            return Explanation(text, share, complete=True)
    return None


def bits_lost(e: Evidence) -> Explanation | None:
    """The last bits of the significand are always 0, where the goldens use them."""
    if not e.is_float:
        return None
    mantissa = float_format(e.dtype).mantissa
    told = e.finite & (e.x != 0) & (e.rounded != 0)
    if np.count_nonzero(told & e.wrong) < 8:
        return None
    zeros = _trailing(np.bitwise_or.reduce(_bits(e.raw[told])[0]), mantissa)
    wanted = _trailing(np.bitwise_or.reduce(_bits(round_to(e.rounded[told], e.dtype))[0]), mantissa)
    if zeros < 2 or zeros <= wanted:
        return None
    kept = mantissa + 1 - zeros
    like = {11: " (as in float16 or TF32)", 8: " (as in bfloat16)"}.get(kept, "")
    # Of values that are cut, none is larger than its golden; half of those that are rounded is.
    grown = float(np.mean((np.abs(e.x) - np.abs(e.y))[told & e.wrong] > 0))
    how = "cut off" if grown < 0.05 else "rounded away"
    text = (
        f"the last {zeros} of {mantissa + 1} bits of every significand are {how}: {kept} bits are left{like}"
    )
    return Explanation(text, e.share(told), complete=True)


def _trailing(bits: int, mantissa: int) -> int:
    field = int(bits) & ((1 << mantissa) - 1)
    return mantissa if field == 0 else (field & -field).bit_length() - 1


def narrow_compute(e: Evidence) -> Explanation | None:
    """The reference with all its arithmetic in a narrower dtype."""
    if e.rerun is None or not e.is_float:
        return None
    for dtype in _COMPUTED_IN.get(e.dtype, ()):
        values = e.rerun.values(computed_in=dtype)
        if values is None:
            return None
        share = e.share(e.alike(values))
        if share >= NEARLY_ALL and e.agrees(values):
            return Explanation(f"got is what computing in {dtype} throughout gives", share, complete=True)
    return None


def narrow_noise(e: Evidence) -> Explanation | None:
    """Errors of the size that arithmetic in a narrower dtype makes, though not the same ones."""
    if e.rerun is None or not e.is_float or np.count_nonzero(e.wrong) < 32:
        return None
    for dtype in _COMPUTED_IN.get(e.dtype, ()):
        values = e.rerun.values(computed_in=dtype)
        if values is None:
            return None
        told = e.finite & np.isfinite(values) & (e.y != 0)
        if np.mean(told[e.wrong]) < NEARLY_ALL:
            continue
        ours = (e.x - e.y)[told] / e.ulp[told]
        theirs = (values - e.y)[told] / e.ulp[told]
        spread, expected = (np.percentile(np.abs(v), (50, 90, 99)) for v in (ours, theirs))
        if (expected <= 0).any() or (spread > 3 * expected).any() or (spread < expected / 3).any():
            continue
        grown = float(np.mean(ours[ours != 0] > 0)) if (ours != 0).any() else 0.0
        if 0.25 < grown < 0.75:
            return Explanation(
                f"the errors are as large as computing in {dtype} throughout makes them", complete=True
            )
    return None


def ulp_noise(e: Evidence) -> Explanation | None:
    """Errors of a few ulp that nothing else explains, with how they lie."""
    if not e.is_float or np.count_nonzero(e.wrong) < 4 or not e.finite[e.wrong].all():
        return None
    steps = ((np.abs(e.x) - np.abs(e.y)) / e.ulp)[e.wrong]
    most = float((e.error / e.ulp)[e.wrong].max())
    if not 0 < most <= FEW_ULPS:
        return None
    grown = float(np.mean(steps > 0))
    ways = {0.0: "always towards zero", 1.0: "always away from zero"}.get(grown, "both ways")
    return Explanation(
        f"got differs from the golden by up to {most:.3g} ulp, {ways}, in {{these}}: rounding, or an approximation"
        " in a narrower type"
    )
