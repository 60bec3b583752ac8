"""Two saved tensors judged as an output and its golden, without the files being read into memory."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from ascend_opcli.model import OutputReport, Shape, StandardChoice
from ascend_opcli.tensors.dtypes import dtype as dtype_of
from ascend_opcli.tensors.dtypes import name_of
from ascend_opcli.tensors.saved import opened
from ascend_opcli.verification.comparison import Comparison
from ascend_opcli.verification.diagnosis.diagnose import diagnose
from ascend_opcli.verification.judge import judge_and_locate, side_by_side
from ascend_opcli.verification.standards.choice import check_for
from ascend_opcli.verification.standards.named import SELECTS, default_for, needs_input
from ascend_opcli.verification.standards.selects import settled


def compare_saved(
    actual: str,
    expected: str,
    *,
    choice: StandardChoice | None = None,
    dtype: str | None = None,
    expected_dtype: str | None = None,
    shape: str | None = None,
    all_standards: bool = False,
) -> OutputReport:
    """Judges ``actual`` against ``expected``, both paths as :func:`.tensors.saved.opened` takes them.

    The dtype is that of the output; the golden may have a wider one. Without a choice the dtype's default
    standard judges. The dual standard's ``third`` is a path too, as are ``input`` and ``values`` of the standard
    ``selects``. Raises ValueError in one sentence for a file
    that is unfit, SurroundingsError where a .pt file needs PyTorch and there is none.
    """
    wanted = None if shape is None else _shape(shape)
    got = opened(actual, dtype, wanted, named="--dtype")
    name = name_of(got.dtype)
    golden = opened(expected, expected_dtype or _of_raw(expected, dtype), wanted, named="--expected-dtype")
    if dtype_of(name).kind in ("float", "complex") and golden.dtype.kind == "b":
        raise ValueError(f"{expected} holds bool, which is no golden of {name}")
    choice = choice or default_for(name)
    third = None
    if choice.name == "dual":
        word = str(choice.numbers.get("third", ""))
        if not word or word == "host":
            raise ValueError("the standard dual needs a third-party result here: dual:third=FILE")
        third = opened(word, dtype, wanted or got.shape, named="--dtype")
        if third.shape != got.shape:
            raise ValueError(f"{word} has the shape {list(third.shape)}, {actual} has {list(got.shape)}")
    inputs = {}
    if choice.name == SELECTS:
        needs_input(choice)
        words = (str(choice.numbers[w]) for w in ("input", "values") if w in choice.numbers)
        inputs = {word: opened(word, None, None, named="a .npy file") for word in words}
    return compare(Comparison("output", got, golden, name, third=third, inputs=inputs), choice, all_standards)


def compare(comparison: Comparison, choice: StandardChoice, all_standards: bool = False) -> OutputReport:
    """Judges an output by its golden alone, and says what is wrong with one that failed.

    ``all_standards`` adds how every standard would judge. Raises ValueError, in one sentence, for a choice that cannot
    be made concrete.
    """
    if choice.name == SELECTS:
        check_for(choice, comparison.dtype)
        golden = settled(choice, comparison.got, comparison.golden, comparison.inputs)
        comparison = dataclasses.replace(comparison, golden=golden)
    report, failing = judge_and_locate(comparison, choice)
    if not report.passed:
        found = diagnose(comparison, choice, failing)
        report = dataclasses.replace(
            report, diagnosis=found.sentence, mismatch_strip=found.strip, ulp_histogram=found.histogram
        )
    if all_standards:
        report = dataclasses.replace(report, standards=side_by_side(comparison))
    return report


def _of_raw(path: str, dtype: str | None) -> str | None:
    """A raw golden has the output's dtype unless it is said; other files say theirs."""
    return dtype if path.lower().endswith(".bin") else None


def _shape(text: str) -> Shape:
    if text.strip() == "scalar":
        return ()
    try:
        dims = tuple(int(part) for part in text.strip("[]() ").replace("x", ",").split(","))
    except ValueError:
        raise ValueError(f"'{text}' is not a shape such as 16x3x171, 4,4 or scalar") from None
    if any(dim < 0 for dim in dims) or math.prod(dims) > np.iinfo(np.int64).max:
        raise ValueError(f"'{text}' is not a shape such as 16x3x171, 4,4 or scalar")
    return dims
