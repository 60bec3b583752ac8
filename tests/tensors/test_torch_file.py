"""Files of torch.save read without PyTorch: what it writes reads back, everything else is refused, nothing is run."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_opcli.tensors import files, torch_file
from ascend_opcli.tensors.dtypes import name_of
from ascend_opcli.tensors.torch_file import NotPlain

torch = pytest.importorskip("torch")

BASE = torch.arange(24.0).reshape(4, 6)
DTYPES = (
    *("float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"),
    *("complex64", "complex128", "uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"),
)
VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda t: t,
    "transposed": lambda t: t.T,
    "strided": lambda t: t[1:, ::2],
    "offset": lambda t: t[2],
    "expanded": lambda t: t[:, :1].expand(4, 5),
    "scalar": lambda t: t[3, 5],
    "empty": lambda t: t[:0],
}


def as_numpy(tensor: Any) -> np.ndarray:
    wide = torch.complex128 if tensor.is_complex() else torch.float64
    return tensor.detach().to(wide).numpy()


@pytest.mark.parametrize("view", list(VIEWS))
@pytest.mark.parametrize("dtype", DTYPES)
def test_what_torch_saves_reads_back(tmp_path: Path, dtype: str, view: str) -> None:
    tensor = VIEWS[view](BASE.to(getattr(torch, dtype)))
    path = str(tmp_path / "x.pt")
    torch.save(tensor, path)
    got = torch_file.mapped(path)
    assert name_of(got.dtype) == dtype
    assert got.shape == tuple(tensor.shape)
    assert np.array_equal(got.astype(as_numpy(tensor).dtype), as_numpy(tensor))
    assert not got.flags.writeable or not got.size
    flat = files.read(path, None, dtype, tuple(tensor.shape))
    assert np.array_equal(flat.astype(as_numpy(tensor).dtype), as_numpy(tensor).reshape(-1))


@given(st.lists(st.integers(0, 4), max_size=4), st.integers(0, 3), st.randoms())
def test_any_permuted_view_reads_back(tmp_path: Path, shape: list[int], offset: int, random: Any) -> None:
    count = int(np.prod(shape)) if shape else 1
    order = list(range(len(shape)))
    random.shuffle(order)
    tensor = torch.arange(float(count + offset))[offset:].reshape(shape).permute(order)
    torch.save(tensor, tmp_path / "x.pt")
    assert np.array_equal(torch_file.mapped(str(tmp_path / "x.pt")), tensor.numpy())


def test_a_parameter_is_its_tensor(tmp_path: Path) -> None:
    torch.save(torch.nn.Parameter(BASE), tmp_path / "x.pt")
    assert np.array_equal(torch_file.mapped(str(tmp_path / "x.pt")), BASE.numpy())


def test_data_of_case_files_follow_the_rules_of_npy(tmp_path: Path) -> None:
    path = str(tmp_path / "x.pt")
    torch.save(BASE.to(torch.bfloat16), path)
    with pytest.raises(ValueError, match="holds bfloat16, not float32"):
        files.fits(path, None, "float32", (4, 6))
    with pytest.raises(ValueError, match=r"has the shape \[4, 6\], but the tensor has \[6, 4\]"):
        files.fits(path, None, "bfloat16", (6, 4))
    torch.save(BASE, path)
    assert files.read(path, None, "float16", (4, 6)).dtype == np.float16
    with pytest.raises(ValueError, match="float32, which does not become int32 without loss"):
        files.read(path, None, "int32", (4, 6))
    info = files.describe(path)
    assert (info.format, info.dtype, info.shape, info.nbytes) == ("pt", "float32", (4, 6), 96)


def test_no_torch_is_imported(tmp_path: Path) -> None:
    torch.save(BASE, tmp_path / "x.pt")
    code = (
        "import sys; from ascend_opcli.tensors.saved import opened;"
        f"print(opened({str(tmp_path / 'x.pt')!r}, None, None).sum(), 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "276.0 False\n"


# --- what is refused --------------------------------------------------------------------------------------------


def refused(path: Path, words: str, kind: type[ValueError] = NotPlain) -> None:
    for function in (torch_file.header, torch_file.mapped):
        with pytest.raises(kind, match=words) as found:
            function(str(path))
        assert "\n" not in str(found.value)
        assert len(str(found.value)) < 400


@pytest.mark.parametrize(
    ("thing", "words"),
    [
        ({"a": BASE}, "opcode EMPTY_DICT"),
        ([BASE, BASE], "opcode EMPTY_LIST"),
        ((BASE, BASE), "it is no tensor"),
        (3.5, "opcode BINFLOAT"),
        (torch.zeros(2, dtype=torch.complex64).conj(), "EMPTY_DICT"),
        (torch.nn.Linear(2, 2), "something else than one plain tensor"),
        (BASE.to_sparse(), "something else than one plain tensor"),
    ],
    ids=["dict", "list", "tuple", "number", "conjugated", "module", "sparse"],
)
@pytest.mark.filterwarnings("ignore")
def test_more_than_one_plain_tensor(tmp_path: Path, thing: Any, words: str) -> None:
    torch.save(thing, tmp_path / "x.pt")
    refused(tmp_path / "x.pt", words)


def test_the_older_format_is_a_pickle(tmp_path: Path) -> None:
    torch.save(BASE, tmp_path / "x.pt", _use_new_zipfile_serialization=False)
    refused(tmp_path / "x.pt", "no zip archive: torch.save has written zip archives since PyTorch 1.6")


class Evil:
    """What would run a command where it is unpickled."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call[0], self.call[1:]


def archive(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", method) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return path


def saved(tensor: Any = BASE) -> dict[str, bytes]:
    stream = io.BytesIO()
    torch.save(tensor, stream)
    with zipfile.ZipFile(stream) as made:
        return {name: made.read(name) for name in made.namelist()}


@pytest.mark.parametrize("protocol", range(6))
def test_a_pickle_that_would_run_code_runs_none(tmp_path: Path, protocol: int) -> None:
    mark = tmp_path / "ran"
    for evil in (Evil(os.system, f"touch {mark}"), Evil(eval, f"open({str(mark)!r}, 'w')"), Evil(exec, "1")):
        bad = pickle.dumps(evil, protocol)
        path = archive(tmp_path / "x.pt", {**saved(), "archive/data.pkl": bad})
        refused(
            path, "would call (posix.system|builtins.eval|builtins.exec|__builtin__.(eval|exec)), |opcode"
        )
        # Also in a place where a tensor's own parts stand.
        inner = saved()["archive/data.pkl"].replace(b"ccollections\nOrderedDict\n", b"cposix\nsystem\n")
        refused(archive(tmp_path / "x.pt", {**saved(), "archive/data.pkl": inner}), "posix.system")
    assert not mark.exists()


def test_a_compressed_member_is_no_bomb(tmp_path: Path) -> None:
    big = saved(torch.zeros(1 << 22))
    path = archive(tmp_path / "x.pt", big, zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 100_000
    refused(path, "compressed")
    members = {**saved(), "archive/data.pkl": b"\x80\x02" + b"(" * (1 << 17) + b"."}
    refused(archive(tmp_path / "y.pt", members), "131,075 bytes")


def test_sizes_that_do_not_fit(tmp_path: Path) -> None:
    whole = saved()
    short = archive(tmp_path / "a.pt", {**whole, "archive/data/0": whole["archive/data/0"][:-4]})
    refused(short, "promises 96 bytes of elements, the archive has 92", ValueError)
    lost = archive(tmp_path / "b.pt", {k: v for k, v in whole.items() if k != "archive/data/0"})
    refused(lost, "no member 'archive/data/0'", ValueError)
    # A shape of 4 x 7 looks 4 elements behind the 24 that there are.
    behind = whole["archive/data.pkl"].replace(b"K\x04K\x06\x86", b"K\x04K\x07\x86")
    refused(
        archive(tmp_path / "c.pt", {**whole, "archive/data.pkl": behind}), "element 24 .* behind", ValueError
    )
    negative = whole["archive/data.pkl"].replace(b"K\x04K\x06\x86", b"K\x04J\xff\xff\xff\xff\x86")
    refused(archive(tmp_path / "d.pt", {**whole, "archive/data.pkl": negative}), "no whole numbers")
    other = whole["archive/data.pkl"].replace(b"FloatStorage", b"QInt8Storage")
    refused(archive(tmp_path / "e.pt", {**whole, "archive/data.pkl": other}), "torch.QInt8Storage")
    big = archive(tmp_path / "f.pt", {**whole, "archive/byteorder": b"big"})
    refused(big, "big-endian")
    outside = whole["archive/data.pkl"].replace(b"X\x01\x00\x00\x000", b"X\x05\x00\x00\x00../..")
    refused(archive(tmp_path / "g.pt", {**whole, "archive/data.pkl": outside}), "storage cannot be read")


@pytest.mark.parametrize("left", range(0, 1200, 37))
def test_a_truncated_file(tmp_path: Path, left: int) -> None:
    torch.save(BASE, tmp_path / "x.pt")
    whole = (tmp_path / "x.pt").read_bytes()
    (tmp_path / "x.pt").write_bytes(whole[: min(left, len(whole) - 1)])
    refused(tmp_path / "x.pt", ".", ValueError)


def test_a_flipped_bit_of_the_elements(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save(BASE, path)
    found = torch_file.header(str(path))
    data = bytearray(path.read_bytes())
    data[found.start + 5] ^= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match="CRC-32"):
        torch_file.mapped(str(path))


@given(st.binary(max_size=40), st.integers(0, 300), st.integers(0, 300))
def test_any_change_of_the_pickle_ends_in_a_sentence(
    tmp_path: Path, part: bytes, place: int, drop: int
) -> None:
    whole = saved()
    data = whole["archive/data.pkl"]
    whole["archive/data.pkl"] = data[:place] + part + data[place + drop :]
    path = str(archive(tmp_path / "x.pt", whole))
    try:
        array = torch_file.mapped(path)
    except ValueError:
        return
    assert array.nbytes <= 10_000_000


def test_no_tensor_at_all(tmp_path: Path) -> None:
    refused(archive(tmp_path / "x.pt", {"a/b": b"1"}), "0 members named data.pkl")
    refused(archive(tmp_path / "y.pt", {"a/data.pkl": b"", "b/data.pkl": b""}), "2 members")
    (tmp_path / "folder.pt").mkdir()
    refused(tmp_path / "folder.pt", "not a regular file", ValueError)
    refused(tmp_path / "absent.pt", "No such file", ValueError)


def test_a_tensor_of_an_npu(tmp_path: Path) -> None:
    """torch_npu writes its own function with the number of the storage's format; the elements lie row by row."""
    members = saved()
    data = members["archive/data.pkl"].replace(
        b"ctorch._utils\n_rebuild_tensor_v2\n", b"ctorch_npu.utils.storage\n_rebuild_npu_tensor\n"
    )
    # The seventh argument stands before the tuple is closed: t q\x0a R q\x0b .
    at = data.rindex(b"tq")
    members["archive/data.pkl"] = data[:at] + b"K\x02" + data[at:]
    path = archive(tmp_path / "x.pt", members)
    assert np.array_equal(torch_file.mapped(str(path)), BASE.numpy())
