"""From changed paths to operators."""

from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ascend_opcli.errors import UsageError
from ascend_opcli.execution import changed
from ascend_opcli.execution.changed import names_of, read_list, touched
from ascend_opcli.model import Case, FromFile, TensorSpec, Where
from tests.conftest import Opcli


def case(operator: str, path: str = "<command line>", data: FromFile | None = None) -> Case:
    spec = TensorSpec("float32", (1,), data, (1,), 0, (1,))
    return Case(path, "a", operator, {"x": spec}, Where(path, 1, 1))


@pytest.mark.parametrize(
    ("path", "operator"),
    [
        ("norm/sync_batch_norm_backward_elemt/op_kernel/a.h", "aclnnBatchNormElemtBackward"),
        ("norm/x/op_api/aclnn_batch_norm_elemt_backward.cpp", "aclnnBatchNormElemtBackward"),
        ("activation/threshold_grad_v2_d/op_host/a.cpp", "aclnnThresholdBackward"),
        ("experimental/activation/relu_grad_v2/a.cpp", "aclnnThresholdBackward"),
        ("activation/elu_grad_v2/CMakeLists.txt", "aclnnEluBackward"),
        ("math/amp_update_scale/a", "aclnnAmpUpdateScale"),
        ("AmpUpdateScale.cpp", "aclnnAmpUpdateScale"),
        ("AMP_UPDATE_SCALE.CPP", "aclnnAmpUpdateScale"),
        ("tests\\ut\\test_aclnn_amp_update_scale.py", "aclnnAmpUpdateScale"),
        ("foo_bar/a.h", "aclnnFooBarV2"),
        ("add/a.h", "aclnnInplaceAdd"),
        ("add_rms_norm/a.h", "aclnnAdd"),
        ("gelu_grad/a.h", "aclnnGeluBackward"),
    ],
)  # fmt: skip
def test_a_path_touches_the_operator_that_it_names(path: str, operator: str) -> None:
    assert touched([path])(case(operator))


@pytest.mark.parametrize(
    ("path", "operator"),
    [
        ("address/a.h", "aclnnAdd"),
        ("paddle.h", "aclnnAdd"),
        ("foo_bar_v2/a.h", "aclnnFooBarV3X"),
        ("logit/a.h", "aclnnLogitGrad"),
        ("grad/logit.h", "aclnnLogitGrad"),
        ("", "aclnnAdd"),
    ],
)
def test_a_path_touches_no_other(path: str, operator: str) -> None:
    assert not touched([path])(case(operator))


def test_a_case_file_a_data_file_and_their_absolute_paths_touch_their_cases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "repo" / "sub"
    folder.mkdir(parents=True)
    for name in ("my.yaml", "x.npy"):
        (folder / name).write_text("")
    mine = case("aclnnFoo", "repo/sub/my.yaml", FromFile(str(folder / "x.npy")))
    for path in ("repo/sub/my.yaml", "./repo/sub/my.yaml", str(folder / "my.yaml"), "repo/sub/x.npy"):
        assert touched([path])(mine), path
    # As git says it in repo/, while opcli runs elsewhere.
    assert touched(["sub/my.yaml"])(mine)
    for path in ("sub/your.yaml", "y.yaml", "my.yaml/x", "repo/sub/"):
        assert not touched([path])(mine), path


def test_a_reference_and_a_header_of_a_case_touch_it() -> None:
    import dataclasses

    mine = dataclasses.replace(
        case("aclnnFoo", "sub/my.yaml"), reference="ref.py:f", source={"signature": "a/b.h"}
    )
    assert touched(["sub/ref.py"])(mine)
    assert touched(["sub/a/b.h"])(mine)
    assert not touched(["sub/f"])(mine)


def test_kernels_that_are_named_otherwise_are_of_operators_that_exist() -> None:
    from ascend_opcli.operators.catalog import find

    for name, folders in changed.KERNELS.items():
        assert find(name).short_name == name
        assert set(folders) <= set(names_of(find(name).name))


def test_the_list_is_read_as_git_writes_it(tmp_path: Path) -> None:
    listed = tmp_path / "list"
    listed.write_bytes(
        b'"sp\\303\\244t \\"x\\".yaml"\nM\ta b.c\nR100\told\tnew\r\n\n  lead.c  \nz\0y\n\xe2\x80\xa8u\n"raw\\377"\n'
    )
    assert read_list(str(listed)) == (
        'sp\u00e4t "x".yaml', "M", "a b.c", "R100", "old", "new",
        "lead.c", "z", "y", "\u2028u", os.fsdecode(b"raw\xff"),
    )  # fmt: skip
    listed.write_bytes(b"")
    assert read_list(str(listed)) == ()


LISTED = "loss/logit_grad/a.cpp\r\nsp\u00e4t.yaml\r\n"


@pytest.mark.parametrize(
    "data",
    [
        LISTED.encode("utf-8-sig"),
        codecs.BOM_UTF16_LE + LISTED.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + LISTED.encode("utf-16-be"),
        codecs.BOM_UTF32_LE + LISTED.encode("utf-32-le"),
        codecs.BOM_UTF32_BE + LISTED.encode("utf-32-be"),
    ],
)
def test_a_byte_order_mark_is_understood(tmp_path: Path, data: bytes) -> None:
    listed = tmp_path / "list"
    listed.write_bytes(data)
    assert read_list(str(listed)) == ("loss/logit_grad/a.cpp", "sp\u00e4t.yaml")


@pytest.mark.parametrize("bom", [codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE])
def test_a_mark_alone_is_an_empty_list(tmp_path: Path, bom: bytes) -> None:
    listed = tmp_path / "list"
    listed.write_bytes(bom)
    assert read_list(str(listed)) == ()


@pytest.mark.parametrize(
    "data",
    [
        b"a.c\nraw\xff\n",
        b"sp\xe4t.yaml\n",
        b"\xff\xfe\x00",
        b"\xfe\xff\xd8\x00\x00a",
        b"\xff\xfe\x00\x00a",
        b"\xef\xbb\xbf\xff",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03",
        LISTED.replace("\u00e4", "a").encode("utf-16-le"),
        LISTED.replace("\u00e4", "a").encode("utf-16-be"),
        LISTED.encode("utf-16-le"),
        "loss/\u4e2d/a.cpp\n".encode("utf-16-le"),
        LISTED.replace("\u00e4", "a").encode("utf-32-le"),
        b"\0\0\0\0",
    ],
)
def test_what_cannot_be_decoded_is_wrong_usage(opcli: Opcli, tmp_path: Path, data: bytes) -> None:
    listed = tmp_path / "list"
    listed.write_bytes(data)
    with pytest.raises(UsageError, match=r"^--changed .*list: "):
        read_list(str(listed))
    cases = tmp_path / "a.yaml"
    cases.write_text("{op: logit_grad, cases: [{dtype: float32, shape: [4]}]}")
    done = opcli("run", cases, "--changed", listed)
    assert done.code == 2
    assert "no operator was changed" not in done.err


@given(
    st.text(st.characters(blacklist_characters='\r\n\t\0 "\ufeff', blacklist_categories=["Cs"]), min_size=1)
)
def test_a_path_is_the_same_in_every_encoding(tmp_path_factory: pytest.TempPathFactory, path: str) -> None:
    listed = tmp_path_factory.mktemp("lists") / "list"
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        listed.write_bytes(path.encode(encoding))
        assert read_list(str(listed)) == (path,)


def test_the_list_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changed, "MAX_BYTES", 2**20)
    listed = tmp_path / "list"
    listed.write_bytes(b"a\n" * 2**20)
    with pytest.raises(UsageError, match="larger than 1 MiB"):
        read_list(str(listed))


def test_paths_that_no_file_system_takes_are_only_text() -> None:
    test = touched(["a" * 10_000 + "/logit_grad", os.fsdecode(b"\xff"), "x\x01"])
    assert test(case("aclnnLogitGrad", "a.yaml"))
    assert not test(case("aclnnFoo", "a.yaml"))


def test_many_paths_and_operators_are_quick() -> None:
    import time

    begun = time.perf_counter()
    test = touched([f"folder{i}/sub/file_{i}.cpp" for i in range(20_000)])
    assert not any(test(case(f"aclnnOperator{i}X")) for i in range(300))
    assert time.perf_counter() - begun < 10
