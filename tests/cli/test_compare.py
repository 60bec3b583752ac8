"""Two saved tensors compared: every format, the same report and exit codes, and flat memory."""

from __future__ import annotations

import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from ascend_opcli.verification.saved_tensors import compare_saved
from tests.conftest import ROOT, Opcli

BF16 = np.dtype(ml_dtypes.bfloat16)


@pytest.fixture
def pair(tmp_path: Path) -> tuple[np.ndarray, np.ndarray, Path]:
    golden = np.linspace(-2, 2, 48).reshape(4, 12)
    return golden.astype(np.float32), golden, tmp_path


def test_npy_files_that_agree_and_one_that_does_not(opcli: Opcli, pair: Any) -> None:
    got, golden, folder = pair
    np.save(folder / "out.npy", got)
    np.save(folder / "golden.npy", golden)
    done = opcli("compare", folder / "out.npy", folder / "golden.npy")
    assert done.code == 0, done.err
    assert done.out.startswith("PASS ")
    assert "ecosystem 2026-07" in done.out
    assert "48 elements" in done.out
    got[2, 3] += 1
    np.save(folder / "out.npy", got)
    done = opcli("compare", folder / "out.npy", folder / "golden.npy")
    assert done.code == 1
    assert "[2, 3] got " in done.out
    assert "1 exceeds the limit 0.01" in done.out
    done = opcli(
        "compare", folder / "out.npy", folder / "golden.npy", "--standard", "allclose:rtol=0,atol=1.1"
    )
    assert done.code == 0


def test_a_strided_fortran_file_is_compared_in_place(opcli: Opcli, pair: Any) -> None:
    got, golden, folder = pair
    np.save(folder / "out.npy", np.asfortranarray(got))
    np.save(folder / "golden.npy", golden)
    assert opcli("compare", folder / "out.npy", folder / "golden.npy").code == 0
    np.save(folder / "out.npy", np.asfortranarray(got[::-1]))
    assert opcli("compare", folder / "out.npy", folder / "golden.npy").code == 1


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_members_of_an_npz(opcli: Opcli, pair: Any, save: Any) -> None:
    got, golden, folder = pair
    save(folder / "a.npz", y=got, golden=golden, z=got + 1)
    path = folder / "a.npz"
    assert opcli("compare", f"{path}:y", f"{path}:golden").code == 0
    assert opcli("compare", f"{path}:z", f"{path}:golden").code == 1
    done = opcli("compare", path, f"{path}:golden")
    assert done.code == 2
    assert "choose one by" in done.err
    done = opcli("compare", f"{path}:goldn", f"{path}:golden")
    assert done.code == 2
    assert "did you mean 'golden'" in done.err


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "int8", "bool", "float8_e5m2"])
def test_raw_files_of_a_dtype_and_shape(opcli: Opcli, tmp_path: Path, dtype: str) -> None:
    numpy = np.dtype(getattr(ml_dtypes, dtype, dtype))
    values = (np.arange(24) % 2).astype(numpy)
    values.tofile(tmp_path / "out.bin")
    values.tofile(tmp_path / "golden.bin")
    line = ("compare", tmp_path / "out.bin", tmp_path / "golden.bin", "--dtype", dtype, "--shape")
    done = opcli(*line, "2x3x4")
    assert done.code == 0, done.err
    assert f"{dtype}[2x3x4]" in done.out
    assert opcli(*line, "24").code == 0
    done = opcli(*line, "25")
    assert done.code == 2
    assert "needs" in done.err
    done = opcli("compare", tmp_path / "out.bin", tmp_path / "golden.bin")
    assert done.code == 2
    assert "--dtype and --shape" in done.err


def test_a_raw_golden_of_another_dtype(opcli: Opcli, tmp_path: Path) -> None:
    golden = np.linspace(0, 1, 20)
    golden.astype(BF16).tofile(tmp_path / "out.bin")
    golden.tofile(tmp_path / "golden.bin")
    words = ("--dtype", "bfloat16", "--shape", "4,5", "--expected-dtype", "float64", "--standard", "exact")
    assert opcli("compare", tmp_path / "out.bin", tmp_path / "golden.bin", *words).code == 0


def test_bfloat16_in_an_npy_is_known_by_its_width_or_by_what_is_said(opcli: Opcli, tmp_path: Path) -> None:
    golden = np.linspace(0, 1, 20)
    np.save(tmp_path / "golden.npy", golden)
    np.save(tmp_path / "out.npy", golden.astype(BF16))
    assert "bfloat16[20]" in opcli("compare", tmp_path / "out.npy", tmp_path / "golden.npy").out
    np.save(tmp_path / "bits.npy", golden.astype(BF16).view(np.uint16))
    done = opcli("compare", tmp_path / "bits.npy", tmp_path / "golden.npy", "--dtype", "bf16")
    assert done.code == 0
    assert "bfloat16[20]" in done.out
    done = opcli("compare", tmp_path / "golden.npy", tmp_path / "golden.npy", "--dtype", "float16")
    assert done.code == 2
    assert "holds float64, not float16" in done.err


def test_other_shapes_fail_and_unreadable_files_are_wrong_usage(opcli: Opcli, pair: Any) -> None:
    got, golden, folder = pair
    np.save(folder / "out.npy", got)
    np.save(folder / "golden.npy", golden.reshape(12, 4))
    done = opcli("compare", folder / "out.npy", folder / "golden.npy")
    assert done.code == 1
    assert "the output has the shape [4, 12], the golden [12, 4]" in done.out
    for name in ("none.npy", "out.txt"):
        done = opcli("compare", folder / name, folder / "golden.npy")
        assert done.code == 2
        assert done.err.count("\n") == 1
    assert opcli("compare", folder / "out.npy", folder / "out.npy", "--standard", "ecosytem").code == 2


class Trap:
    """Unpickling this would leave a trace."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (open, ("/nowhere/opcli-was-here", "w"))


def test_nothing_is_unpickled(opcli: Opcli, tmp_path: Path) -> None:
    np.save(tmp_path / "out.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    done = opcli("compare", tmp_path / "out.npy", tmp_path / "out.npy")
    assert done.code == 2
    assert "never unpickled" in done.err


def test_json_and_all_standards(opcli: Opcli, pair: Any) -> None:
    got, golden, folder = pair
    np.save(folder / "out.npy", got)
    np.save(folder / "golden.npy", golden)
    done = opcli("compare", folder / "out.npy", folder / "golden.npy", "--standard", "all", "--json", "-")
    assert done.code == 0
    report = json.loads(done.out)
    assert report["schema"] == "opcli.compare/1"
    assert report["verdict"] == "PASS"
    assert report["output"]["standard"] == "ecosystem"
    judged = {s["standard"]: s["passed"] for s in report["output"]["standards"]}
    assert judged["exact"] is judged["cosine"] is True
    assert "dual" not in judged
    assert "how each standard would judge" in done.err
    import jsonschema

    schema = json.loads((ROOT / "ascend_opcli/reporting/run.schema.json").read_text("utf-8"))
    jsonschema.validate(report["output"], {**schema["$defs"]["output"], "$defs": schema["$defs"]})


def test_the_third_party_of_the_double_benchmark_is_a_file(opcli: Opcli, pair: Any) -> None:
    got, golden, folder = pair
    np.save(folder / "out.npy", got)
    np.save(folder / "golden.npy", golden)
    np.save(folder / "gpu.npy", got)
    line = ("compare", folder / "out.npy", folder / "golden.npy", "--standard")
    assert opcli(*line, f"dual:level=L2,third={folder / 'gpu.npy'}").code == 0
    done = opcli(*line, "dual")
    assert done.code == 2
    assert "dual:third=FILE" in done.err


def test_a_permissive_clause_is_warned_of(opcli: Opcli, tmp_path: Path) -> None:
    np.save(tmp_path / "out.npy", np.array([np.nan, 1], np.float32))
    np.save(tmp_path / "golden.npy", np.array([1.0, 1]))
    done = opcli("compare", tmp_path / "out.npy", tmp_path / "golden.npy", "--standard", "msopst")
    assert done.code == 0
    assert "warning: msopst counts 1 NaN difference as good" in done.out


def test_a_permissive_clause_is_warned_of_side_by_side_too(opcli: Opcli, tmp_path: Path) -> None:
    golden = np.random.default_rng(0).standard_normal(5000)
    got = golden.astype(np.float32)
    got[::4000] = golden[4000] = np.nan
    np.save(tmp_path / "out.npy", got)
    np.save(tmp_path / "golden.npy", golden)
    done = opcli("compare", tmp_path / "out.npy", tmp_path / "golden.npy", "--standard", "all")
    table = done.out[done.out.index("how each standard") :]
    said = [
        "single passes the output unseen: 1 golden value is NaN or Inf",
        "msopst counts 1 NaN difference as good",
        "random lets 2 NaN pass where the golden has 1",
    ]
    assert [line for line in table.splitlines() if "warning" in line] == [f"warning: {each}" for each in said]
    line = ("compare", tmp_path / "out.npy", tmp_path / "golden.npy", "--standard", "all", "--json", "-")
    found = {s["standard"]: s["warnings"] for s in json.loads(opcli(*line).out)["output"]["standards"]}
    assert [found[name] for name in ("single", "msopst", "random")] == [[each] for each in said]
    assert found["exact"] == []


def test_pt_needs_torch_and_says_so(opcli: Opcli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out.pt").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "torch", None)
    done = opcli("compare", tmp_path / "out.pt", tmp_path / "out.pt")
    assert done.code == 3
    assert "pip install 'ascend-opcli[torch]'" in done.err


def test_pt_files_are_read_as_weights_only(opcli: Opcli, pair: Any) -> None:
    torch = pytest.importorskip("torch")
    got, golden, folder = pair
    torch.save(torch.from_numpy(got), folder / "out.pt")
    torch.save({"y": torch.from_numpy(golden).to(torch.bfloat16), "z": torch.zeros(2)}, folder / "more.pt")
    assert opcli("compare", folder / "out.pt", folder / "out.pt").code == 0
    done = opcli("compare", f"{folder / 'more.pt'}:y", folder / "out.pt")
    assert done.code == 0, done.out + done.err
    assert "bfloat16[4x12]" in done.out
    assert "choose one by" in opcli("compare", folder / "more.pt", folder / "out.pt").err
    torch.save(Trap(), folder / "trap.pt")
    done = opcli("compare", folder / "trap.pt", folder / "out.pt")
    assert done.code == 2
    assert "weights_only" in done.err


def test_a_member_with_a_flipped_bit_is_no_verdict(opcli: Opcli, tmp_path: Path) -> None:
    values = np.linspace(1, 2, 5000, dtype=np.float32)
    np.savez(tmp_path / "a.npz", y=values)
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[12_000] ^= 1
    (tmp_path / "b.npz").write_bytes(content)
    for pair in (("a", "b"), ("b", "a"), ("b", "b")):
        done = opcli("compare", *(tmp_path / f"{name}.npz" for name in pair))
        assert done.code == 2
        assert "b.npz cannot be read: it is damaged, the CRC-32" in done.err
        assert done.err.count("\n") == 1


DTYPES = ["float16", "float32", "float64", "complex64", "complex128", "int8", "int32", "uint64", "bool"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kept", ["same", "wide"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("wrong", [False, True])
def test_files_in_the_other_byte_order_are_judged_as_those_in_the_machines(
    tmp_path: Path, dtype: str, kept: str, order: str, wrong: bool
) -> None:
    rng = np.random.default_rng(3)
    real = (
        rng.integers(0, 2, (40, 50)) if dtype in ("int8", "int32", "uint64", "bool") else rng.random((40, 50))
    )
    golden = (real + 1j if "complex" in dtype else real).astype(dtype)
    got = golden.copy()
    if wrong:
        got[3, 7] = got[3, 7] * 0 if got[3, 7] else 1
    if kept == "wide" and dtype not in ("bool", "uint64"):
        golden = golden.astype(np.result_type(dtype, np.float64))
    reports = []
    for sign in "<>":
        for name, array in (("out", got), ("golden", golden)):
            turned = np.asarray(array, dtype=array.dtype.newbyteorder(sign), order=order)  # type: ignore[call-overload]
            np.savez(tmp_path / f"{name}.npz", y=turned)
        report = compare_saved(str(tmp_path / "out.npz"), str(tmp_path / "golden.npz"), all_standards=True)
        assert report.passed is not wrong
        reports.append(repr(report))
    assert reports[0] == reports[1]


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">f2", ">c8", ">i4"])
@pytest.mark.parametrize("wrong", [False, True])
def test_memory_stays_flat_in_the_other_byte_order(tmp_path: Path, dtype: str, wrong: bool) -> None:
    values = (np.arange(1 << 23) % 60_000).astype(dtype)
    np.save(tmp_path / "golden.npy", values)
    values[1 << 20] = 65_000
    np.save(tmp_path / "out.npy", values)
    del values
    name = "out.npy" if wrong else "golden.npy"
    tracemalloc.start()
    try:
        report = compare_saved(str(tmp_path / name), str(tmp_path / "golden.npy"))
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()
    assert report.passed is not wrong


@pytest.mark.parametrize("form", ["npy", "npz", "bin"])
def test_memory_stays_flat_however_large_the_files(tmp_path: Path, form: str) -> None:
    n = 1 << 25  # 128 MiB of float32
    values = np.arange(n, dtype=np.float32) / np.float32(n)
    if form == "npy":
        np.save(tmp_path / "a.npy", values)
    elif form == "npz":
        np.savez(tmp_path / "a.npz", y=values)
    else:
        values.tofile(tmp_path / "a.bin")
    del values
    path = str(tmp_path / f"a.{form}")
    words: dict[str, str] = {"dtype": "float32", "shape": str(n)} if form == "bin" else {}
    tracemalloc.start()
    try:
        assert compare_saved(path, path, **words).passed  # type: ignore[arg-type]
        assert tracemalloc.get_traced_memory()[1] < 24 << 20
    finally:
        tracemalloc.stop()


def test_a_run_shows_every_standard_beside_the_cases_own(opcli: Opcli) -> None:
    line = ("run", "--op", "logit_grad", "--dtype", "float16", "--shape", "4,4", "--standard", "all")
    done = opcli(*line)
    assert done.code == 0, done.err
    heading, row = done.out.splitlines()[-2:]
    assert heading.split("  ")[0] == "case"
    for name in ("ecosystem", "dual", "msopst", "torch_npu", "md5"):
        assert name in heading
    assert "PASS" in row
    report = json.loads(opcli(*line, "--json", "-").out)
    (output,) = report["results"][0]["outputs"]
    assert {"ecosystem", "dual", "bits"} <= {s["standard"] for s in output["standards"]}
    assert output["origin"] == "dtype table"


def test_a_run_says_whose_output_the_warning_of_a_standard_is_of(opcli: Opcli, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        """
        op: logit_grad
        cases:
          - {name: one, dtype: float32, shape: [4]}
          - name: two
            inputs: {x: {dtype: float32, shape: [4], data: 0.5}, dy: {dtype: float32, shape: [4], data: 1.0}}
            expect: {outputs: {out: [nan, 4, 4, 4]}}
        """,
        "utf-8",
    )
    done = opcli("run", tmp_path / "a.yaml", "--standard", "all")
    said = [line for line in done.out.splitlines() if line.startswith("warning: ")]
    assert any("::two out: msopst counts 1 NaN difference as good" in line for line in said)
    assert any("::one out: random cannot tell 4 elements" in line for line in said)


def test_a_case_names_its_third_party_as_a_word_an_expression_or_a_file(opcli: Opcli, tmp_path: Path) -> None:
    x = np.linspace(0.1, 0.9, 8, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "gpu.npy", (1 / (x * (1 - x))).astype(np.float32))
    (tmp_path / "a.yaml").write_text(
        """
        op: logit_grad
        defaults: {inputs: {x: {dtype: float32, shape: [8], data: {file: x.npy}},
                            dy: {dtype: float32, shape: [8], data: 1.0}}}
        cases:
          - {name: host, standard: {dual: {level: L0}}}
          - {name: file, expect: {standard: {out: {dual: {level: L2, third: gpu.npy}}}}}
          - {name: expression, standard: {dual: {third: dy / (x * (1 - x))}}}
          - {name: single, standard: {single: {type: vector_fused}}}
        """,
        "utf-8",
    )
    done = opcli("run", tmp_path / "a.yaml", "--json", "-")
    assert done.code == 0, done.err
    rules = {r["name"]: r["outputs"][0]["rule"] for r in json.loads(done.out)["results"]}
    assert "L0 against the host result" in rules["host"]
    assert "L2 against gpu.npy" in rules["file"]
    assert "against dy / (x * (1 - x))" in rules["expression"]
    assert "vector_fused" in rules["single"]
    done = opcli("run", tmp_path / "a.yaml", "--standard", "dual:third=../gpu.npy")
    assert done.code == 2
    assert done.err.count("Traceback") == 0
    text = (tmp_path / "a.yaml").read_text("utf-8")
    for third, told in (("../gpu.npy", "outside"), ("none.npy", "cannot be read"), ("x +* 2", "neither")):
        (tmp_path / "b.yaml").write_text(text.replace("third: gpu.npy", f"third: {third}"), "utf-8")
        done = opcli("run", f"{tmp_path / 'b.yaml'}::file")
        assert done.code == 2
        assert told in done.err


def test_a_run_warns_where_the_permissive_clause_decided(opcli: Opcli, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        """
        op: logit_grad
        standard: single
        cases:
          - inputs: {x: {dtype: float32, shape: [4], data: 0.5}, dy: {dtype: float32, shape: [4], data: 1.0}}
            expect: {outputs: {out: [nan, 1, 4, 4]}}
        """,
        "utf-8",
    )
    done = opcli("run", tmp_path / "a.yaml")
    assert done.code == 0
    assert "note: out: single passes the output unseen: 1 golden value is NaN or Inf" in done.out
