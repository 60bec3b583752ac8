"""The acceptance rules of other tools of the field, each to its letter.

All but ``dual`` compare with a golden of the output's dtype: there it comes out of a file or a tensor of that dtype.
"""

from __future__ import annotations

from collections.abc import Mapping

from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import float_format, part
from ascend_opcli.verification.standards.rule import Standard, number

MEAN_LIMITS = {
    "float16": 2.0**-10,
    "bfloat16": 2.0**-7,
    "float32": 2.0**-13,
    "float8_e4m3fn": 2.0**-3,
    "float8_e5m2": 2.0**-2,
}
"""T of MERE < T and MARE < 10 T: the ecosystem page from 2026-04 to 2026-07, and ATK's single benchmark."""

RATIO_TOOLS = ("close", "verify_result")
ORDERS = ("kept", "any")
REPEATS = ("never", "allowed")
SINGLE_TYPES = ("high_precision", "high_performance", "vector_fused")

LEVELS: Mapping[str, tuple[float, float, float]] = {
    "L0": (10.0, 2.0, 2.0),
    "L1": (5.0, 1.5, 1.5),
    "L2": (2.0, 1.2, 1.2),
}
"""Limits of the ratios of MARE, MERE and RMSE."""

# Below S an error over E is counted; S is also the least error by which the third party's divides.
_SMALL = {
    "float16": (2.0**-11, 2.0**-16),
    "bfloat16": (2.0**-8, 2.0**-16),
    "float32": (2.0**-14, 2.0**-30),
    "float8_e4m3fn": (2.0**-4, 2.0**-6),
    "float8_e5m2": (2.0**-3, 2.0**-5),
}

# rtol, atol of torch.testing.assert_close; (0, 0) for the rest.
_ASSERT_CLOSE = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}


def single(
    dtype: str, *, type: str = "high_precision", mare_ratio: float = 10.0
) -> Standard:  # ATK's own word
    """ATK's single benchmark: mean and largest relative error. All its types have the same thresholds."""
    title = f"ATK single benchmark, {type}"
    if dtype == "int8":
        return Standard("single", f"{title}: |got - golden| <= 1 for int8", dtype, atol=1.0)
    if dtype_of(dtype).kind not in ("float", "complex"):
        return equality("single", f"{title}: {dtype} is equal to the golden", dtype)
    row, note = row_of(dtype)
    mean = MEAN_LIMITS[row]
    rule = (
        f"{title}: |got - golden| / (|golden| + 1e-7) has a mean < {number(mean)} and is < "
        f"{number(mean * mare_ratio)} for every element; a golden with NaN or Inf passes{note}{_of_rounded(dtype)}"
    )
    return Standard(
        "single",
        rule,
        part(dtype),
        rtol=mean * mare_ratio,
        atol=mean * mare_ratio * 1e-7,
        mean_limit=mean,
        mean_epsilon=1e-7,
        strict=True,
        non_finite="golden excuses",
        whole="single",
        rounded=True,
    )


def dual(dtype: str, *, level: str = "L1", third: str = "host", inf_nan_mode: float = 1.0) -> Standard:
    """The double benchmark: errors against those of a third-party result, which comes from ``third``."""
    if inf_nan_mode not in (0.0, 1.0):
        raise ValueError(f"'inf_nan_mode' of standard 'dual' is 0 or 1, not {inf_nan_mode:g}")
    title = f"double benchmark {level}"
    if dtype_of(dtype).kind not in ("float", "complex"):
        return equality("dual", f"{title}: {dtype} is equal to the golden", dtype)
    row, note = row_of(dtype)
    small, counted = _SMALL[row]
    mare, mere, rmse = LEVELS[level]
    who = "the host result" if third == "host" else third
    rule = (
        f"{title} against {who}: MARE <= {mare:g} times, MERE <= {mere:g} times, RMSE <= {rmse:g} times the third "
        f"party's (at least {number(small)}) where |golden| >= {number(small)}; below, at most twice as many "
        f"errors over {number(counted)}{note}"
    )
    numbers = {"mare": mare, "mere": mere, "rmse": rmse, "inf_nan_mode": float(inf_nan_mode != 0)}
    return Standard(
        "dual",
        rule,
        part(dtype),
        kind="dual",
        atol=counted,
        rtol=mare * small,
        mean_epsilon=1e-7,
        matched=0.0,
        non_finite="third",
        whole="dual",
        numbers=numbers,
        small=small,
        third=third,
    )


def msopst(dtype: str, *, t1: float = 0.01, t2: float = 0.05, limit: float = 0.1) -> Standard:
    """msopst's error_threshold [t1, t2] with its hard limit max_diff_hd; computed in float32, as there."""
    rule = (
        f"msopst [{number(t1)}, {number(t2)}]: the difference, from {number(t1)} on divided by max(|got|, |golden|, "
        f"2^-14 / {number(t1)}) + 1e-9, is <= {number(t1)} for {(1 - t2) * 100:.6g} % of the elements and "
        f"< {number(limit)} for the rest; a NaN difference counts as good"
    )
    return Standard(
        "msopst",
        rule + modulus_note(dtype) + _of_rounded(dtype),
        part(dtype),
        kind="msopst",
        rounded=True,
        modulus=by_modulus(dtype),
        atol=t1,
        matched=1 - t2,
        limit=limit,
        non_finite="nan is good",
    )


def ratio(
    dtype: str,
    *,
    rtol: float | None = None,
    atol: float = 1e-8,
    ptol: float | None = None,
    tool: str = "close",
) -> Standard:
    """numpy.isclose for all but a share of the elements, with the numbers of TTK's close.

    ``tool`` says what a NaN or Inf that does not meet its like is: for TTK's ``close`` the end, for the
    ``verify_result`` of the samples one more element in the share. NaN meets NaN in both.
    """
    default = 1e-3 if dtype in ("float16", "bfloat16") else 1e-4
    rtol = default if rtol is None else rtol
    ptol = default if ptol is None else ptol
    rule = (
        f"|got - golden| <= {number(rtol)} * |golden| + {number(atol)}; at most {ptol * 100:.6g} % of the "
        f"elements may be over, "
    )
    if tool == "close":
        rule += "and no NaN or Inf may differ (TTK close)"
    else:
        rule += "NaN and Inf that differ among them (verify_result.py)"
    return Standard(
        "ratio",
        rule + modulus_note(dtype) + _of_rounded(dtype),
        part(dtype),
        rounded=True,
        rtol=rtol,
        atol=atol,
        forgiven=ptol,
        non_finite="match" if tool == "close" else "all in the share",
        modulus=by_modulus(dtype),
    )


def cosine(dtype: str, *, max: float = 0.01) -> Standard:  # the number's name is what the user writes
    """TTK's cosine: 1 - cos of the angle between output and golden, both taken as one vector."""
    rule = f"1 - cos(got, golden) <= {number(max)} over the whole output; an element alone may use that up"
    return Standard(
        "cosine",
        rule + parts_note(dtype) + _of_rounded(dtype),
        part(dtype),
        matched=0.0,
        whole="cosine",
        numbers={"max": max},
        rounded=True,
    )


def torch_npu(dtype: str, *, prec: float = 1e-4, prec16: float = 1e-3) -> Standard:
    """torch_npu's assertRtolEqual: fails where the relative and the absolute test both fail too often."""
    kind = dtype_of(dtype).kind
    if kind in ("bool", "complex") or dtype.startswith("float8"):
        why = "" if kind == "bool" else f" (assertRtolEqual does not take {dtype})"
        return equality("torch_npu", f"torch_npu assertRtolEqual: equal to the golden{why}", dtype)
    if dtype == "bfloat16":
        both = number(prec16)
        rule = f"torch_npu, bfloat16: torch.allclose, |got - golden| <= {both} * |golden| + {both} for every element"
        return Standard(
            "torch_npu",
            rule + _of_rounded(dtype),
            dtype,
            rtol=prec16,
            atol=prec16,
            non_finite="nan differs",
            rounded=True,
        )
    p, least = (prec16, 6e-8) if dtype == "float16" else (prec, 1e-9)
    rule = (
        f"torch_npu assertRtolEqual: |got - golden| <= {number(p)}, or divided by max(|got|, |golden|) + {least:g} "
        f"<= {number(p)}; fails where each of the two fails for more than {p * 100:.6g} % of the elements"
    )
    return Standard(
        "torch_npu",
        rule + _of_rounded(dtype),
        dtype,
        kind="torch_npu",
        rounded=True,
        atol=p,
        matched=0.0,
        non_finite="in the share",
        whole="torch_npu",
        numbers={"least": least},
    )


def assert_close(dtype: str, *, rtol: float | None = None, atol: float | None = None) -> Standard:
    """torch.testing.assert_close with its numbers by dtype; NaN does not meet NaN."""
    if (rtol is None) != (atol is None):
        raise ValueError("standard 'assert_close' takes rtol and atol together or neither")
    table = _ASSERT_CLOSE.get(dtype, (0.0, 0.0))
    rtol, atol = (table[0], table[1]) if rtol is None or atol is None else (rtol, atol)
    rule = (
        f"torch.testing.assert_close: |got - golden| <= {number(rtol)} * |golden| + {number(atol)} for every "
        f"element; NaN does not equal NaN"
    )
    return Standard(
        "assert_close",
        rule + modulus_note(dtype) + _of_rounded(dtype),
        part(dtype),
        rounded=True,
        rtol=rtol,
        atol=atol,
        non_finite="nan differs",
        modulus=by_modulus(dtype),
    )


def quant(dtype: str) -> Standard:
    """A quantised output may be one step of its integers off."""
    if dtype_of(dtype).kind not in ("int", "uint"):
        return equality(
            "quant", f"quant does not cover {dtype}: equal to the golden rounded to {dtype}", dtype
        )
    return Standard("quant", "|got - golden| <= 1 (one LSB) for every element", dtype, atol=1.0)


def random(dtype: str, *, alpha: float = 0.01) -> Standard:
    """Kolmogorov-Smirnov: whether output and golden may come from the same distribution; order does not count."""
    rule = f"Kolmogorov-Smirnov: output and golden come from one distribution, alpha {number(alpha)}"
    return Standard(
        "random",
        rule + parts_note(dtype),
        part(dtype),
        kind="none",
        matched=0.0,
        non_finite="anything",
        whole="random",
        numbers={"alpha": alpha},
    )


def selects(
    dtype: str, *, input: str = "", axis: float | str = -1, values: str = "", order: str = "kept",
    repeats: str = "never",
) -> Standard:  # fmt: skip
    """Places along an axis of an input: those of equal elements are as right as the golden's; see :mod:`.selects`."""
    along = f"axis {number(axis)}" if not isinstance(axis, str) else axis
    how = [f"places along {along} of {input}, those of equal elements being as right"]
    how += ["each once in a slice"] if repeats == "never" else []
    how += ["in any order" + (f", that of {values}" if values else "")] if order == "any" else []
    return Standard("selects", ", ".join(how), dtype, kind="equal")


def md5(dtype: str) -> Standard:
    """The bytes have the same MD5, which is to say that they are the same, the payload of NaN included."""
    rule = f"the same MD5: every byte equals the golden rounded to {dtype}, NaN payloads and -0.0 included"
    return Standard("md5", rule, part(dtype), kind="bytes")


def by_modulus(dtype: str) -> bool:
    """Whether the rules of NumPy, PyTorch, TTK and msopst take an element as one complex number."""
    return dtype_of(dtype).kind == "complex"


def modulus_note(dtype: str) -> str:
    """What such a rule has to say about complex numbers; empty for the rest."""
    return " (of complex numbers, | | is the modulus)" if by_modulus(dtype) else ""


def _of_rounded(dtype: str) -> str:
    """What a rule says of a golden that is rounded before, and how coarse that is: the floor of the dtype."""
    if dtype_of(dtype).kind not in ("float", "complex"):
        return ""
    step = number(2.0 ** -float_format(part(dtype)).mantissa)
    return f"; as there, the golden is rounded to {dtype} first, whose steps are up to {step} of a value"


def equality(name: str, rule: str, dtype: str) -> Standard:
    """Equality under the name of a standard that has no distance for a dtype."""
    return Standard(name, rule, part(dtype), kind="equal")


def row_of(dtype: str) -> tuple[str, str]:
    """The row of a table for a float or complex dtype, and what the rule has to say about it."""
    if dtype_of(dtype).kind == "complex":
        return "float32", " (real and imaginary part, by the float32 row)"
    if dtype == "float64":
        return "float32", " (float64 has no row: the float32 row)"
    return dtype, ""


def parts_note(dtype: str) -> str:
    """What a rule for each part has to say about complex numbers; empty for the rest."""
    return " (real and imaginary part)" if dtype_of(dtype).kind == "complex" else ""
