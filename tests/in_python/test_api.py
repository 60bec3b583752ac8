"""assert_close, judge and run_case: the judgement of the command line, for tensors in a test."""

from __future__ import annotations

import doctest
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ascend_opcli
from ascend_opcli import api, assert_close, judge, run_case
from ascend_opcli.errors import CaseFileError, UsageError
from ascend_opcli.model import StandardChoice
from tests.conftest import ROOT, CaseFile, Opcli

GOLDEN = np.linspace(-2, 2, 48).reshape(4, 12)


def wrong() -> np.ndarray:
    got = GOLDEN.astype(np.float32)
    got[2, 3] += 1
    return got


@pytest.mark.parametrize("name", ["assert_close", "judge", "run_case"])
def test_the_example_of_a_docstring(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    function = getattr(api, name)
    (test,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={name: function})
    assert test.examples
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not said, "".join(said)


def test_importing_the_package_is_cheap_and_its_names_are_there() -> None:
    script = (
        "import sys, ascend_opcli\n"
        "assert {'judge', 'assert_close', 'run_case'} <= set(dir(ascend_opcli))\n"
        "heavy = {'numpy', 'yaml', 'rich', 'typer', 'ml_dtypes', 'ascend_opcli.api'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "from ascend_opcli import judge\n"
        "heavy = {'torch', 'yaml', 'rich', 'typer'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with pytest.raises(AttributeError, match="no attribute 'judged'"):
        _ = ascend_opcli.judged


def test_what_passes_raises_nothing_and_what_fails_has_the_report_as_its_text() -> None:
    assert_close(GOLDEN.astype(np.float32), GOLDEN)
    with pytest.raises(AssertionError) as caught:
        assert_close(wrong(), GOLDEN, name="dx", inputs={"x": GOLDEN.astype(np.float32)})
    text = str(caught.value)
    assert text.startswith("FAIL dx against expected\n  float32[4x12]")
    assert "dx: ecosystem 2026-07" in text
    assert "48 elements: " in text
    assert "[2, 3] x=" in text


@pytest.mark.parametrize("standard", [None, "ulp:max=2", "allclose:rtol=0,atol=1.1", "all"])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_the_text_is_that_of_the_command_line(
    standard: str | None, dtype: str, opcli: Opcli, tmp_path: Path
) -> None:
    got = wrong().astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))
    got.tofile(tmp_path / "got.bin")
    np.save(tmp_path / "golden.npy", GOLDEN)
    option = ["--standard", standard] if standard is not None else []
    line = ("compare", tmp_path / "got.bin", tmp_path / "golden.npy", "--dtype", dtype, "--shape", "4x12")
    done = opcli(*line, *option)
    said = [text for text in done.out.splitlines()[1:] if "    standard " not in text]
    try:
        assert_close(got, GOLDEN, standard=standard)
    except AssertionError as error:
        assert done.code == 1
        ours = str(error).splitlines()
        assert [text for text in ours[1:] if "    standard " not in text] == said
    else:
        assert done.code == 0


def test_the_report_names_the_argument_as_the_origin() -> None:
    assert judge(GOLDEN, GOLDEN, standard="ulp:max=2").origin == "argument standard"
    assert judge(GOLDEN, GOLDEN).origin == "dtype table"
    choice = StandardChoice("ulp", {"max": 3}, "mine")
    assert judge(GOLDEN, GOLDEN, standard=choice).origin == "mine"


def test_all_sets_every_standard_beside_the_default() -> None:
    report = judge(wrong(), GOLDEN, standard="all", third=GOLDEN.astype(np.float32))
    assert report.standard == "ecosystem"
    found = {other.standard: other.passed for other in report.standards}
    assert found["cosine"] != found["bits"] or not found["bits"]
    assert {"ulp", "exact", "msopst", "dual"} <= set(found)


def test_the_dtype_that_is_expected() -> None:
    assert judge(GOLDEN.astype(np.float16), GOLDEN, dtype="fp16").passed
    for word in ("float16", np.float16, np.dtype("float16")):
        report = judge(GOLDEN.astype(np.float32), GOLDEN, dtype=word)  # type: ignore[arg-type]
        assert report.reason == "the output has the dtype float32, expected is float16"


def test_another_shape_is_a_failure_not_an_error() -> None:
    report = judge(GOLDEN.astype(np.float32).ravel(), GOLDEN)
    assert report.reason == "the output has the shape [48], the golden [4, 12]"
    with pytest.raises(AssertionError, match=r"shape \[48\]"):
        assert_close(GOLDEN.astype(np.float32).ravel(), GOLDEN)


def test_numpy_scalars_integers_and_strided_arrays() -> None:
    assert_close(np.float32(0.5), np.float64(0.5))
    with pytest.raises(AssertionError):
        assert_close(np.arange(4), np.array([0, 1, 2, 4]))
    assert_close(GOLDEN.astype(np.float32).T[::-1], GOLDEN.T[::-1])
    assert judge(np.zeros((0, 3), np.float32), np.zeros((0, 3))).passed


def test_weak_is_a_failure_only_where_strict_is_asked_for() -> None:
    x = np.linspace(1, 2, 64, dtype=np.float32)
    got, golden = (
        x.copy(),
        x.astype(np.float64),
    )  # an operator that returns its input cannot be told from none
    report = judge(got, golden, inputs={"x": x})
    assert report.passed
    assert report.weak
    assert_close(got, golden, inputs={"x": x})
    with pytest.raises(AssertionError, match=r"^WEAK is a failure(.|\n)*would pass too"):
        assert_close(got, golden, inputs={"x": x}, strict=True)


def test_the_diagnosis_says_what_is_wrong() -> None:
    x = np.linspace(-4, 4, 1024, dtype=np.float32)
    report = judge(np.abs(x), x.astype(np.float64), inputs={"x": x})
    assert report.census.sign_flipped == 512
    assert "512 of 1,024" in report.diagnosis
    assert "sign" in report.diagnosis or "-golden" in report.diagnosis


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (
            ([1.0], GOLDEN),
            TypeError,
            "actual must be a NumPy array or a tensor of PyTorch, not list; judge its",
        ),
        ((GOLDEN, None), TypeError, "expected must be a NumPy array or a tensor of PyTorch, not None"),
        ((np.ma.masked_less(GOLDEN, 0), GOLDEN), TypeError, "actual is a masked array"),
        ((np.array(["a"]), GOLDEN), ValueError, "actual: opcli has no dtype for NumPy's '<U1'"),
        ((GOLDEN, np.array([None])), ValueError, "expected: opcli has no dtype for NumPy's 'object'"),
        (
            (GOLDEN, np.array([1], "M8[s]")),
            ValueError,
            "expected: opcli has no dtype for NumPy's 'datetime64",
        ),
        ((GOLDEN, GOLDEN > 0), ValueError, "expected holds bool, which is no golden of float64"),
    ],
)
def test_what_is_no_tensor_is_one_clear_error(arguments: Any, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        judge(*arguments)
    assert str(caught.value).startswith(said)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"standard": "ecosytem"}, ValueError, "did you mean 'ecosystem'?"),
        ({"standard": "ulp:rtol=1"}, ValueError, "standard 'ulp' has no number 'rtol'"),
        ({"standard": StandardChoice("ulp", {"max": -1})}, ValueError, "must be finite and not negative"),
        ({"standard": 1e-3}, TypeError, "standard is text such as 'ulp:max=2', not float"),
        ({"standard": "dual"}, ValueError, "needs a third-party result: third=TENSOR"),
        ({"standard": "dual:third=a.npy"}, ValueError, "is a tensor here: third=..."),
        (
            {"standard": "dual", "third": GOLDEN[0]},
            ValueError,
            "third has the shape [12], actual has [4, 12]",
        ),
        ({"third": GOLDEN}, ValueError, "third is for the standard dual; ecosystem has no use for it"),
        ({"dtype": "flaot32"}, ValueError, "did you mean 'float32'?"),
        ({"inputs": GOLDEN}, TypeError, "inputs are tensors by parameter name"),
        ({"inputs": {"x": 1.0}}, TypeError, "input x must be a NumPy array"),
        ({"inputs": {1: GOLDEN}}, TypeError, "name must be text, not int"),
        ({"name": None}, TypeError, "name must be text, not None"),
    ],
)
def test_a_wrong_argument_is_one_clear_error(options: Any, error: type[Exception], said: str) -> None:
    for function in (judge, assert_close):
        with pytest.raises(error) as caught:
            function(GOLDEN, GOLDEN, **options)
        assert said in str(caught.value)
        assert "\n" not in str(caught.value)


# --- torch ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", ["float32", "float16", "bfloat16", "float8_e5m2", "float8_e4m3fn", "complex64"]
)
def test_a_torch_tensor_is_judged_as_the_array_of_the_same_values(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    golden = torch.linspace(-2, 2, 48, dtype=torch.float64).reshape(4, 12)
    got = golden.to(getattr(torch, dtype))
    report = judge(got, golden, inputs={"x": got})
    assert report.passed
    assert report.dtype == dtype
    assert report == judge(_array_of(got, dtype), golden.numpy(), inputs={"x": _array_of(got, dtype)})
    worse = judge(got.flip(0), golden)
    assert not worse.passed
    assert worse == judge(_array_of(got, dtype)[::-1], golden.numpy())


def _array_of(tensor: Any, dtype: str) -> np.ndarray:
    """By way of float64, which holds the values of every narrower dtype."""
    torch = pytest.importorskip("torch")
    wide = torch.complex128 if dtype.startswith("complex") else torch.float64
    return tensor.to(wide).numpy().astype(np.dtype(getattr(ml_dtypes, dtype, dtype)))


def test_torch_tensors_that_numpy_does_not_take_as_they_are() -> None:
    torch = pytest.importorskip("torch")
    grad = torch.linspace(1, 2, 16, requires_grad=True)
    assert_close(grad, grad.detach().double())
    assert_close(torch.nn.Parameter(grad.detach()), grad.double())
    z = torch.complex(grad.detach(), grad.detach())
    assert_close(z.conj(), z.numpy().conj().astype(np.complex128))
    assert_close(z.conj().imag, -z.imag.double().numpy())  # with torch's negative bit
    half = grad.detach().bfloat16().reshape(4, 4).T
    assert_close(half, half.double())
    assert judge(grad, grad.detach().numpy(), dtype=torch.float16).reason.endswith("expected is float16")


@pytest.mark.parametrize("kind", ["meta", "sparse", "complex32"])
def test_a_torch_tensor_that_cannot_be_read_is_one_clear_error(kind: str) -> None:
    torch = pytest.importorskip("torch")
    if kind == "meta":
        tensor = torch.empty(4, device="meta")
    elif kind == "sparse":
        tensor = torch.eye(4).to_sparse()
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch calls it experimental
            tensor = torch.empty(4, dtype=torch.complex32)
    with pytest.raises(ValueError, match=r"^actual[ ,]") as caught:
        judge(tensor, np.zeros(4))
    assert "\n" not in str(caught.value)


# --- run_case ---------------------------------------------------------------------------------------------------

FILE = """
    op: logit_grad
    cases:
      - name: good
        dtype: float32
        shape: [4, 4]
      - name: wrong
        dtype: float32
        shape: [2]
        expect: {outputs: {out: [7.0, 8.0]}}
      - name: sweep
        dtype: $dtype
        shape: [4]
        matrix: {dtype: [float16, float32]}
"""


def test_run_case_gives_what_opcli_run_says(case_file: CaseFile, opcli: Opcli) -> None:
    path = case_file(FILE)
    result = run_case(f"{path}::good", backend="host")
    assert (result.verdict.word, result.backend, result.product) == ("PASS", "host", "atlas_a2")
    assert result.case.name == "good"
    with pytest.raises(AssertionError) as caught:
        run_case(f"{path}::wrong", backend="host", check=True)
    done = opcli("run", f"{path}::wrong", "--backend", "host")
    assert done.code == 1
    assert str(caught.value) in done.out
    assert run_case(f"{path}::wrong", backend="host").verdict.word == "FAIL"
    assert run_case(f"{path}::sweep[float16]", backend="host").verdict.word == "PASS"


def test_run_case_takes_product_and_standard(case_file: CaseFile) -> None:
    path = case_file(FILE)
    result = run_case(f"{path}::good", backend="host", product="ascend950", standard="ulp:max=3")
    assert result.product == "ascend950"
    assert result.verdict.outputs[0].standard == "ulp"
    assert "--standard ulp:max=3" in result.repro
    assert len(run_case(f"{path}::good", backend="host", standard="all").verdict.outputs[0].standards) > 5


def test_a_path_object_with_one_case(case_file: CaseFile) -> None:
    path = case_file("op: logit_grad\ncases: [{dtype: float32, shape: [3]}]\n")
    assert run_case(path, backend="host", check=True).verdict.word == "PASS"


@pytest.mark.parametrize(
    ("case", "options", "said"),
    [
        ("{}::goood", {}, "did you mean 'good'?"),
        ("{}", {}, "run_case takes one case, and 4 are picked"),
        ("{}::sweep", {}, "run_case takes one case, and 2 are picked"),
        ("{}x", {}, "did you mean"),
        ("-", {}, "not standard input"),
        ("{}::good", {"backend": "hots"}, "there is no backend 'hots'; did you mean 'host'?"),
        ("{}::good", {"product": "a7"}, "a7"),
        ("{}::good", {"standard": "ecosytem"}, "did you mean 'ecosystem'?"),
        ("{}::good", {"timeout": 0}, "timeout is a number of seconds above 0, not 0"),
        ("{}::good", {"timeout": float("nan")}, "timeout is a number of seconds above 0, not nan"),
        ("{}::good", {"device": -1}, "device is the number of a device, 0 or more, not -1"),
    ],
)
def test_what_run_case_refuses(case: str, options: Any, said: str, case_file: CaseFile) -> None:
    path = case_file(FILE)
    with pytest.raises(UsageError) as caught:
        run_case(case.format(path), **{"backend": "host", **options})
    assert said in str(caught.value)


@pytest.mark.parametrize("backend", ["host", "device"])
@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        *(
            ("device", value, kind)
            for value, kind in (("x", "str"), ("0", "str"), (1.0, "float"), (None, "None"))
        ),
        *(("device", value, kind) for value, kind in ((True, "bool"), ([0], "list"))),
        *(("timeout", value, kind) for value, kind in (("60", "str"), (None, "None"), (True, "bool"))),
        ("product", 910, "int"),
    ],
)
def test_an_argument_of_another_type_is_refused_on_every_backend(
    backend: str, name: str, value: Any, kind: str, case_file: CaseFile
) -> None:
    with pytest.raises(TypeError, match=f"^{name} is .*, not {kind}$"):
        run_case(f"{case_file(FILE)}::good", backend=backend, **{name: value})


def test_a_broken_file_says_where(case_file: CaseFile) -> None:
    path = case_file("op: logit_grad\ncases:\n  - dtpye: float32\n")
    with pytest.raises(CaseFileError, match=r"a\.yaml:3:5: .*did you mean 'dtype'"):
        run_case(path, backend="host")
    with pytest.raises(TypeError, match="case is the text FILE::CASE or a path, not dict"):
        run_case({"op": "logit_grad"})  # type: ignore[arg-type]


def test_a_report_and_a_result_are_true_where_they_passed() -> None:
    """``assert judge(...)`` is what one writes first."""
    ones = np.ones(4, np.float32)
    assert judge(ones, ones)
    assert not judge(np.zeros(4, np.float32), ones)
    assert run_case("cases/logit_grad.yaml::documented-example", backend="host")
    assert not run_case("cases/logit_grad.yaml::documented-example", backend="host", standard="ulp:max=0")
