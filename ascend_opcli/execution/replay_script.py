"""Loads the tensors of a failed call and prints the worst elements of its outputs. Needs NumPy only."""

from __future__ import annotations

import os
import sys
from typing import Any

import numpy as np

# --- of the case
FILE = CASE = SEEN = AGAIN = ""
DTYPES: dict[str, str] = {}
# --- DTYPES has the dtype of every array of FILE: bfloat16 is stored as uint16, float8 as bytes


def small_float(bits: Any, exponent_bits: int, mantissa_bits: int, has_inf: bool) -> Any:
    """The values of 8-bit floats."""
    bits = bits.astype(np.int64)
    top, bias = 2**exponent_bits - 1, 2 ** (exponent_bits - 1) - 1
    exponent, mantissa = bits >> mantissa_bits & top, bits & (2**mantissa_bits - 1)
    normal = np.ldexp(2.0**mantissa_bits + mantissa, exponent - bias - mantissa_bits)
    values = np.where(exponent > 0, normal, np.ldexp(1.0 * mantissa, 1 - bias - mantissa_bits))
    if has_inf:
        values = np.where(exponent == top, np.where(mantissa == 0, np.inf, np.nan), values)
    else:
        values = np.where((exponent == top) & (mantissa == 2**mantissa_bits - 1), np.nan, values)
    return np.where(bits & 128, -values, values)


def decoded(array: Any, dtype: str) -> Any:
    """The values of a stored array; bfloat16 as float32, float8 as float64."""
    if dtype == "bfloat16":
        bits = array.reshape(-1).astype(np.uint32) << np.uint32(16)
        return bits.view(np.float32).reshape(array.shape)
    if dtype.startswith("float8"):
        e5m2 = dtype == "float8_e5m2"
        bits = array.reshape(-1).view(np.uint8).reshape(array.shape)
        return small_float(bits, 5 if e5m2 else 4, 2 if e5m2 else 3, e5m2)
    return array


def error_of(got: Any, golden: Any) -> Any:
    """|got - golden|; 0 for the same Inf and for NaN against NaN, Inf where only one of them is finite."""
    kind = complex if "c" in got.dtype.kind + golden.dtype.kind else float
    with np.errstate(all="ignore"):
        a, b = got.astype(kind), golden.astype(kind)
        error = np.abs(a - b)
        same = (got == golden) | (np.isnan(a) & np.isnan(b))
        # 64-bit integers that differ by less than float64 can tell still differ.
        error = np.where(error == 0, np.where(same, 0.0, 1.0), error)
        return np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))


def main(count: int) -> None:
    """Print the arrays, and of every output its ``count`` worst elements."""
    print(CASE)
    print(SEEN)
    print("again:", AGAIN)
    with np.load(os.path.join(os.path.dirname(os.path.abspath(__file__)), FILE)) as archive:
        arrays = {key: decoded(archive[key], DTYPES[key]) for key in DTYPES}
    for key, array in arrays.items():
        print(f"{key}: {DTYPES[key]}{list(array.shape)}")
    for key, got in arrays.items():
        group, _, name = key.partition(".")
        golden = arrays.get("golden." + name)
        if group != "got" or golden is None or not got.size:
            continue
        error = error_of(got, golden).reshape(-1)
        beside = {k: a for k, a in arrays.items() if k.startswith("input.") and a.shape == got.shape}
        print(f"\n{name}: {np.count_nonzero(error):,} of {got.size:,} elements differ; the worst:")
        for place in np.argsort(-error, kind="stable")[:count]:
            if error[place] == 0:
                break
            index = tuple(int(i) for i in np.unravel_index(place, got.shape))
            inputs = " ".join(f"{k[6:]}={a[index]}" for k, a in beside.items())
            with np.errstate(all="ignore"):
                relative = error[place] / np.abs(golden[index].astype(complex))
            print(
                f"  {list(index)} {inputs} got {got[index]} golden {golden[index]}"
                f"  abs {error[place]:.3g}  rel {relative:.3g}"
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
