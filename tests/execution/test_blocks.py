"""A case larger than --memory-limit: in blocks where the operator is elementwise, with the same result; else SKIP."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_opcli.casefile.open import load_text
from ascend_opcli.execution.memory import needed_bytes
from ascend_opcli.execution.on_host import Host
from ascend_opcli.execution.runner import Settings, run_case
from ascend_opcli.model import Case, Result
from ascend_opcli.verification.standards.choice import check_for
from ascend_opcli.verification.standards.named import STANDARDS, parse
from tests.conftest import ROOT, CaseFile, Opcli


def both(case: Case, **more: Any) -> tuple[Result, Result]:
    """The case as it is run, and with a limit that is one byte too small."""
    limit = needed_bytes(case) - 1
    return (
        run_case(case, Settings(memory_limit=limit + 1, **more), Host()),
        run_case(case, Settings(memory_limit=limit, **more), Host()),
    )


def essence(result: Result) -> Any:
    """All that a report says of a result but times and the note on blocks."""
    verdict = result.verdict
    notes = tuple(n for n in verdict.notes if not n.startswith("run in blocks"))
    return repr(
        (
            verdict.word,
            verdict.reason,
            verdict.outputs,
            notes,
            result.inputs_sha256,
            result.status,
            result.message,
            result.repro,
        )
    )


def the_same(case: Case, **more: Any) -> Result:
    whole, parts = both(case, **more)
    assert not any(n.startswith("run in blocks") for n in whole.verdict.notes)
    assert any(n.startswith("run in blocks: it needs about") for n in parts.verdict.notes), parts.verdict
    assert essence(parts) == essence(whole)
    return parts


def case_of(text: str) -> Case:
    (made,) = load_text(text, "f.yaml", check_standard=check_for).cases
    return made


SHAPES = ([1], [7], [32768], [32769], [65536], [65537], [3, 50021], [200_003], [5, 1, 40_000])
FORMS = {
    "logit_grad": "x: {{data: {{uniform: [-0.2, 1.2], specials: [{special}]}}}}, dy: {{dtype: {dtype}}}",
    "elu_backward": "selfOrResult: {{dtype: {dtype}, data: {{normal: [0, 2]}}, layout: {layout}}}",
    "threshold_backward": "gradOutput: {{dtype: {dtype}}}, self: {{dtype: {dtype}, layout: {layout}}}",
    "exp": "self: {{dtype: {dtype}, data: {{normal: [0, 3], specials: [{special}]}}}}",
    "gelu": "self: {{dtype: {dtype}, layout: {layout}}}",
    "mul": "self: {{dtype: {dtype}}}, other: {{dtype: {dtype}, data: 1.5}}",
}


@settings(max_examples=40)
@given(
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(["float32", "float16", "bfloat16"]),
    st.sampled_from(SHAPES),
    st.sampled_from(["contiguous", "padded", "reversed"]),
    st.sampled_from(["nan", "inf", "0.5", "-0.0"]),
    st.sampled_from(
        [None, "ulp:max=0.4", "exact", "single", "dual", "cosine", "torch_npu", "random", "msopst"]
    ),
    st.integers(0, 3),
)
def test_verdict_figures_and_sha256_are_those_of_the_whole(
    op: str, dtype: str, shape: list[int], layout: str, special: str, standard: str | None, seed: int
) -> None:
    inputs = FORMS[op].format(dtype=dtype, layout=layout, special=special)
    attrs = "attrs: {threshold: 0.25}" if op == "threshold_backward" else "attrs: {}"
    case = case_of(
        f"op: {op}\nseed: {seed}\ncases: [{{name: a, shape: {shape}, dtype: {dtype}, inputs: {{{inputs}}}, {attrs}}}]"
    )
    the_same(case, standard=parse(standard) if standard else None)


def test_all_standards_side_by_side_are_the_same() -> None:
    case = case_of("op: logit_grad\ncases: [{name: a, dtype: float16, shape: [100003]}]")
    found = the_same(case, all_standards=True).verdict.outputs[0].standards
    assert {a.standard for a in found} >= {"ecosystem", "dual", "cosine", "random"}
    assert len(found) <= len(STANDARDS)


def test_broadcast_inputs_and_integers_and_expressions() -> None:
    the_same(
        case_of("""
op: add
cases:
  - name: a
    inputs:
      self: {dtype: int32, shape: [300, 700], data: {integers: [-100, 100]}}
      other: {dtype: int32, shape: [700], data: {integers: [0, 5]}}
    attrs: {alpha: 2}
""")
    )
    prototype = (
        "aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *x, const aclTensor *y, double k,"
        " aclTensor *out)"
    )
    found = the_same(
        case_of(f"""
op: aclnnMine
signature: {prototype}
reference: where(x > k, exp(x) * y, -y)
cases:
  - name: a
    inputs:
      x: {{dtype: float16, shape: [100, 1000], layout: transposed}}
      y: {{dtype: float16, shape: [100, 1], data: {{linspace: [0, 1]}}}}
    attrs: {{k: 0.5}}
""")
    )
    assert found.verdict.word.value == "PASS"


def test_a_failing_case_is_diagnosed_alike_and_values_may_be_expected() -> None:
    text = "op: threshold_backward\ncases: [{name: a, dtype: float32, shape: [70000], attrs: {threshold: 0.5}, %s}]"
    failing = the_same(case_of(text % "expect: {outputs: {out: 2.0}}"))
    assert failing.verdict.word.value == "FAIL"
    assert failing.verdict.outputs[0].census.over > 0
    assert failing.verdict.outputs[0].mismatch_strip
    the_same(
        case_of("op: exp\ncases: [{name: a, dtype: float32, shape: [70000], standard: {ulp: {max: 0.01}}}]")
    )


def test_a_file_is_read_in_parts(tmp_path: Path, opcli: Opcli, case_file: CaseFile) -> None:
    np.save(tmp_path / "x.npy", np.linspace(-4, 4, 100_000, dtype=np.float32))
    path = case_file("op: exp\ncases: [{name: a, inputs: {self: {data: {file: x.npy}}}}]")
    results = []
    for limit in ("1GiB", "1MB"):
        done = opcli("run", path, "--memory-limit", limit, "--json", "-")
        assert done.code == 0, done.err
        results.append(json.loads(done.out)["results"][0])
    assert results[0]["inputs_sha256"] == results[1]["inputs_sha256"]
    assert results[0]["outputs"] == results[1]["outputs"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "op: softmax\ncases: [{name: a, dtype: float32, shape: [64, 1000], attrs: {dim: 1}}]",
            "not elementwise",
        ),
        (
            "op: exp\ncases: [{name: a, dtype: float32, shape: [64000], inputs: {self: {data: permutation}}}]",
            "self is needed whole",
        ),
        (
            "op: exp\ncases: [{name: a, dtype: float32, shape: [64000], repeat: 2}]",
            "repeated",
        ),
        (
            "op: elu_backward\ncases: [{name: a, dtype: float32, shape: [64000],"
            " inputs: {selfOrResult: {data: {expr: gradOutput}}}}]",
            "the data of selfOrResult are derived",
        ),
    ],
)
def test_what_cannot_be_run_in_blocks_is_skipped_with_the_figures(text: str, why: str) -> None:
    case = case_of(text)
    result = both(case)[1]
    assert result.verdict.word.value == "SKIP"
    assert "needs about " in result.verdict.reason
    assert "MiB, the memory limit is" in result.verdict.reason
    assert why in result.verdict.reason


def test_a_failure_in_blocks_is_saved_up_to_the_save_limit(
    opcli: Opcli, case_file: CaseFile, tmp_path: Path
) -> None:
    path = case_file(
        "op: exp\ncases: [{name: a, dtype: float32, shape: [70000], standard: {ulp: {max: 0.01}}}]"
    )
    done = opcli("run", path, "--memory-limit", "500KB", "--save-failures", tmp_path / "s", "--json", "-")
    (result,) = json.loads(done.out)["results"]
    assert result["verdict"] == "FAIL"
    (saved,) = (tmp_path / "s").glob("*.yaml")
    again = json.loads(opcli("run", saved, "--inputs-sha256", result["inputs_sha256"], "--json", "-").out)
    assert again["results"][0]["outputs"][0]["census"] == result["outputs"][0]["census"]


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read as Linux tells it")
def test_peak_memory_does_not_grow_with_the_case() -> None:
    script = (
        "import resource, sys\n"
        "from ascend_opcli.cli import main\n"
        "sys.argv = ['opcli', 'run', '--op', 'threshold_backward', '--dtype', 'float32', '--attr', 'threshold=0.5',\n"
        "            '--shape', sys.argv[1], '--memory-limit', '64MiB', '--backend', 'host']\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    assert stop.code == 0, stop.code\n"
        "print('peak', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)\n"
    )
    peaks = []
    for elements in (4_000_000, 32_000_000):
        done = subprocess.run(
            [sys.executable, "-c", script, str(elements)],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
        )
        assert done.returncode == 0, done.stderr
        assert "run in blocks" in done.stdout
        peaks.append(int(done.stdout.split("peak")[1]))
    # Whole, the larger one would take 640 MB more.
    assert peaks[1] - peaks[0] < 24, peaks


@pytest.mark.parametrize("size", ["-1", "0", "1e99GiB", "nan", "two", "2 XiB"])
def test_a_memory_limit_is_a_size(opcli: Opcli, size: str) -> None:
    done = opcli("run", "--op", "abs", "--dtype", "float32", "--shape", "2", f"--memory-limit={size}")
    assert done.code == 2
    assert f"--memory-limit: '{size}' is no size such as 2GiB" in done.err
