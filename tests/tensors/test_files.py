"""Data files as people save them, and as somebody might forge them."""

import os
import pickle
import tracemalloc
import zipfile

import ml_dtypes
import numpy as np
import pytest

from ascend_opcli.tensors.files import describe, fits, mapped, read


class Bomb:
    """Writes a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (self.path, "w"))


def npy(path, header, data=b"", version=1, length=None):
    """A .npy file with whatever header."""
    text = header.encode() if isinstance(header, str) else header
    width = 2 if version == 1 else 4
    size = (len(text) if length is None else length).to_bytes(width, "little")
    path.write_bytes(b"\x93NUMPY" + bytes([version, 0]) + size + text + data)
    return str(path)


def header(descr="'<f4'", shape="(2,)", order="False"):
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}\n"


def refuses(path, text, key=None, dtype="float32", shape=(2,)):
    for function in (fits, read):
        with pytest.raises(ValueError, match=text):
            function(str(path), key, dtype, shape)


VALUES = np.array([[1.5, -2.0, 3.25], [0.0, 5.0, 6.0]])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", ["<f8", ">f4", "<f2", "<i4", ">i8", "|i1"])
@pytest.mark.parametrize("suffix", ["npy", "npz", "packed.npz"])
def test_arrays_come_back_row_major(tmp_path, order, kind, suffix):
    array = np.asarray(VALUES.astype(kind), order=order)
    path = str(tmp_path / f"x.{suffix}")
    if suffix == "npy":
        np.save(path, array)
    else:
        (np.savez if suffix == "npz" else np.savez_compressed)(path, x=array, other=VALUES)
    key = None if suffix == "npy" else "x"
    got = read(path, key, "float32", (2, 3))
    assert got.dtype == np.float32
    assert got.tolist() == array.astype(np.float32).reshape(-1).tolist()
    found = describe(path, key)
    assert (found.dtype, found.shape, found.nbytes) == (array.dtype.name, (2, 3), array.nbytes)


def test_flat_of_the_same_count_will_do(tmp_path):
    np.save(tmp_path / "x.npy", VALUES.reshape(-1))
    assert read(str(tmp_path / "x.npy"), None, "float64", (2, 3)).tolist() == VALUES.reshape(-1).tolist()
    refuses(tmp_path / "x.npy", r"shape \[6\], but the tensor has \[2, 2\]", shape=(2, 2))
    np.save(tmp_path / "y.npy", VALUES)
    refuses(tmp_path / "y.npy", r"shape \[2, 3\], but the tensor has \[3, 2\]", shape=(3, 2))
    refuses(tmp_path / "y.npy", r"shape \[2, 3\], but the tensor has \[6\]", shape=(6,))


def test_empty_and_scalar(tmp_path):
    np.save(tmp_path / "e.npy", np.empty((0, 3)))
    assert read(str(tmp_path / "e.npy"), None, "float32", (0, 3)).size == 0
    np.save(tmp_path / "s.npy", np.float32(2.5))
    assert read(str(tmp_path / "s.npy"), None, "float32", ()).tolist() == [2.5]
    np.savez(tmp_path / "e.npz", x=np.empty((0, 3)))
    assert read(str(tmp_path / "e.npz"), None, "float32", (0, 3)).size == 0


def test_bfloat16_comes_as_uint16_or_as_numpy_writes_it(tmp_path):
    values = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    np.save(tmp_path / "a.npy", values.view(np.uint16))
    np.save(tmp_path / "b.npy", values)
    np.savez(tmp_path / "c.npz", x=values)
    values.tofile(tmp_path / "d.bin")
    for file in ("a.npy", "b.npy", "c.npz", "d.bin"):
        got = read(str(tmp_path / file), None, "bfloat16", (2,))
        assert got.dtype == ml_dtypes.bfloat16
        assert got.tolist() == [1.5, -2.0]
    assert read(str(tmp_path / "a.npy"), None, "uint16", (2,)).tolist() == [0x3FC0, 0xC000]
    assert read(str(tmp_path / "a.npy"), None, "float32", (2,)).tolist() == [0x3FC0, 0xC000]
    refuses(tmp_path / "b.npy", "raw bytes of width 2, which are no float16", dtype="float16")


def test_raw_files_have_exactly_the_bytes(tmp_path):
    path = tmp_path / "x.bin"
    np.array([1, -2], "<i2").tofile(path)
    assert read(str(path), None, "int16", (2,)).tolist() == [1, -2]
    refuses(path, r"has 4 bytes, but int16 \[3\] needs 6", dtype="int16", shape=(3,))
    path.write_bytes(b"\x00\x01\x07")
    assert read(str(path), None, "bool", (3,)).tobytes() == b"\x00\x01\x01"
    path.write_bytes(b"")
    assert read(str(path), None, "float32", (0,)).size == 0
    assert describe(str(path)).shape is None


def test_values_are_rounded_or_refused_never_bent(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.array([1 + 2.0**-8 + 2.0**-40, 1e300]))
    assert read(str(path), None, "bfloat16", (2,)).tolist() == [1 + 2.0**-7, np.inf]
    refuses(path, "float64, which does not become int32", dtype="int32")
    np.save(path, np.array([1, 300]))
    assert read(str(path), None, "int16", (2,)).tolist() == [1, 300]
    with pytest.raises(ValueError, match="holds 300, which is not a value of int8"):
        read(str(path), None, "int8", (2,))
    with pytest.raises(ValueError, match="not a value of bool"):
        read(str(path), None, "bool", (2,))
    np.save(path, np.array([1j, 2]))
    assert read(str(path), None, "complex64", (2,)).tolist() == [1j, 2]
    refuses(path, "complex128, which does not become float32")
    np.save(path, np.array([True, False]))
    assert read(str(path), None, "float32", (2,)).tolist() == [1, 0]


def test_nothing_is_unpickled(tmp_path):
    mark = tmp_path / "executed"
    np.save(tmp_path / "x.npy", np.array([Bomb(str(mark)), 1], object), allow_pickle=True)
    np.savez(tmp_path / "x.npz", x=np.array([Bomb(str(mark)), 1], object))
    refuses(tmp_path / "x.npy", "bytes of data|never unpickled")
    refuses(tmp_path / "x.npz", "never unpickled", key="x")
    (tmp_path / "p.npy").write_bytes(pickle.dumps(Bomb(str(mark))))
    refuses(tmp_path / "p.npy", "not in the .npy format")
    with pytest.raises(ValueError, match="never unpickled"):
        describe(str(tmp_path / "x.npz"), "x")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("text", "data", "says"),
    [
        (header(shape="(4,)"), b"\0" * 8, "promises 16 bytes of data, the file has 8"),
        (header(), b"\0" * 9, "promises 8 bytes of data, the file has 9"),
        (header(shape="(9223372036854775807, 9223372036854775807)"), b"", "promises"),
        (header(shape="(-2, -1)"), b"\0" * 8, "header cannot be read"),
        (header(shape="[2]"), b"\0" * 8, "header cannot be read"),
        (header(shape="(True, 2)"), b"\0" * 8, "header cannot be read"),
        (header(shape="(2,"), b"\0" * 8, "header cannot be read"),
        (header(shape="__import__('os')"), b"\0" * 8, "header cannot be read"),
        (header(shape="(" * 3000), b"", "header cannot be read"),
        (header(shape="(" + "9" * 6000 + ",)"), b"", "header cannot be read|promises"),
        (header(order="0"), b"\0" * 8, "header cannot be read"),
        ("{'descr': '<f4'}", b"", "header cannot be read"),
        ("[1, 2]", b"", "header cannot be read"),
        ("'\\d' is 3", b"", "header cannot be read"),
        (b"\xff\x00", b"", "header cannot be read"),
        (header("'|O'"), b"\0" * 16, "never unpickled"),
        (header("'(1000000000,)f4'"), b"", "never unpickled"),
        (header("[('a', '<f4')]"), b"\0" * 8, "never unpickled"),
        (header("'<U4'"), b"\0" * 32, "never unpickled"),
        (header("'<M8[s]'"), b"\0" * 16, "never unpickled"),
        (header("'<f7'"), b"\0" * 14, "does not know"),
        (header("'<f16'"), b"\0" * 32, "float128|does not know"),
    ],
)
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("packed", [False, True])
def test_forged_headers(tmp_path, text, data, says, version, packed):
    path = npy(tmp_path / "x.npy", text, data, version)
    if packed:
        with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
            archive.write(path, "x.npy")
        path = str(tmp_path / "x.npz")
    refuses(path, says.replace("the file", "the (file|member)"))
    with pytest.raises(ValueError, match=r"x\.np"):
        describe(path)


def test_header_sizes_are_bounded(tmp_path):
    refuses(npy(tmp_path / "x.npy", header(), version=2, length=2**31), "more than the limit")
    refuses(npy(tmp_path / "x.npy", header(), length=5000), "header cannot be read")
    refuses(npy(tmp_path / "x.npy", "", version=9), "not in the .npy format")
    (tmp_path / "x.npy").write_bytes(b"")
    refuses(tmp_path / "x.npy", "not in the .npy format")


def test_members(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, weight=np.zeros(2, np.float32), bias=np.ones(2, np.float32))
    refuses(path, "did you mean 'weight'", key="wieght")
    refuses(path, "2 members: choose one")
    assert describe(str(path)).keys == ("weight", "bias")
    np.save(tmp_path / "x.npy", np.zeros(2))
    refuses(tmp_path / "x.npy", "only an .npz has members", key="x")


def test_a_bomb_is_not_unpacked(tmp_path):
    """A gigabyte of zeros in a megabyte; the tensor that is asked for is small."""
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as member:
        start = header(shape="(50000000,)").encode()
        member.write(b"\x93NUMPY\x01\x00" + len(start).to_bytes(2, "little") + start)
        for _ in range(200):
            member.write(b"\0" * 1_000_000)
    refuses(path, r"shape \[50000000\], but the tensor has \[2\]")


def test_broken_archives(tmp_path):
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.arange(1000.0))
    whole = path.read_bytes()
    path.write_bytes(whole[:200])
    refuses(path, "is not a readable .npz", shape=(1000,))
    path.write_bytes(whole[:100] + b"\xff" * 40 + whole[140:])
    with pytest.raises(ValueError, match="cannot be read"):
        read(str(path), None, "float64", (1000,))
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            got = read(str(path), None, "float64", (1000,))
        except ValueError:
            continue
        assert got.tolist() == list(range(1000))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("x.npy", b"")
    refuses(path, "method that NumPy does not use")


def test_what_is_no_file(tmp_path):
    refuses(tmp_path / "none.npy", "cannot be read: No such file")
    (tmp_path / "folder.npy").mkdir()
    refuses(tmp_path / "folder.npy", "not a regular file")
    refuses(tmp_path / "x.txt", "end in .npy, .npz, .bin or .pt")
    os.mkfifo(tmp_path / "pipe.bin")
    refuses(tmp_path / "pipe.bin", "not a regular file")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("where", [0.0, 0.3, 0.999])
def test_a_member_whose_bytes_have_changed_is_not_read(tmp_path, save, where):
    values = np.random.default_rng(0).random(700_000)
    path = tmp_path / "a.npz"
    save(path, x=values, y=values + 1)
    mapped(str(path), "x")
    with zipfile.ZipFile(path) as archive:
        info = archive.getinfo("x.npy")
        header = 30 + len(info.filename) + 20 + 128
        at = info.header_offset + header + int(where * (info.compress_size - 160))
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(content)
    for reading in (mapped, lambda path, key: read(path, key, "float64", (700_000,))):
        with pytest.raises(ValueError, match=r"a\.npz(:x)? cannot be read: .") as caught:
            reading(str(path), "x")
        assert "\n" not in str(caught.value)
    # The other member is whole.
    assert np.array_equal(mapped(str(path), "y"), values + 1)


def test_a_stored_member_is_mapped_and_not_read_into_memory(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.zeros(1 << 21))
    tracemalloc.start()
    try:
        found = mapped(str(tmp_path / "a.npz"))
        assert tracemalloc.get_traced_memory()[1] < 6 << 20
    finally:
        tracemalloc.stop()
    assert not found.flags.owndata
    assert not found.flags.writeable
