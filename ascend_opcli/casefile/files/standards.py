"""The acceptance rules of other tools by opcli's names; what has no name here cannot be judged."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ascend_opcli.casefile.tree import clip
from ascend_opcli.errors import did_you_mean
from ascend_opcli.tensors.dtypes import DTYPES

Choice = tuple["str | dict[str, Any] | None", str, str]
"""The standard in opcli's grammar, where it comes from, and why it cannot be judged by, else empty."""

_ATK: Mapping[str, str | dict[str, Any]] = {
    "default": "ecosystem",
    "mixed_tolerance_bm": "ecosystem",
    "single_bm": "single",
    "md5": "md5",
    "equal": "exact",
    "double_benchmark": "dual",
    "random_bm": "random",
    "stand_quantize": "quant",
}
_REGISTERED = {"stand_quantize": ", which executors register as |got - golden| <= 1 in int64"}
"""Rules that are not ATK's own: what the published executors that register them mean by the name."""

_TYPES = ("high_precision", "high_performance", "vector_fused")
_POWER = re.compile(r"\s*(\d+)\s*\*\*\s*(-?\d{1,4})\s*")


def of_atk(acc: Any) -> Choice:
    """The ``acc`` of an ATK case: a name, or a name with its numbers."""
    name: Any = acc
    numbers: Any = {}
    if isinstance(acc, dict) and len(acc) == 1:
        name, numbers = next(iter(acc.items()))
    if acc is None:
        name = "default"
    if not isinstance(name, str) or not isinstance(numbers, (dict, type(None))):
        return None, "", f"cannot judge: the standard {clip(str(acc))} is not known"
    origin = f"ATK standard {name}"
    if name == "cv_fused_double_benchmark":
        return _fused(numbers or {}, origin)
    if name not in _ATK:
        near = did_you_mean(clip(name), [*_ATK, "cv_fused_double_benchmark"])
        return (
            None,
            "",
            f"cannot judge: the standard {clip(name)} is not known; an executor may define it{near}",
        )
    chosen = _ATK[name]
    origin += _REGISTERED.get(name, "")
    if name == "single_bm" and numbers:
        return _single(numbers, origin)
    return chosen, origin, ""


def _single(numbers: Mapping[str, Any], origin: str) -> Choice:
    """Of the numbers that a single benchmark may carry ATK itself obeys ``mare_ratio`` alone."""
    made: dict[str, Any] = {}
    kind = numbers.get("type")
    if isinstance(kind, str):
        if kind not in _TYPES:
            return (
                None,
                "",
                f"cannot judge: single_bm has no type {clip(kind)}{did_you_mean(clip(kind), _TYPES)}",
            )
        made["type"] = kind
    ratio = numeric(numbers.get("mare_ratio"))
    if ratio is not None:
        made["mare_ratio"] = ratio
    left = sorted(clip(str(k), 20) for k in numbers if k not in ("type", "mare_ratio"))
    if left:
        origin += f" without {', '.join(left)}, as newer ATK judges"
    return ({"single": made} if made else "single"), origin, ""


def _fused(numbers: Mapping[str, Any], origin: str) -> Choice:
    """Limits 10, 2 and 2 are level L0 of the double benchmark; others have no name here."""
    limits = (("max_re_ration", 10), ("avg_re_ratio", 2), ("root_mean_squared_ratio", 2))
    if any(numeric(numbers.get(key, limit)) != limit for key, limit in limits):
        return None, "", "cannot judge: cv_fused_double_benchmark with other limits than 10, 2 and 2"
    return {"dual": {"level": "L0"}}, origin, ""


def numeric(value: Any) -> float | None:
    """A number, or a power as text: ``"2**-10"``."""
    if isinstance(value, bool):
        return None
    found = _POWER.fullmatch(value) if isinstance(value, str) and len(value) <= 64 else None
    try:
        if found is not None:
            return float(int(found[1])) ** int(found[2])
        return float(value) if isinstance(value, (int, float)) else None
    except ArithmeticError:
        return None


def of_ttk(
    tolerances: Any, absolute: Any, outputs: Mapping[str, str], *, float_inputs: bool
) -> dict[str, Any]:
    """``expect.standard`` by output of a TTK row that has tolerances: ``ratio``, which is TTK's ``close``.

    ``outputs`` are dtypes by name. An output without a pair of its own has the comparator's default for its
    dtype; integers are equal, but int8 made of floats may be one off.
    """
    pairs = tolerances if isinstance(tolerances, tuple) else (tolerances,)
    if len(pairs) == 2 and all(isinstance(p, (int, float)) for p in pairs):
        pairs = (pairs,)
    made: dict[str, Any] = {}
    for i, (name, dtype) in enumerate(outputs.items()):
        if DTYPES[dtype].kind not in ("float", "complex"):
            made[name] = "quant" if dtype == "int8" and float_inputs else "exact"
            continue
        pair = pairs[i] if i < len(pairs) else None
        atol = absolute[i] if isinstance(absolute, tuple) and i < len(absolute) else absolute
        numbers: dict[str, Any] = {}
        if pair is not None:
            if not (
                isinstance(pair, tuple) and len(pair) == 2 and all(isinstance(p, (int, float)) for p in pair)
            ):
                raise ValueError(f"precision_tolerances is pairs of numbers, not {clip(str(pair))}")
            numbers = {"rtol": float(pair[0]), "ptol": min(float(pair[1]), 1.0)}
        if isinstance(atol, (int, float)) and not isinstance(atol, bool):
            numbers["atol"] = float(atol)
        made[name] = {"ratio": numbers} if numbers else "ratio"
    return made


def of_msopst(threshold: Any) -> Choice:
    """``error_threshold`` [t1, t2] of an msopst case."""
    origin = "msopst error_threshold"
    if threshold is None:
        return "msopst", f"{origin} by default", ""
    two = isinstance(threshold, list) and len(threshold) == 2
    numbers = [_threshold(v) for v in threshold] if two else []
    if len(numbers) != 2 or any(n is None or not 0 <= n <= 1 for n in numbers):
        return None, "", f"cannot judge: error_threshold is two numbers of [0, 1], not {clip(str(threshold))}"
    return {"msopst": {"t1": numbers[0], "t2": numbers[1]}}, origin, ""


def _threshold(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
