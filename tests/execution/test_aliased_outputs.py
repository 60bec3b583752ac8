"""``outputs: {out: {alias: x}}``: an output in an input's memory, on the host, on a device and for candidates."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.backends.conftest import OnDevice
from tests.backends.conftest import cann as cann  # the fixtures
from tests.backends.conftest import on_device as on_device
from tests.conftest import CaseFile, Opcli
from tests.execution.conftest import Judge

CASE = """
    op: aclnnAdd
    cases:
      - name: a
        dtype: float32
        shape: [6, 50]
        attrs: {alpha: 1}
        inputs: {self: {layout: LAYOUT, data: {uniform: [1, 2]}}, other: {data: {uniform: [1, 2]}}}
        outputs: {out: {alias: self}}
"""


def text(layout: str = "contiguous") -> str:
    return CASE.replace("LAYOUT", layout)


@pytest.mark.parametrize("layout", ["contiguous", "transposed", "padded", "reversed"])
def test_the_device_has_one_buffer_for_both(on_device: OnDevice, case_file: CaseFile, layout: str) -> None:
    path = case_file(text(layout))
    one = on_device(path)
    assert one.words() == {"a": "PASS"}, one.results
    case_file(text(layout).replace("outputs: {out: {alias: self}}", ""))
    two = on_device(path)
    assert two.words() == {"a": "PASS"}
    assert one.accounts[0]["peak_bytes"] < two.accounts[0]["peak_bytes"]
    case_file(text(layout))
    # What is no longer an input must not be kept, the other input must.
    assert on_device(path, SIM_CANN_FAULT="aclnnAdd:scale").words() == {"a": "FAIL"}
    ran = on_device(path, SIM_CANN_FAULT="aclnnAdd:nothing")
    assert ran.words() == {"a": "FAIL"}
    assert "INPUT CHANGED" not in ran.results["a"]["reason"]


GOOD = "\ndef f(self, other, out):\n    out[...] = self + other\n"
CLEARS_FIRST = "\ndef f(self, other, out):\n    out[...] = 0\n    out += self\n    out += other\n"
RETURNS = "\ndef f(self, other):\n    self += other\n    return self\n"
FRESH = "\ndef f(self, other):\n    return self + other\n"
CHANGES = "\ndef f(self, other, out):\n    out[...] = self + other\n    other += 1\n"


@pytest.mark.parametrize("tensors", ["numpy", "torch"])
@pytest.mark.parametrize(
    ("body", "shared", "apart"),
    [
        (GOOD, "PASS", "PASS"),
        (CLEARS_FIRST, "FAIL", "PASS"),
        (RETURNS, "PASS", "FAIL"),
        (FRESH, "PASS", "PASS"),
        (CHANGES, "FAIL", "FAIL"),
    ],
    ids=["good", "clears-first", "returns-the-input", "fresh", "changes-another-input"],
)
def test_a_function_is_handed_one_memory_for_both(
    judge: Judge, tensors: str, body: str, shared: str, apart: str
) -> None:
    if tensors == "torch":
        pytest.importorskip("torch")
    assert judge(body, cases=text(), tensors=tensors)["a"]["verdict"] == shared
    alone = text().replace("outputs: {out: {alias: self}}", "")
    assert judge(body, cases=alone, tensors=tensors)["a"]["verdict"] == apart


def test_a_function_that_takes_no_output_is_noted(judge: Judge) -> None:
    notes = judge(FRESH, cases=text())["a"]["notes"]
    assert any("out is not handed over in the memory of self" in note for note in notes)
    assert not any("not handed over" in note for note in judge(GOOD, cases=text())["a"]["notes"])


def test_on_the_host_it_is_an_ordinary_case_with_an_inline_repro(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(text())
    assert opcli("run", path, "--backend", "host").code == 0
    shown = opcli("cases", "show", f"{path}::a").out
    assert "alias: self" in shown
    inline = ("--in", "self=float32[4]:1.0", "--in", "other=float32[4]:1.0", "--attr", "alpha=1")
    done = opcli("run", "--op", "add", *inline, "--out", "out=alias:self", "--standard", "bits", "-v")
    assert done.code == 0, done.err


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("{alias: slef}", "'slef' is no input tensor of this case; did you mean 'self'?"),
        ("{alias: alpha}", "'alpha' is no input tensor of this case"),
        ("{alias: self, dtype: float16}", "beside alias"),
        ("{alias: [self]}", "alias of out"),
    ],
)
def test_a_wrong_alias_says_what_is_wrong(opcli: Opcli, case_file: CaseFile, written: str, said: str) -> None:
    path = case_file(text().replace("{alias: self}", written))
    done = opcli("cases", "validate", path)
    assert done.code == 2
    assert said in done.err + done.out
    assert f"{Path(path).name}:9:" in done.err + done.out


def test_overlapping_elements_cannot_be_written_in_place(opcli: Opcli, case_file: CaseFile) -> None:
    path = case_file(text().replace("layout: contiguous", "strides: [0, 1]"))
    assert "overlap" in opcli("cases", "validate", path).err
