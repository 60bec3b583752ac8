"""From changed paths to operators."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ascend_opcli.errors import UsageError
from ascend_opcli.execution import changed
from ascend_opcli.execution.changed import names_of, read_list, touched
from ascend_opcli.model import Case, FromFile, TensorSpec, Where


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
        b'"sp\\303\\244t \\"x\\".yaml"\nM\ta b.c\nR100\told\tnew\r\n\n  lead.c  \nz\0y\n\xe2\x80\xa8u\nraw\xff\n'
    )
    assert read_list(str(listed)) == (
        'sp\u00e4t "x".yaml', "M", "a b.c", "R100", "old", "new",
        "lead.c", "z", "y", "\u2028u", os.fsdecode(b"raw\xff"),
    )  # fmt: skip
    listed.write_bytes(b"")
    assert read_list(str(listed)) == ()


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
