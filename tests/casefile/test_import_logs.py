"""Calls from logs: op-plugin's records and CANN's phase-1 lines, all written by hand in the public formats."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ascend_opcli.casefile.files.write import to_yaml
from ascend_opcli.casefile.logs import logs
from ascend_opcli.casefile.logs.log_lines import Line
from ascend_opcli.casefile.open import load_text
from ascend_opcli.model import Attribute, Case, Fill, TensorSpec, Values
from ascend_opcli.verification.standards.choice import check_for
from tests.conftest import Opcli

HEAD = "[I] 2026-01-01 op_plugin {} EXEC_NPU_CMD stream_id=3, aic_num=24 aiv_num=48 with task_queue = 1"
X = "Tensor size: [2, 3], stride: [3, 1], offset: 0, dtype: {}, device ID: 0, data_ptr: 0x12c041200000"
PROTOTYPE = "aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *x, int64_t n, aclTensor *out)"


def record(operator: str, *arguments: str) -> str:
    return "\n".join([HEAD.format(operator), *arguments]) + "\n"


def elu(dtype: str = "float", grad: str = "", result: str = "1") -> str:
    return record(
        "aclnnEluBackward",
        f"grad_output: {grad or X.format(dtype)}",
        "alpha: Scalar: 1.5, type: Double",
        "scale: Scalar: 1, type: Long",
        "input_scale: Scalar: 0, type: Bool",
        f"is_result: bool: {result}",
        f"self: {X.format(dtype)}",
        f"grad_input: {X.format(dtype)}",
    )


def add(alpha: str = "Scalar: 1, type: Long", other: str = "") -> str:
    x = X.format("c10::Half")
    return record("aclnnAdd", f"self: {x}", f"other: {other or x}", f"alpha: {alpha}", f"out: {x}")


def acl(
    shape: str = "[2, 3]", dtype: str = "float32", *, strides: str = "[3, 1]", storage: str = "[2, 3]"
) -> str:
    return (
        f"aclTensor(view_shape = {shape}, view_strides = {strides}, view_offset = 0, view_format = ND, "
        f"storage_shape = {storage}, storage_format = ND, ori_shape = {shape}, ori_format = ND, "
        f"data_type = {dtype}, device_ptr = 0x12c041200000)"
    )


def phase_one(operator: str, inputs: str, outputs: str, thread: int = 7, piece: int = 700) -> list[str]:
    def lines(text: str, way: str) -> list[str]:
        pieces = [text[i : i + piece] for i in range(0, len(text), piece)]
        said = [f"Entering function params: {p}." for p in pieces]
        return [*said, f"Entering function {way} params end. 0"]

    said = [f"Entering function {operator}GetWorkspaceSize.", *lines(inputs, "in"), *lines(outputs, "out")]
    head = f"[INFO] OP(91,python):2026-01-01-00:00:00.000.000 [op_dfx.h:52][NNOP][Guard]{thread} "
    return [head + line for line in said]


ELU_IN = (
    f"gradOutput: {acl()}, alpha: aclScalar(data_type = float32, value = 1.5), scale: aclScalar(data_type = int64, "
    f"value = 1), inputScale: aclScalar(data_type = double, value = 2.000000), isResult: 1, selfOrResult: {acl()}"
)


@pytest.fixture
def imported(tmp_path: Path, opcli: Opcli):  # type: ignore[no-untyped-def]
    """The YAML of a log, and the cases that it loads to."""

    def call(text: str, *options: str) -> tuple[str, tuple[Case, ...]]:
        path = tmp_path / "train.log"
        path.write_text(text, "utf-8")
        done = opcli("cases", "import", path, *options)
        assert done.code in (0, 4), done.err
        cases = load_text(done.out, "x.yaml", check_standard=check_for).cases if done.out else ()
        return done.out or done.err, cases

    return call


# --- op-plugin ------------------------------------------------------------------------------------------------


def test_a_record_becomes_the_call_that_was_logged(imported) -> None:  # type: ignore[no-untyped-def]
    view = "Tensor size: [2, 3], stride: [1, 2], offset: 4, dtype: c10::BFloat16, device ID: 0, data_ptr: 0x1"
    text, (case,) = imported("noise\n" + elu("c10::BFloat16", grad=view) + "more noise\n")
    assert case.operator == "aclnnEluBackward"
    grad = case.arguments["gradOutput"]
    assert isinstance(grad, TensorSpec)
    assert (grad.dtype, grad.shape, grad.strides, grad.offset) == ("bfloat16", (2, 3), (1, 2), 4)
    assert case.arguments["alpha"] == Attribute(1.5, "float64")
    assert case.arguments["scale"] == Attribute(1, "int64")
    assert case.arguments["inputScale"] == Attribute(False, "bool")
    assert case.arguments["isResult"] == Attribute(True)
    assert case.status is None
    assert "values: those here are invented" in text
    assert "# line 2 (op-plugin)" in text


def test_the_case_runs(opcli: Opcli, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(elu(), "utf-8")
    assert opcli("cases", "import", tmp_path / "a.log", "--out", tmp_path).code == 0
    assert opcli("run", tmp_path / "a.yaml").code == 0


def test_stdin_is_read_too(opcli: Opcli, tmp_path: Path) -> None:
    assert "op: elu_backward" in opcli("cases", "import", "-", stdin=elu()).out
    assert opcli("cases", "import", "-", "--out", tmp_path, stdin=elu()).code == 0
    assert (tmp_path / "log.yaml").is_file()


def test_the_same_call_twice_is_one_case_with_its_count(imported) -> None:  # type: ignore[no-untyped-def]
    again = elu().replace("0x12c041200000", "0x99")
    text, cases = imported(elu() + again + add() + elu())
    assert [c.operator for c in cases] == ["aclnnEluBackward", "aclnnAdd"]
    assert "# logged 3 times: lines 1, 9, 22 (op-plugin)" in text


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        (
            "TensorList size: 3, first tensor of tensorlist: " + X.format("float"),
            "the log shows 1 of the 3 tensors of tensors",
        ),
        ("Scalar: 1, type: Long", "the scalar tensors for tensors, which is an aclTensorList"),
        ("unknown dtype, please report", "the log does not show tensors"),
    ],
)
def test_what_the_log_cuts_off_is_incomplete(imported, argument: str, said: str) -> None:  # type: ignore[no-untyped-def]
    text, cases = imported(
        add() + record("aclnnCat", f"tensors: {argument}", "dim: int64_t: 0", f"out: {X.format('float')}")
    )
    assert [c.operator for c in cases] == ["aclnnAdd"]
    assert "# Not imported: 1 of 2 cases." in text
    assert f"#   line-6: incomplete: {said}\n" in text
    assert "#     dim: int64_t: 0" in text


def test_a_list_of_one_is_whole(imported) -> None:  # type: ignore[no-untyped-def]
    one = "TensorList size: 1, first tensor of tensorlist: " + X.format("float")
    _, (case,) = imported(record("aclnnCat", f"ts: {one}", "dim: int64_t: -1", f"out: {X.format('float')}"))
    members = case.arguments["tensors"]
    assert isinstance(members, tuple)
    assert [m.shape for m in members] == [(2, 3)]
    assert case.arguments["dim"] == Attribute(-1)


def test_arrays(imported) -> None:  # type: ignore[no-untyped-def]
    def permute(dims: str) -> str:
        return record(
            "aclnnPermute", f"self: {X.format('long')}", f"dims: {dims}", f"out: {X.format('long')}"
        )

    _, (case,) = imported(permute("IntArrayRef size: 2, elements: [1, 0]"))
    assert case.arguments["dims"] == Attribute((1, 0))
    text, cases = imported(permute("IntArrayRef size: 21, first 20 elements: 0, 1, 2"))
    assert not cases
    assert "the log shows 20 of the 21 elements of dims" in text


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ("CPU scalar Tensor: 2.5, [ CPUFloatType{} ], dtype: float, ", 2.5),
        ("NPU scalar Tensor: 2.5, dtype: float", 2.5),
        ("NPU scalar Tensor: (capturing), dtype: float", None),
    ],
)
def test_a_scalar_tensor_has_its_value_where_it_is_printed(imported, text: str, data: float | None) -> None:  # type: ignore[no-untyped-def]
    _, (case,) = imported(add(other=text).replace("c10::Half", "float"))
    spec = case.arguments["other"]
    assert isinstance(spec, TensorSpec)
    assert spec.shape == ()
    if data is None:
        assert not isinstance(spec.data, (Fill, Values))
    else:
        assert spec.data in (Fill(data), Values((data,)))


def test_nulls_and_plain_values(imported) -> None:  # type: ignore[no-untyped-def]
    proto = (
        "aclnnStatus aclnnMineGetWorkspaceSize(const aclTensor *x, const aclTensor *biasOptional, "
        "const aclIntArray *dims, double eps, int8_t cube, aclDataType dtype, char *mode, aclTensor *out)"
    )
    text = record(
        "aclnnMine",
        f"x: {X.format('float')}",
        "bias: Optional None Tensor",
        "dims: Optional None IntArrayRef",
        "eps: double: 1e-05",
        "cube: int8_t: \x01",
        "dtype: ScalarType: BFloat16",
        "mode: char*: nearest",
        f"out: {X.format('float')}",
    )
    shown, (case,) = imported(text, "--signature", proto)
    made = case.arguments
    assert made["biasOptional"] is None
    assert made["dims"] is None
    assert [made[n] for n in ("eps", "cube", "dtype", "mode")] == [
        Attribute(1e-5),
        Attribute(1),
        Attribute("bfloat16"),
        Attribute("nearest"),
    ]
    assert "signature:" in shown


def test_an_unknown_operator_needs_its_prototype(imported, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    x = X.format("float")
    mine = record("aclnnMine", f"x: {x}", "n: int64_t: 3", f"out: {x}")
    text, cases = imported(mine)
    assert not cases
    assert "unknown operator 'aclnnMine'" in text
    assert "--signature" in text
    header = tmp_path / "aclnn_mine.h"
    header.write_text(PROTOTYPE + ";", "utf-8")
    _, (case,) = imported(mine, "--signature", str(header))
    assert case.arguments["n"] == Attribute(3)


def test_too_few_arguments_are_never_bound(imported) -> None:  # type: ignore[no-untyped-def]
    text, cases = imported("\n".join(add().splitlines()[:4]))
    assert not cases
    assert "the log shows 3 arguments of the 4 that aclnnAdd takes" in text


def test_debug_lines_give_format_and_storage(imported) -> None:  # type: ignore[no-untyped-def]
    detail = (
        "Tensor min: 0, max: 1, mean: 0.5, npu_format: 29, base_sizes: [2, 3], base_strides: [3, 1], "
        "storage_sizes: [1, 1, 16, 16], "
    )
    none = "No extra debug info for this param"
    lines = [
        "[D] op_plugin Detail info:",
        f"self: {detail}",
        f"other: {none}",
        f"alpha: {none}",
        f"out: {none}",
    ]
    _, (case,) = imported(add() + "\n".join(lines) + "\n")
    spec = case.arguments["self"]
    assert isinstance(spec, TensorSpec)
    assert (spec.format, spec.storage_shape) == ("FRACTAL_NZ", (1, 1, 16, 16))


# --- CANN's log -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("piece", [700, 768, 50])
def test_the_pieces_of_a_call_are_joined(imported, piece: int) -> None:  # type: ignore[no-untyped-def]
    lines = phase_one("aclnnEluBackward", ELU_IN, f"gradInput: {acl(storage='[6]')}", piece=piece)
    _, (case,) = imported("\n".join(lines))
    out, alpha = case.arguments["gradInput"], case.arguments["alpha"]
    assert isinstance(out, TensorSpec)
    assert out.storage_shape == (6,)
    assert alpha == Attribute(1.5, "float32")
    assert case.arguments["inputScale"] == Attribute(2.0, "float64")
    assert case.arguments["isResult"] == Attribute(True)


def test_threads_that_mix_their_lines_are_told_apart(imported) -> None:  # type: ignore[no-untyped-def]
    one = phase_one("aclnnEluBackward", ELU_IN, f"gradInput: {acl()}", thread=7)
    two = phase_one("aclnnEluBackward", ELU_IN.replace("1.5", "2.5"), f"gradInput: {acl()}", thread=8)
    mixed = [line for pair in zip(one, two, strict=True) for line in pair]
    _, cases = imported("\n".join(mixed))
    assert [c.arguments["alpha"] for c in cases] == [Attribute(1.5, "float32"), Attribute(2.5, "float32")]


def test_a_list_is_its_members_in_a_row(imported) -> None:  # type: ignore[no-untyped-def]
    inputs = f"tensors: {acl()}, {acl(dtype='float16')}, dim: 0"
    _, (case,) = imported("\n".join(phase_one("aclnnCat", inputs, f"out: {acl('[4, 3]', storage='[4, 3]')}")))
    members = case.arguments["tensors"]
    assert isinstance(members, tuple)
    assert [m.dtype for m in members] == ["float32", "float16"]


def test_null_pointers(imported) -> None:  # type: ignore[no-untyped-def]
    inputs = f"self: nullptr, other: {acl()}, alpha: aclScalar(data_type = float32, value = 1.0)"
    _, (case,) = imported("\n".join(phase_one("aclnnAdd", inputs, "out: nullptr")))
    assert case.arguments["self"] is None
    assert case.arguments["out"] is None


def test_a_missing_piece_or_parameter_is_incomplete(imported) -> None:  # type: ignore[no-untyped-def]
    lines = phase_one("aclnnEluBackward", ELU_IN, f"gradInput: {acl()}", piece=300)
    text, cases = imported("\n".join(lines[:2] + lines[3:]))
    assert not cases
    assert "incomplete:" in text
    text, cases = imported("\n".join(lines[:4]))
    assert "the log ends before its parameters do" in text
    short = phase_one("aclnnAdd", f"self: {acl()}, other: {acl()}", f"out: {acl()}")
    text, cases = imported("\n".join(short))
    assert "the log does not show alpha" in text


# --- hostile ones ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"nothing of interest\n" * 5, "has no aclnn call"),
        (b"", "has no aclnn call"),
        (bytes(range(256)) * 1000, "is binary, not a log"),
        (b"\x00" * 100_000, "is binary, not a log"),
    ],
)
def test_a_file_without_calls_is_one_sentence(tmp_path: Path, opcli: Opcli, data: bytes, said: str) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(data)
    done = opcli("cases", "import", path)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_log_above_the_limit_is_refused(
    tmp_path: Path, opcli: Opcli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ascend_opcli.casefile.logs.log_lines.MAX_LOG", 1000)
    path = tmp_path / "a.log"
    path.write_text("x" * 5000, "utf-8")
    done = opcli("cases", "import", path)
    assert done.code == 2
    assert "larger than" in done.err


def test_huge_lines_take_no_time_and_lose_only_themselves(imported) -> None:  # type: ignore[no-untyped-def]
    began = time.process_time()
    long = record("aclnnAdd", "self: Tensor size: [" + "1, " * 500_000, "other: (" * 200_000)
    noise = "aclnnA EXEC_ " * 100_000 + "\n" + "aclTensor(" * 100_000 + "\n"
    flood = "".join(line + "\n" for line in phase_one("aclnnAdd", "(" * 300_000, "[" * 300_000))
    text, (case,) = imported(noise + long + flood + elu())
    assert case.operator == "aclnnEluBackward"
    assert "incomplete" in text
    assert time.process_time() - began < 20


def test_absurd_shapes_are_no_call(imported) -> None:  # type: ignore[no-untyped-def]
    huge = "Tensor size: [999999999999, 999999999999], stride: [1, 1], offset: 0, dtype: float, device ID: 0"
    text, cases = imported(elu(grad=huge) + elu(grad=huge.replace("dtype: float", "dtype: c10::Quux")))
    assert not cases
    assert "no call: " in text
    assert "unknown dtype" in text


PIECES = st.sampled_from(
    [
        *elu().splitlines(),
        *add().splitlines(),
        *phase_one("aclnnEluBackward", ELU_IN, f"gradInput: {acl()}", piece=90),
        "Detail info:",
        "x: std::array<bool, N> size: 2, elements: [1, 0]",
        "x: ArrayRef<at::Scalar> size: 2, elements: [1, 2], dtype for first element: Long",
    ]
)


@given(st.lists(st.tuples(PIECES, st.integers(0, 300), st.text(max_size=3)), max_size=40))
def test_whatever_is_torn_is_a_case_or_has_a_reason(torn: list[tuple[str, int, str]]) -> None:
    from ascend_opcli.casefile.build import Setting

    gathered = logs.Gathered("a.log", Setting("a.log", Path(), check_for))
    lines = [Line(i, text[:cut] + odd + text[cut:]) for i, (text, cut, odd) in enumerate(torn, 1)]
    for call in logs.calls(lines):
        found = gathered.add(call)
        assert bool(found.case.arguments) != bool(found.case.skip)
    notes = {f.case.name: f.notes for f in gathered.found}
    made = to_yaml([f.case for f in gathered.found], "a.log", remarks=logs.REMARKS, notes=notes)
    again = load_text(made.text, "x.yaml", check_standard=check_for).cases if made.text else ()
    assert [(c.operator, c.arguments) for c in again] == [(c.operator, c.arguments) for c in made.kept]


def test_a_raw_byte_of_a_log_does_not_spoil_the_file(imported) -> None:  # type: ignore[no-untyped-def]
    text, cases = imported(add() + record("aclnnAdd", "cube: int8_t: \x01", "mode: char*: \x1b[31mred"))
    assert [c.operator for c in cases] == ["aclnnAdd"]
    assert "#     cube: int8_t: ?" in text
    assert "\x1b" not in text


# --- several processes, colours, encodings --------------------------------------------------------------------

PREFIXES = [
    ("[rank0]: ", "[rank1]: "),
    ("[default0]:", "[default11]:"),
    ("[default0]:[rank0]: ", "[default1]:[rank1]: "),
    ("[1,0]<stdout>:", "[1,1]<stdout>:"),
    ("0: ", "1: "),
    ("(RayWorkerWrapper pid=17) ", "(RayWorkerWrapper pid=18, ip=10.0.0.1) "),
    ("(Worker_TP0 pid=17) ", "(Worker_TP1 pid=18) "),
    ("worker-0  | ", "worker-1  | "),
    ("2026-01-02T10:11:12.000Z worker-0 | ", "2026-01-02T10:11:12.001Z worker-1 | "),
]


def calls_of(cases: tuple[Case, ...]) -> list[tuple[str, object]]:
    return sorted((c.operator, repr(c.arguments)) for c in cases)


@pytest.mark.parametrize("prefixes", PREFIXES)
@pytest.mark.parametrize("seed", range(4))
def test_the_lines_of_several_processes_are_told_apart(imported, prefixes, seed) -> None:  # type: ignore[no-untyped-def]
    """However the lines of two processes are mixed: the calls are those that each has logged."""
    logs_of = [elu() + add() + elu("c10::Half"), add(other=X.format("float")) + elu(result="0") + add()]
    _, alone = imported("".join(logs_of))
    queues = [[p + line for line in text.splitlines()] for p, text in zip(prefixes, logs_of, strict=True)]
    draw, mixed = random.Random(seed), []
    while any(queues):
        mixed.append(draw.choice([q for q in queues if q]).pop(0))
    _, cases = imported("\n".join(mixed) + "\n")
    assert calls_of(cases) == calls_of(alone)
    assert len(cases) == 5  # add() is logged by both


def test_a_call_that_one_process_leaves_open_takes_nothing_of_the_other(imported) -> None:  # type: ignore[no-untyped-def]
    x = X.format("float")
    mixed = [
        "[rank0]: " + HEAD.format("aclnnExp"),
        "[rank1]: " + HEAD.format("aclnnAbs"),
        f"[rank0]: self: {x}",
        f"[rank0]: out: {x}",
        "[rank0]: " + HEAD.format("aclnnExp"),
        f"[rank0]: self: {x.replace('[2, 3]', '[3, 3]')}",
        f"[rank1]: self: {x}",
    ]
    text, cases = imported("\n".join(mixed) + "\n")
    assert [c.operator for c in cases] == ["aclnnExp"]
    assert text.count("the log shows 1 argument of the 2") == 2


def test_lines_without_a_prefix_go_on_with_the_only_open_record(imported) -> None:  # type: ignore[no-untyped-def]
    _, alone = imported(add())
    _, cases = imported("[rank3]: " + add())
    assert calls_of(cases) == calls_of(alone)
    # Of two that are open nobody can tell which one goes on.
    head = HEAD.format("aclnnAdd")
    text, cases = imported(f"[rank0]: {head}\n[rank1]: {head}\n" + "\n".join(add().splitlines()[1:]))
    assert not cases
    assert "the log has no line of its arguments" in text


def test_lines_of_cann_between_those_of_processes_are_one_call(imported) -> None:  # type: ignore[no-untyped-def]
    lines = phase_one("aclnnEluBackward", ELU_IN, f"gradInput: {acl()}", piece=90)
    _, alone = imported("\n".join(lines))
    mixed = [text for i, line in enumerate(lines) for text in (line, f"[rank{i % 2}]: step {i}")]
    _, cases = imported("\n".join(mixed))
    assert calls_of(cases) == calls_of(alone) != []


COLOURS = [
    "\x1b[32m{}\x1b[0m",
    "\x1b[1;38;5;208m{}\x1b[m\x1b[K",
    "\x1b]8;;http://x\x07{}\x1b]8;;\x1b\\",
    "\x1b(B{}\x9b0m",
]


@pytest.mark.parametrize("colour", COLOURS)
def test_colours_are_no_part_of_a_log(imported, colour: str) -> None:  # type: ignore[no-untyped-def]
    lines = [*elu().splitlines(), *phase_one("aclnnEluBackward", ELU_IN, f"gradInput: {acl()}")]
    _, plain = imported("\n".join(lines))
    for prefix in ("", "[rank0]: "):
        _, cases = imported("\n".join(colour.format(prefix + line) for line in lines))
        assert calls_of(cases) == calls_of(plain) != []


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_encodings_of_windows(tmp_path: Path, opcli: Opcli, encoding: str, end: str) -> None:
    text = ("模型\n" + elu() + add()).replace("\n", end)
    path = tmp_path / "a.log"
    path.write_bytes(("\ufeff" if encoding == "utf-16-be" else "").encode(encoding) + text.encode(encoding))
    done = opcli("cases", "import", path)
    assert done.code == 0, done.err
    assert [c.operator for c in load_text(done.out, "x.yaml", check_standard=check_for).cases] == [
        "aclnnEluBackward",
        "aclnnAdd",
    ]
    assert "line 2 (op-plugin)" in done.out


def test_long_lines_in_utf16_lose_only_themselves(tmp_path: Path, opcli: Opcli) -> None:
    path = tmp_path / "a.log"
    path.write_bytes((elu() + "长" * 300_000 + "\n" + add()).encode("utf-16"))
    done = opcli("cases", "import", path)
    assert "2 of 2 cases imported" in done.err


@given(st.data())
@settings(max_examples=60)
def test_a_damaged_byte_costs_one_call(data: st.DataObject) -> None:
    """The other calls are found as they are, whichever byte it is."""
    said = [
        *phase_one("aclnnEluBackward", ELU_IN, f"gradInput: {acl()}"),
        *phase_one("aclnnEluBackward", ELU_IN.replace("1.5", "2.5"), f"gradInput: {acl()}", thread=8),
    ]
    raw = ("\n".join(said) + "\n" + elu()).encode()
    place = data.draw(st.integers(0, len(raw) - 1))
    byte = data.draw(st.sampled_from(sorted(b"?\xff\x000-]()[,: .=x")))
    damaged = raw[:place] + bytes([byte]) + raw[place + 1 :]

    def whole(text: bytes) -> set[str]:
        lines = [Line(n, t) for n, t in enumerate(text.decode("utf-8", "replace").splitlines(), 1)]
        return {repr((c.operator, c.parts)) for c in logs.calls(lines) if not c.lost}

    assert len(whole(raw) - whole(damaged)) <= 1


def test_a_damaged_word_of_a_line_is_no_internal_error(tmp_path: Path, opcli: Opcli) -> None:
    log = "\n".join(
        [
            *phase_one("aclnnEluBackward", ELU_IN, f"gradInput: {acl()}", thread=7),
            *phase_one("aclnnEluBackward", ELU_IN.replace("1.5", "2.5"), f"gradInput: {acl()}", thread=8),
        ]
    )
    (tmp_path / "a.log").write_text(log.replace("Entering function params", "Entering function par?ms", 1))
    done = opcli("cases", "import", tmp_path / "a.log")
    assert done.code == 0
    assert "value: 2.5" in done.out
    assert "internal error" not in done.err
