"""Results made by hand, for what a run on the host does not give: device words, odd numbers, hostile text."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from ascend_opcli.model import (
    Attribute,
    Branch,
    Case,
    Census,
    Data,
    Element,
    ExpectedStatus,
    Generator,
    OutputReport,
    Phase,
    Result,
    TensorSpec,
    Timings,
    Verdict,
    VerdictKind,
    Where,
)
from ascend_opcli.reporting.finished import FinishedRun

HOSTILE = (
    "<script>alert(1)</script>",
    "]]>",
    "a|b`c``d*e_f_*~g~[x](http://e.example/)![i](j)",
    '"><img src=x onerror=alert(1)>',
    "&amp;&lt;&#60;",
    "@team #12 $x$",
    "=cmd|' /C calc'!A0",
    "bell\x07 escape\x1b[31m nul\x00 return\r",
    "right\u202eto left",
    "误差过大 ÅÄÖ 😀",
    "lone \udcff surrogate",
    "</td></tr></table><details>",
    "--><!--",
)


def spec(dtype: str = "float32", shape: tuple[int, ...] = (4,), data: Data | None = None) -> TensorSpec:
    count = math.prod(shape)
    strides = tuple(math.prod(shape[n + 1 :]) for n in range(len(shape)))
    return TensorSpec(dtype, shape, data, strides, 0, (count,))


def case(
    name: str = "one",
    *,
    dtype: str = "float32",
    shape: tuple[int, ...] = (4,),
    data: Data | None = None,
    path: str = "cases/a.yaml",
    status: int | None = None,
    **changes: Any,
) -> Case:
    made = Case(
        path,
        name,
        "aclnnLogitGrad",
        {
            "x": spec(dtype, shape, data or Generator("uniform", (0.0, 1.0))),
            "eps": Attribute(-1.0),
            "out": spec(dtype, shape),
        },
        Where(path, 3, 1),
        status=None if status is None else ExpectedStatus(status),
    )
    return dataclasses.replace(made, **changes)


ELEMENT = Element((1,), {"x": 0.5}, 2.0, 1.0, 1.0, 1.0, 8388608.0, 900.0)


def output(*, passed: bool = True, name: str = "out", **changes: Any) -> OutputReport:
    report = OutputReport(
        name,
        "float32",
        (4,),
        passed,
        "" if passed else "1 of 4 elements is over the tolerance",
        "ecosystem",
        "|got - golden| <= 2^-10 * |golden| + 2^-16",
        "dtype table",
        0.25 if passed else 900.0,
        Census(4, 3, 1, 0) if passed else Census(4, 3, 0, 1),
        () if passed else (ELEMENT,),
        0.5,
        0.25,
        branches=(Branch("inside", 4), Branch("outside", 0)),
    )
    return dataclasses.replace(report, **changes)


def result(
    word: VerdictKind = VerdictKind.PASS,
    made: Case | None = None,
    *,
    reason: str | None = None,
    **changes: Any,
) -> Result:
    outputs = {
        VerdictKind.PASS: (output(),),
        VerdictKind.FAIL: (output(passed=False),),
        VerdictKind.KNOWN: (output(passed=False),),
    }
    said = {
        VerdictKind.PASS: "",
        VerdictKind.FAIL: "1 of 4 elements is over the tolerance",
        VerdictKind.KNOWN: "known issue: slow",
    }
    verdict = Verdict(
        word, said.get(word, "507899 the device is gone") if reason is None else reason, outputs.get(word, ())
    )
    run = Result(
        made or case(),
        "atlas_a2",
        "host",
        verdict,
        status=0,
        phase=Phase.ONE,
        inputs_sha256="ab" * 32,
        repro="opcli run cases/a.yaml::one --inputs-sha256 " + "ab" * 32,
        timings=Timings(0.25, 0.5, 0.125, 0.125),
    )
    return dataclasses.replace(run, **changes)


def finished(results: Sequence[Result], **changes: Any) -> FinishedRun:
    facts = {
        "opcli": "0.1.0",
        "python": "3.11.0",
        "numpy": "2.0.0",
        "ml_dtypes": "0.5.0",
        "platform": "Linux",
        "cpus": 8,
        "started": "2026-07-01T10:00:00+00:00",
        "backend": results[0].backend if results else "host",
        "product": "atlas_a2",
        "seed": None,
        "arguments": ["run", "cases"],
    }
    run = FinishedRun(results, facts, 2.5, len(results))
    return dataclasses.replace(run, **changes)


def every_word() -> list[Result]:
    return [result(word, case(word.value.lower())) for word in VerdictKind]


def hostile() -> list[Result]:
    """Each hostile text as the name of a case, its reason, and what the kernel printed, failing and passing."""
    return [
        result(
            word,
            case(f"{number} {text}", path=f"dir/{number}.yaml"),
            reason=f"because {text}",
            captured_output=text,
            message=text,
            log=(text,),
        )
        for number, text in enumerate(HOSTILE)
        for word in (VerdictKind.FAIL, VerdictKind.SKIP)
    ]
