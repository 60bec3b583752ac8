"""A saved failure is the failure: the same inputs, the same verdict, from files that stand alone."""

from __future__ import annotations

import dataclasses
import json
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ascend_opcli.backends import host
from ascend_opcli.execution import replay, runner
from ascend_opcli.execution.replay import case_name, file_name
from ascend_opcli.model import Case, Outcome, Where
from ascend_opcli.tensors.dtypes import DTYPES, name_of, numpy_dtype
from tests.backends.conftest import OnDevice, cann  # noqa: F401
from tests.backends.conftest import on_device as on_device
from tests.conftest import CaseFile, Done, Opcli

SAME = (
    "verdict",
    "reason",
    "status",
    "phase",
    "outputs",
    "inputs_sha256",
    "arguments",
    "operator",
    "product",
)
_FREE = ("origin", "floor", "diagnosis")


@pytest.fixture
def keep(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> Any:
    """keep(text, *options): run and save; the reports by case name and the saved files by suffix."""

    def run(text: str, *options: object, name: str = "a.yaml") -> tuple[dict[str, Any], list[Path], Done]:
        folder, report = tmp_path / "saved", tmp_path / "run.json"
        done = opcli("run", case_file(text, name), *options, "--save-failures", folder, "--json", report)
        results = json.loads(report.read_text("utf-8"))["results"]
        return {r["name"]: r for r in results}, sorted(folder.glob("*.yaml")), done

    return run


def again(opcli: Opcli, path: Path, *options: object) -> dict[str, Any]:
    done = opcli("run", path, *options, "--json", "-")
    (result,) = json.loads(done.out)["results"]
    return dict(result)


def essence(result: Mapping[str, Any]) -> dict[str, Any]:
    """What a replay must have alike.

    Where a standard was chosen may differ: the command line's is written down. The diagnosis may look at the
    call before, which a replay does not have.
    """
    made = {key: result[key] for key in SAME}
    made["outputs"] = [{k: v for k, v in o.items() if k not in _FREE} for o in made["outputs"]]
    return made


def arrays(path: Path) -> dict[str, np.ndarray]:
    with np.load(path.with_suffix(".npz"), allow_pickle=False) as archive:
        return {key: archive[key] for key in archive.files}


def shown(path: Path) -> str:
    """What the script prints, run where opcli cannot be imported and from another folder."""
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", str(path.with_suffix(".py"))],
        capture_output=True, text=True, check=False, cwd="/",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


ONE = """
    op: logit_grad
    cases:
      - name: bad
        dtype: bfloat16
        shape: [3, 5]
        seed: 3
        attrs: {eps: 0.01}
        expect: {outputs: {out: 1.0}}
      - {name: good, dtype: float32, shape: [4]}
"""


def test_a_failure_is_kept_with_its_tensors_case_script_and_repro(opcli: Opcli, keep: Any) -> None:
    results, (path,), done = keep(ONE)
    assert done.code == 1
    assert {p.suffix for p in path.parent.iterdir()} == {".yaml", ".npz", ".py"}
    assert f"1 failure saved in {path.parent}\n" in done.err
    (note,) = [n for n in results["bad"]["notes"] if n.startswith("saved")]
    assert not any(n.startswith("saved") for n in results["good"]["notes"])
    command = shlex.split(note.split(": ", 1)[1])
    replayed = opcli(*command[1:])
    assert replayed.code == 1
    assert essence(again(opcli, path)) == essence(results["bad"])
    kept = arrays(path)
    assert sorted(kept) == ["golden.out", "got.out", "input.dy", "input.x"]
    assert kept["input.x"].dtype == np.uint16
    assert kept["golden.out"].dtype == np.float64
    text = path.read_text()
    assert "# by: " + results["bad"]["repro"] in text
    assert "{dtype: bfloat16, shape: [3, 5], data:" in text
    assert "out: 15 of 15 elements differ" in shown(path)


def test_the_saved_files_move_and_stand_alone(opcli: Opcli, keep: Any, tmp_path: Path) -> None:
    results, (path,), _ = keep(ONE)
    (tmp_path / "a.yaml").unlink()
    moved = tmp_path / "else where"
    path.parent.rename(moved)
    assert essence(again(opcli, moved / path.name)) == essence(results["bad"])
    assert essence(again(opcli, moved)) == essence(results["bad"])
    shown(moved / path.name)


# --- every layout and dtype ---------------------------------------------------------------------------------------

LAYOUTS = {
    "contiguous": "shape: [4, 6]",
    "transposed": "shape: [4, 6], layout: transposed",
    "reversed": "shape: [2, 3, 4], layout: reversed",
    "padded": "shape: [4, 6], layout: padded",
    "strided": "shape: [3, 4], strides: [1, 5], offset: 7",
    "interleaved": "shape: [4], strides: [2], offset: 1, storage_shape: [3, 5]",
    "broadcast": "shape: [4, 6], strides: [0, 1]",
    "scalar": "shape: []",
    "empty": "shape: [0, 3]",
    "one": "shape: [1]",
}
MAKER = "aclnnStatus aclnnCopyCustomGetWorkspaceSize(const aclTensor *x, aclTensor *y)"


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_inputs_of_every_layout_and_dtype_come_back_bit_by_bit(
    opcli: Opcli, keep: Any, monkeypatch: pytest.MonkeyPatch, layout: str, dtype: str
) -> None:
    text = f"""
        op: aclnnCopyCustom
        signature: {MAKER}
        reference: x
        cases:
          - name: a
            inputs: {{x: {{dtype: {dtype}, {LAYOUTS[layout]}, data: {{integers: [0, 2]}}}}}}
            outputs: {{y: {{dtype: {dtype}, {LAYOUTS[layout].split(", strides")[0]}}}}}
    """
    real = host.run

    def other(operator: Any, call: Any, *more: Any) -> Any:
        outcome = real(operator, call, *more)
        return dataclasses.replace(outcome, findings=("made to fail",))

    monkeypatch.setattr(host, "run", other)
    results, (path,), _ = keep(text)
    replayed = again(opcli, path)
    assert essence(replayed) == essence(results["a"])
    kept = arrays(path)
    got = kept["got.y"]
    if dtype == "bfloat16":
        assert got.dtype == np.uint16
    elif dtype.startswith("float8"):
        assert got.dtype == np.dtype("V1")
    else:
        assert name_of(got.dtype) == dtype
    bits = got.view(numpy_dtype(dtype)) if got.dtype.kind in "V" or dtype == "bfloat16" else got
    assert np.array_equal(bits.astype(np.complex128), kept["golden.y"].astype(np.complex128))
    shown_text = shown(path) if layout in ("contiguous", "scalar", "empty") else ""
    assert "elements differ; the worst" not in shown_text or "0 of " in shown_text


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float32", "float8_e5m2", "float8_e4m3fn", "complex64"]
)
def test_the_script_reads_every_value_of_a_dtype_right(
    opcli: Opcli, keep: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, dtype: str
) -> None:
    """The script's own decoding against ours, over every bit pattern of the narrow dtypes."""
    want = numpy_dtype(dtype)
    bits = np.arange(2 ** (8 * min(want.itemsize, 2)), dtype=f"u{min(want.itemsize, 2)}")
    values = bits.view(want) if want.itemsize <= 2 else bits.astype(np.float32).astype(want)
    stored = {"bfloat16": np.uint16}.get(dtype, "V1" if dtype.startswith("float8") else want)
    np.save(tmp_path / "x.npy", values.view(stored))
    text = f"""
        op: aclnnCopyCustom
        signature: {MAKER}
        reference: x
        cases: [{{name: a, inputs: {{x: {{dtype: {dtype}, shape: [{values.size}], data: {{file: x.npy}}}}}}}}]
    """
    real = host.run

    def other(operator: Any, call: Any, *more: Any) -> Any:
        return dataclasses.replace(real(operator, call, *more), findings=("made to fail",))

    monkeypatch.setattr(host, "run", other)
    _, (path,), _ = keep(text)
    assert f"y: 0 of {values.size:,} elements differ" in shown(path)


def test_nan_payloads_and_signed_zeros_are_kept(opcli: Opcli, keep: Any, tmp_path: Path) -> None:
    bits = np.array([0x7FC01234, 0xFFC00001, 0x7F800001, 0x80000000, 0x00000001], np.uint32)
    np.save(tmp_path / "x.npy", bits.view(np.float32))
    results, (path,), _ = keep("""
        op: logit_grad
        cases:
          - name: a
            dtype: float32
            shape: [5]
            inputs: {x: {data: {file: x.npy, specials: [inf]}}}
            expect: {outputs: {out: 1.0}}
    """)
    replayed = again(opcli, path)
    assert replayed["inputs_sha256"] == results["a"]["inputs_sha256"]
    assert essence(replayed) == essence(results["a"])


def test_int64_beyond_float64_is_exact(opcli: Opcli, keep: Any) -> None:
    results, (path,), _ = keep(f"""
        op: aclnnCopyCustom
        signature: {MAKER}
        reference: x
        cases:
          - name: a
            inputs: {{x: {{dtype: int64, shape: [3], data: [9007199254740993, -9223372036854775808, 7]}}}}
            expect: {{outputs: {{y: [9007199254740992, -9223372036854775808, 7]}}}}
    """)
    assert essence(again(opcli, path)) == essence(results["a"])
    assert arrays(path)["got.y"].tolist() == [9007199254740993, -9223372036854775808, 7]
    text = shown(path)
    assert "y: 1 of 3 elements differ" in text
    assert "[0] x=9007199254740993 got 9007199254740993 golden 9007199254740992" in text


def test_tensor_lists_null_and_every_kind_of_attribute(
    opcli: Opcli, keep: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(host, "refuse", lambda *_: Outcome("host"))
    prototype = (
        "aclnnStatus aclnnMixGetWorkspaceSize(const aclTensorList *xs, const aclTensor *maskOptional, "
        "const aclScalar *s, const aclScalar *c, const aclIntArray *dims, const aclFloatArray *fs, "
        "const aclBoolArray *bs, "
        "const char *mode, aclDataType dt, bool flag, int64_t n, double e, const aclTensorList *ys)"
    )
    results, (path,), _ = keep(f"""
        op: aclnnMix
        signature: {prototype}
        cases:
          - name: a
            inputs:
              xs:
                - {{dtype: float16, shape: [2, 3], layout: transposed}}
                - {{dtype: bfloat16, shape: []}}
                - {{dtype: complex64, shape: [2]}}
              maskOptional: null
            attrs:
              {{s: {{value: 0.1, dtype: float32}}, c: [1.5, -2.0], dims: [0, -1], fs: [0.5, .inf], bs: [true, false],
               mode: "n'o: #\\u00fc", dt: bfloat16, flag: true, n: -5, e: .nan}}
            outputs: {{ys: [{{dtype: float32, shape: [2]}}, {{dtype: int64, shape: [], layout: padded}}]}}
            expect: {{status: {{code: 561002, phase: 2, message: "a: .*b"}}}}
    """, "--standard", "allclose:rtol=0.5")  # fmt: skip
    assert (
        results["a"]["reason"]
        == "expected 561002 ACLNN_ERR_INNER_TILING_ERROR in phase 2, but the call was accepted"
    )
    assert repr(essence(again(opcli, path))) == repr(essence(results["a"]))
    assert sorted(arrays(path)) == ["input.xs.0", "input.xs.1", "input.xs.2"]


def test_outputs_with_expected_files(opcli: Opcli, keep: Any, case_file: CaseFile, tmp_path: Path) -> None:
    case_file("def f(x):\n    return x + 1, x\n", "ref.py")
    np.savez(tmp_path / "want.npz", a=np.float32([1, 2]), b=np.uint16([0x3F80, 0x4000, 0x4040]))
    prototype = "aclnnStatus aclnnTwoGetWorkspaceSize(const aclTensor *x, aclTensor *y, aclTensor *z)"
    results, (path,), _ = keep(
        f"""
        op: aclnnTwo
        signature: {prototype}
        reference: ref.py:f
        cases:
          - name: a
            inputs: {{x: {{dtype: float32, shape: [3]}}}}
            outputs: {{z: {{dtype: bfloat16, shape: [3]}}}}
            expect: {{outputs: {{z: {{file: "want.npz:b"}}, y: ignore}}, standard: {{z: {{ulp: {{max: 0.5}}}}}}}}
    """,
        "--allow-code",
    )
    (tmp_path / "want.npz").unlink()
    assert essence(again(opcli, path, "--allow-code")) == essence(results["a"])
    assert arrays(path)["expected.z"].tolist() == [0x3F80, 0x4000, 0x4040]
    assert "golden.y" not in arrays(path)


def test_complex_expectations_of_two_elements(opcli: Opcli, keep: Any) -> None:
    results, paths, _ = keep(f"""
        op: aclnnCopyCustom
        signature: {MAKER}
        reference: x
        defaults: {{inputs: {{x: {{dtype: complex64, shape: [2], data: [[1, 2], [3, 4]]}}}}}}
        cases:
          - {{name: fill, expect: {{outputs: {{y: [[5, 6], [5, 6]]}}}}}}
          - {{name: values, expect: {{outputs: {{y: [[1, 2], [.nan, -.inf]]}}}}}}
    """)
    for path in paths:
        replayed = again(opcli, path)
        assert repr(essence(replayed)) == repr(essence(results[replayed["name"]]))
        assert "of 2 elements differ" in shown(path)


# --- what surrounds a case ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extra", "options"),
    [
        ("standard: {ulp: {max: 0.01}}", ()),
        ("expect: {standard: {ulp: {max: 0.01}}}", ()),
        ("expect: {standard: {out: {ulp: {max: 0.01}}}}", ()),
        ("", ("--standard", "ulp:max=0.01")),
        ("expect: {standard: {out: exact}}", ("--standard", "ulp:max=0.01")),
        ("expect: {outputs: {out: 1.0}}, repeat: 2, tags: [x, 'no'], description: \"two\\nlines: #\"", ()),
        ("expect: {status: 161002}", ()),
        ("expect: {status: {code: 161002, message: 'no'}}, only: {product: [atlas_a2, atlas_a3], backend: host}", ()),
        ("known_issue: {reason: r, expires: 2020-01-01}, expect: {status: 161001}", ()),
        ("product: atlas_a3, expect: {outputs: {out: 1.0}}", ()),
        ("expect: {outputs: {out: 1.0}}", ("--product", "ascend950", "--seed", "9")),
    ],
)  # fmt: skip
def test_the_verdict_is_the_same_with_no_option_given_again(
    opcli: Opcli, keep: Any, extra: str, options: tuple[str, ...]
) -> None:
    body = f", {extra}" if extra else ""
    results, (path,), _ = keep(
        f"op: logit_grad\ncases: [{{name: a, dtype: float16, shape: [33]{body}}}]\n", *options
    )
    replayed = again(opcli, path)
    assert essence(replayed) == essence(results["a"])
    assert replayed["tags"] == results["a"]["tags"]


def test_standards_of_the_file_say_where_they_come_from(opcli: Opcli, keep: Any) -> None:
    results, (path,), _ = keep("""
        op: logit_grad
        standard: {ulp: {max: 0.01}}
        cases: [{name: a, dtype: float16, shape: [33]}]
    """)
    assert [o["origin"] for o in again(opcli, path)["outputs"]] == [
        o["origin"] for o in results["a"]["outputs"]
    ]


def test_calls_without_numbers_keep_their_inputs(opcli: Opcli, keep: Any) -> None:
    results, paths, _ = keep("""
        op: logit_grad
        cases:
          - {name: unread, inputs: {x: {dtype: float32, shape: [8]}, dy: {dtype: float32, shape: [4]}}}
          - {name: null-x, inputs: {x: null, dy: [1.0]}}
    """)
    assert len(paths) == 2
    for path in paths:
        replayed = again(opcli, path)
        assert essence(replayed) == essence(results[replayed["name"]])
        assert all(key.startswith("input.") for key in arrays(path))
        shown(path)


def test_inout_tensors_and_several_outputs(opcli: Opcli, keep: Any) -> None:
    text = """
        op: amp_update_scale
        cases:
          - name: a
            attrs: {growthInterval: 1}
            inputs:
              currentScale: {dtype: float32, shape: [1], data: 8.0}
              growthTracker: {dtype: int32, shape: [1], data: 0}
              foundInf: {dtype: float32, shape: [1], data: 0.0}
            expect: {outputs: {updatedGrowthTracker: [1], updatedScale: ignore}}
    """
    results, (path,), _ = keep(text)
    assert essence(again(opcli, path)) == essence(results["a"])
    assert "golden.updatedScale" not in arrays(path)


def test_a_reference_that_is_code_comes_along(opcli: Opcli, keep: Any, case_file: CaseFile) -> None:
    case_file("def f(x):\n    return x + 1\n", "deep/ref.py")
    results, (path,), _ = keep(
        f"""
        op: aclnnCopyCustom
        signature: {MAKER}
        reference: ref.py:f
        cases: [{{name: a, inputs: {{x: [1.0, 2.0]}}, expect: {{outputs: {{y: [1.0, 2.0]}}}}}}]
        """,
        "--allow-code",
        name="deep/a.yaml",
    )
    assert essence(again(opcli, path, "--allow-code")) == essence(results["a"])
    assert "--allow-code" in path.read_text()


def test_a_header_is_written_out(opcli: Opcli, keep: Any, case_file: CaseFile) -> None:
    case_file(f"{MAKER};\n", "x.h")
    results, (path,), _ = keep("""
        op: aclnnCopyCustom
        signature: x.h
        reference: x
        cases: [{name: a, inputs: {x: [1.0, 2.0]}, expect: {outputs: {y: [1.0, 3.0]}}}]
    """)
    assert essence(again(opcli, path)) == essence(results["a"])


def test_one_call_and_a_negative_get_a_file_too(
    opcli: Opcli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ("run", "--op", "logit_grad", "--dtype", "float16", "--standard", "ulp:max=0.01")
    for shape in ("33", "34"):
        assert opcli(*call, "--shape", shape, "--save-failures", tmp_path / "s").code == 1
    paths = sorted((tmp_path / "s").glob("*.yaml"))
    assert len(paths) == 2
    assert all(again(opcli, path)["verdict"] == "FAIL" for path in paths)
    with monkeypatch.context() as patch:
        patch.setattr(host, "refuse", lambda *_: None)
        options = ("--negatives", "-k", "refused[dy=float64]", "--save-failures", tmp_path / "n")
        assert opcli("run", "--op", "logit_grad", "--dtype", "float16", "--shape", "4", *options).code == 1
    (path,) = (tmp_path / "n").glob("*.yaml")
    assert again(opcli, path)["verdict"] == "PASS"  # the host refuses again


def test_known_issues_and_errors_are_not_failures(opcli: Opcli, keep: Any, tmp_path: Path) -> None:
    _, paths, done = keep("""
        op: logit_grad
        cases:
          - {name: a, dtype: float32, shape: [4], known_issue: r, expect: {status: 161001}}
          - {name: b, dtype: float32, shape: [4], only: {backend: device}}
          - {name: c, dtype: float32, shape: [1000000, 1000000]}
    """)
    assert paths == []
    assert not (tmp_path / "saved").exists()
    assert "saved" not in done.err


# --- names --------------------------------------------------------------------------------------------------------

NAMES = [
    "a/b", "a\\\\b", "..", ".hidden", "a b", "a:b", "con", "\u6587\u4ef6", "\U0001f600", "e\u0301", "a'b", 'a\\"b',
    "{a}", "$(x)", "%s", "-x", "A", "# c", "x" * 200, "@DTYPES@", "a\u200bb",
]  # fmt: skip


def test_any_name_makes_files_that_any_system_takes(opcli: Opcli, keep: Any) -> None:
    cases = "\n".join(
        f'      - {{name: "{n}", dtype: float32, shape: [2], expect: {{outputs: {{out: 9.0}}}}}}'
        for n in NAMES
        if json.loads(f'"{n}"').isprintable()
    )
    results, paths, done = keep(
        f"    op: logit_grad\n    cases:\n{cases}\n", name="o d d \u6587/a\u0301 b.yaml"
    )
    assert done.code == 1, done.err
    assert len(paths) == len(results) >= 19
    seen = set()
    for path in paths:
        assert path.name.isascii()
        assert len(path.name) < 110
        assert not set(path.name) & set(' /\\:*?"<>|')
        assert not path.name.startswith((".", "-"))
        seen.add(path.name.casefold())
        replayed = again(opcli, path)
        assert essence(replayed) == essence(results[replayed["name"]])
        compile(path.with_suffix(".py").read_text("utf-8"), path.name, "exec")
    assert len(seen) == len(paths)
    assert "out: 2 of 2 elements differ" in shown(paths[0])


def test_names_that_only_look_alike_are_kept_apart(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> None:
    text = "op: logit_grad\ncases: [{name: a b, dtype: float32, shape: [2], expect: {outputs: {out: 9.0}}},\n"
    text += " {name: a_b, dtype: float32, shape: [2], expect: {outputs: {out: 9.0}}}]\n"
    one, two = case_file(text, "one/a.yaml"), case_file(text, "two/a.yaml")
    for _ in range(2):  # saved again, a failure takes its own place
        opcli("run", one, two, "--save-failures", tmp_path / "s")
    assert len(list((tmp_path / "s").glob("*.yaml"))) == 4


def test_labels_of_a_matrix_that_no_written_name_could_be(opcli: Opcli, keep: Any) -> None:
    long = "v" * 190
    _, paths, _ = keep(f"""
        op: logit_grad
        cases:
          - name: m
            matrix: {{why: ["a::b", "{long}"], more: ["{long}"]}}
            tags: [$why, $more]
            dtype: float32
            shape: [2]
            expect: {{outputs: {{out: 9.0}}}}
    """)
    assert len(paths) == 2
    for path in paths:
        assert again(opcli, path)["verdict"] == "FAIL"


@pytest.mark.parametrize("name", ["a::b", " a ", "x" * 5000, "a\nb\x1b[31m", "\u2028", "", "\ud800"])
def test_a_name_is_made_to_fit(name: str) -> None:
    made = case_name(name)
    assert made == made.strip()
    assert made.isprintable()
    assert 0 < len(made) <= 200
    assert "::" not in made
    case = Case("a.yaml", name, "aclnnFoo", {}, Where("a.yaml", 1, 1))
    assert file_name(case).isascii()


# --- bounds and breakage ------------------------------------------------------------------------------------------


def test_a_case_above_the_limit_is_noted_not_saved(opcli: Opcli, keep: Any) -> None:
    results, paths, done = keep(
        """
        op: logit_grad
        defaults: {dtype: float32, expect: {outputs: {out: 9.0}}}
        cases: [{name: small, shape: [4]}, {name: large, shape: [512, 1024]}]
        """,
        "--save-limit",
        1,
    )
    assert done.code == 1
    assert [p.name.startswith("a.small") for p in paths] == [True]
    assert results["large"]["notes"][-1].startswith("not saved: its tensors take ")
    assert results["large"]["notes"][-1].endswith(" MiB, more than --save-limit")
    assert "1 failure not saved: see the note of each" in done.err


def test_a_folder_that_is_a_file_is_wrong_usage(opcli: Opcli, case_file: CaseFile, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    done = opcli("run", case_file(ONE), "--save-failures", tmp_path / "f")
    assert (done.code, done.out) == (2, "")
    assert done.err == f"opcli: --save-failures {tmp_path / 'f'}: this is no folder\n"


def test_a_full_disk_costs_no_verdict(
    opcli: Opcli, keep: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        results, paths, done = keep(ONE)
    assert done.code == 1  # 1 comes before 3
    assert paths == []
    assert list((tmp_path / "saved").iterdir()) == []
    assert results["bad"]["notes"][-1].endswith("No space left on device")
    assert "opcli: cannot save failures: " in done.err


def test_an_interruption_while_saving_leaves_no_half_of_a_file(
    opcli: Opcli, case_file: CaseFile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(stream: Any, **_: Any) -> None:
        stream.write(b"half")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", stopped)
        done = opcli("run", case_file(ONE), "--save-failures", tmp_path / "s")
    assert done.code == 130
    assert list((tmp_path / "s").iterdir()) == []


def test_nothing_is_made_for_a_case_that_passes(
    opcli: Opcli, case_file: CaseFile, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(replay.Saver, "_save", lambda *_: pytest.fail("saved a passing case"))
    assert opcli("run", f"{case_file(ONE)}::good", "--save-failures", tmp_path / "s").code == 0
    assert not (tmp_path / "s").exists()


def test_the_hook_gets_what_was_computed(case_file: CaseFile) -> None:
    from ascend_opcli.casefile.open import load_file
    from ascend_opcli.verification.standards.choice import check_for

    seen: list[runner.Failure] = []

    def hook(failure: runner.Failure) -> str:
        seen.append(failure)
        return "noted"

    cases = load_file(case_file(ONE), check_standard=check_for).cases
    results = list(runner.run_cases(cases, runner.Settings(on_failure=hook)))
    assert [r.verdict.notes[-1:] == ("noted",) for r in results] == [True, False]
    (failure,) = seen
    assert failure.operator.name == "aclnnLogitGrad"
    assert failure.golden is not None
    assert set(failure.outcome.outputs) == {"out"}


# --- on a device --------------------------------------------------------------------------------------------------


def test_outputs_of_a_device_are_saved_and_replayed_there(
    on_device: OnDevice, case_file: CaseFile, tmp_path: Path
) -> None:
    path = case_file("""
        op: logit_grad
        cases:
          - name: view
            dtype: float16
            shape: [40, 30]
            inputs: {x: {layout: transposed}, dy: {layout: padded}}
            outputs: {out: {layout: padded}}
            standard: {ulp: {max: 0.01}}
    """)
    folder = tmp_path / "saved"
    ran = on_device(path, "--save-failures", folder)
    assert ran.words() == {"view": "FAIL"}
    (saved,) = folder.glob("*.yaml")
    assert "product" not in saved.read_text().split("cases:")[1]
    replayed = on_device(saved)
    assert replayed.results["view"]["backend"] == "device"
    assert essence(replayed.results["view"]) == essence(ran.results["view"])
    assert "elements differ" in shown(saved)


def test_a_list_of_outputs_is_replayed_with_what_was_expected_of_each(
    opcli: Opcli, keep: Any, case_file: CaseFile, tmp_path: Path
) -> None:
    case_file("def f(xs):\n    return [x * 2 for x in xs]\n", "ref.py")
    np.save(tmp_path / "w.npy", np.float32([[4, 5]]))
    prototype = "aclnnStatus aclnnTwiceGetWorkspaceSize(const aclTensorList *xs, aclTensorList *ys)"
    results, (path,), done = keep(
        f"""
        op: aclnnTwice
        signature: {prototype}
        reference: ref.py:f
        cases:
          - name: a
            inputs:
              xs:
                - {{dtype: float16, shape: [2], data: [1, 2]}}
                - {{dtype: float32, shape: [1, 2], data: [2, 3], layout: transposed}}
            outputs: {{ys: [{{dtype: float16, shape: [2]}}, {{dtype: float32, shape: [1, 2], layout: padded}}]}}
            expect: {{outputs: {{ys: [[2, 4], {{file: w.npy}}]}}}}
        """,
        "--allow-code",
    )
    assert results["a"]["verdict"] == "FAIL", done.out
    (tmp_path / "w.npy").unlink()
    assert essence(again(opcli, path, "--allow-code")) == essence(results["a"])
    kept = arrays(path)
    assert kept["got.ys.1"].tolist() == [[4, 6]]
    assert kept["golden.ys.1"].tolist() == kept["expected.ys.1"].tolist() == [[4, 5]]
    assert "ys.1: 1 of 2 elements differ" in shown(path)


@pytest.mark.parametrize("given", ["case", "command line"])
def test_the_result_of_a_third_party_comes_along(
    opcli: Opcli, keep: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    np.savez(tmp_path / "t.npz", other=np.zeros(64, np.float32) + np.float32(0.25))
    monkeypatch.chdir(tmp_path)
    choice = 'standard: {dual: {third: "t.npz:other"}}' if given == "case" else "seed: 1"
    options = () if given == "case" else ("--standard", "dual:third=t.npz:other")
    real = host.run

    def wrong(operator: Any, call: Any, *more: Any) -> Any:
        outcome = real(operator, call, *more)
        return dataclasses.replace(outcome, outputs={"out": outcome.outputs["out"] + np.float32(1e9)})

    monkeypatch.setattr(host, "run", wrong)
    results, (path,), _ = keep(
        f"op: logit_grad\n{choice}\ncases: [{{name: a, dtype: float32, shape: [64]}}]\n", *options
    )
    (tmp_path / "t.npz").unlink()
    replayed = again(opcli, path)
    assert (replayed["verdict"], replayed["reason"]) == (results["a"]["verdict"], results["a"]["reason"])
    assert arrays(path)["third.out"].tolist() == [0.25] * 64
