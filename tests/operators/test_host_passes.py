"""The host's own result passes its golden: every reference, on tenths, hundredths and at the borders of dtypes."""

from __future__ import annotations

import math
import warnings
import zlib
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest

from ascend_opcli.casefile.new.calls import Calls, filled, product_for
from ascend_opcli.model import Case, Generator, Outcome, VerdictKind, Where
from ascend_opcli.operators.arguments import first_spec
from ascend_opcli.operators.catalog import operators
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference.call import make_call
from ascend_opcli.reference.evaluate import golden, host_result
from ascend_opcli.reference.fitting import UndefinedResult
from ascend_opcli.tensors.dtypes import DTYPES, float_format, integer_range
from ascend_opcli.verification.verdict import judge_outputs

WORDS = ("float32", "float16", "bfloat16", "int32", "int8", "int64", "uint8", "complex64")
SCALARS = (0.1, 0.3, 0.7, 1.5)
FLOATS = ("aclScalar", "double", "float")
LONG = (8, 96)
DECOMPOSED = {"aclnnQr"}
"""Judged by their product, of which nobody can say where a step of the way to it has overflowed."""


def grid(kind: str, dtype: str, own: Any) -> tuple[float, ...]:
    """Values of a kind that the dtype and the operator's own bounds hold; none where there are no such."""
    low, high = own.args if isinstance(own, Generator) and own.kind == "uniform" else (-3.0, 3.0)
    step = {"tenths": 10, "hundredths": 100}.get(kind)
    if DTYPES[dtype].kind == "float" and step:
        return tuple(i / step for i in range(math.ceil(low * step), math.floor(high * step) + 1))
    if kind != "borders" or own is not None:
        return ()
    if DTYPES[dtype].kind == "float":
        most = float_format(dtype).largest
        sizes = (most, most / 2, most / 3, most**0.5, 4 / most, 1.0, 0.0)
        return tuple(s * v for v in sizes for s in (1, -1))
    if DTYPES[dtype].kind in ("int", "uint"):
        least, most = integer_range(dtype)
        return tuple(
            v for v in (least, least + 1, -3, -1, 0, 1, 2, 3, most // 2, most - 1, most) if v >= least
        )
    return ()


def cases_of(operator: Operator) -> Iterator[Case]:
    """A call for each kind of data in one of two dtypes, chosen by the name, with other scalars where taken."""
    calls, start = Calls(operator, product_for(operator)), zlib.crc32(operator.name.encode())
    shape = LONG if operator.elementwise and operator.sample_shape else calls.base_shape
    words = WORDS[start % len(WORDS) :] + WORDS[: start % len(WORDS)]
    two = list(islice((w for w in words if calls.taken(calls.make(w, calls.base_shape))), 2))
    ways = [("tenths", two[:1]), ("hundredths", two[-1:])]
    ways += [("borders", two)] if operator.name not in DECOMPOSED else []
    for seed, (kind, word) in enumerate(((k, w) for k, ws in ways for w in ws), start):
        scalars = {
            p.name: 2 if p.name == "decimals" else SCALARS[(seed + i) % 4]
            for i, p in enumerate(operator.signature.attributes)
            if p.name == "decimals" or (p.type in FLOATS and isinstance(calls.value(p), float))
        }
        made = calls.make(word, shape, scalars if operator.standard != "quant" else {})
        if made is None or not calls.taken(made):
            made = calls.make(word, calls.base_shape)
        assert made is not None
        data = {}
        for name in calls.follows(word):
            spec = first_spec(made[name])
            values = grid(kind, spec.dtype, operator.data.get(name)) if spec is not None else ()
            if kind == "borders" and not operator.elementwise:
                # The largest numbers of both signs cancel in a sum to what float32 has lost, without an overflow.
                values = tuple(v for v in values if v >= 0)
            if values:
                data[name] = Generator("choice", values)
        if data:
            yield Case(
                "here", "here", operator.name, filled(made, data), Where("here", 1, 1), seed=seed % 1000
            )


@pytest.mark.parametrize("operator", operators().values(), ids=[op.short_name for op in operators().values()])
def test_the_host_passes_its_own_golden(operator: Operator) -> None:
    for case in cases_of(operator):
        call = make_call(case, operator.signature, product_for(operator))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
                exact, own = golden(operator, call), host_result(operator, call)
        except UndefinedResult:
            continue
        verdict = judge_outputs(case, operator, call, Outcome("host", outputs=own), exact)
        worst = [o.worst[:1] for o in verdict.outputs if not o.passed]
        assert verdict.word in (VerdictKind.PASS, VerdictKind.SKIP), (verdict.reason, worst)
