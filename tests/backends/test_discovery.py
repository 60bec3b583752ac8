"""Where libraries and headers are looked for, in op-plugin's order, with --opp before everything."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from ascend_opcli.backends.cann import discovery
from ascend_opcli.errors import CaseFileError, UsageError
from ascend_opcli.operators.signature import find


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A CANN root with three vendors, a custom package and one more for --opp."""
    for place in (
        "cann/opp/vendors/late",
        "cann/opp/vendors/first",
        "cann/opp/vendors/second",
        "mine",
        "given",
    ):
        (tmp_path / place / "op_api" / "lib").mkdir(parents=True)
        (tmp_path / place / "op_api" / "include").mkdir()
        (tmp_path / place / "op_api" / "lib" / "libcust_opapi.so").touch()
    (tmp_path / "cann/opp/vendors/config.ini").write_text("load_priority=first,second\n")
    (tmp_path / "cann/lib64").mkdir()
    for name in ("libopapi_nn.so", "libopapi_math.so", "libascendcl.so"):
        (tmp_path / "cann/lib64" / name).touch()
    (tmp_path / "cann/include/aclnnop").mkdir(parents=True)
    return tmp_path


def environment(tree: Path) -> dict[str, str]:
    return {
        "ASCEND_HOME_PATH": str(tree / "cann"),
        "ASCEND_OPP_PATH": str(tree / "cann/opp"),
        "ASCEND_CUSTOM_OPP_PATH": str(tree / "mine"),
    }


def libraries_of(environ: dict[str, str], opp: Path | None = None) -> list[str]:
    custom = [str(file) for package in discovery.packages(environ, opp) for file in package.libraries]
    return [*custom, *discovery.builtin_libraries(environ)]


def names(tree: Path, libraries: list[str]) -> list[str]:
    short = [str(Path(p).relative_to(tree)) if p.startswith(str(tree)) else p for p in libraries]
    return [name.removesuffix("/op_api/lib/libcust_opapi.so") for name in short]


def test_the_order_of_libraries(tree: Path) -> None:
    assert names(tree, libraries_of(environment(tree), tree / "given")) == [
        "given",
        "mine",
        "cann/opp/vendors/first",
        "cann/opp/vendors/second",
        "cann/lib64/libopapi_math.so",
        "cann/lib64/libopapi_nn.so",
        *discovery.OLDER_LIBRARIES,
    ]


@pytest.mark.parametrize("inner", ["vendors/customize", "packages/vendors/customize"])
def test_an_extracted_package_is_found_inside_its_folder(tmp_path: Path, inner: str) -> None:
    (tmp_path / inner / "op_api").mkdir(parents=True)
    assert discovery.package_folders(tmp_path) == [tmp_path / inner]


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[a]\nload_priority=second\n", "load_priority=\n", "\x00\xff"]
)
def test_only_vendors_that_the_config_lists_count(tree: Path, text: str) -> None:
    (tree / "cann/opp/vendors/config.ini").write_text(text, "latin-1")
    found = [p.folder.name for p in discovery.packages(environment(tree)) if p.origin == "vendors"]
    assert found == (["second"] if "second" in text else [])
    unlisted = [folder.name for folder in discovery.unlisted_vendors(environment(tree))]
    assert sorted([*found, *unlisted]) == ["first", "late", "second"]
    (tree / "cann/opp/vendors/config.ini").unlink()
    assert not any(p.origin == "vendors" for p in discovery.packages(environment(tree)))


@pytest.mark.parametrize(
    ("library", "header"),
    [
        ("lib/libcust_opapi.so", "include/aclnn_add.h"),
        ("libcust_opapi.so", "include/aclnn_add.h"),
        ("op_api/lib/libmy_target.so", "op_api/include/aclnn_add.h"),
        ("op_api/lib/libcust_opapi.so", "op_api/include/aclnn_add.h"),
    ],
)
def test_a_package_as_a_build_leaves_it_is_taken(tmp_path: Path, library: str, header: str) -> None:
    for name, text in ((library, ""), (header, GOOD)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert [p.libraries for p in discovery.packages({}, tmp_path)] == [[tmp_path / library]]
    assert "mine" in (discovery.Headers({}, tmp_path)("add") or "")
    # CANN itself looks in one place only.
    found = discovery.packages({"ASCEND_CUSTOM_OPP_PATH": str(tmp_path)})
    assert [bool(p.libraries) for p in found] == [library == "op_api/lib/libcust_opapi.so"]


def test_a_run_package_is_told_how_it_is_extracted(tmp_path: Path) -> None:
    path = tmp_path / "custom_opp_ubuntu_x86_64.run"
    path.write_text("#!/bin/sh")
    with pytest.raises(UsageError, match=r"must be extracted first: bash .*\.run --noexec --extract=DIR"):
        discovery.package_folders(path)


def test_the_header_of_the_package_counts_before_the_installed_one(tree: Path) -> None:
    prototype = "aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *{}, aclTensor *out);"
    (tree / "cann/include/aclnnop/aclnn_add.h").write_text(prototype.format("installed"))
    assert "installed" in (discovery.Headers(environment(tree))("add") or "")
    (tree / "given/op_api/include/aclnn_add.h").write_text(prototype.format("packaged"))
    headers = discovery.Headers(environment(tree), tree / "given")
    for name in ("add", "aclnnAdd"):
        assert "packaged" in (headers(name) or "")
    assert headers("aclnnMul") is None


GOOD = "aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *mine, aclTensor *out);"


@pytest.mark.parametrize(
    "text",
    [
        "// like aclnnAddGetWorkspaceSize(x, dy, ...)",
        "/* aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *old, aclTensor *out); */",
        "// a line that goes on \\\naclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *old, aclTensor *out);",
        'const char *usage = "aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *old, aclTensor *out)";',
        "#define CALL aclnnAddGetWorkspaceSize(a, b, c, d)",
        "#define CALL(x) \\\n  int r = aclnnAddGetWorkspaceSize(x)",
        "#if 0\naclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *old, aclTensor *out);\n#endif",
        "#if 0\n#ifdef A\n#else\naclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *old, aclTensor *out);\n"
        "#endif\n#endif",
        "inline int f() { return aclnnAddGetWorkspaceSize(x, y, &size, &executor); }",
        "inline void f() { auto r = aclnnAddGetWorkspaceSize(x, y, &size, &executor); }",
        "inline void f() { if (x) aclnnAddGetWorkspaceSize(x, y, &size, &executor); }",
    ],
)
def test_what_declares_nothing_hides_nothing(tree: Path, text: str) -> None:
    note = tree / "given/op_api/include/aaa_notes.h"
    installed = tree / "cann/include/aclnnop/aclnn_add.h"
    note.write_text(text)
    assert discovery.declared_in(note) == []
    headers = discovery.Headers(environment(tree), tree / "given")
    assert headers("add") is None
    # Neither a header behind it, nor a prototype behind it in the same header.
    for path, whole in ((installed, GOOD), (note, f"{text}\n{GOOD}")):
        path.write_text(whole)
        headers = discovery.Headers(environment(tree), tree / "given")
        assert [p.name for p in find(headers("add") or "", "aclnnAdd").params] == ["mine", "out"]
        assert headers.used == {"add": path}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('extern "C" {\n', "\n}"),
        ('__attribute__((visibility("default"))) ', ""),
        ("#ifdef __cplusplus\n#endif\n", ""),
        ("#if 0\n#else\n", "\n#endif"),
        ('const char *address = "http://example.org";\nconst char quote = \'"\'; ', " // the end"),
        ("static inline ", " /* never closed"),
    ],
)
def test_a_prototype_is_found_whatever_stands_around_it(tree: Path, before: str, after: str) -> None:
    path = tree / "given/op_api/include/aclnn_add.h"
    path.write_text(before + GOOD + after)
    assert discovery.declared_in(path) == ["aclnnAdd"]
    assert discovery.Headers(environment(tree), tree / "given")("aclnnAdd") is not None


def test_a_prototype_that_cannot_be_read_is_named_where_no_other_is(tree: Path) -> None:
    bad = tree / "given/op_api/include/aclnn_add.h"
    bad.write_text("aclnnStatus aclnnAddGetWorkspaceSize(const MyStruct *x, aclTensor *out);")
    with pytest.raises(CaseFileError, match="MyStruct") as said:
        discovery.Headers(environment(tree), tree / "given")("add")
    assert str(bad) in str(said.value)
    (tree / "mine/op_api/include/zzz.h").write_text(GOOD)
    headers = discovery.Headers(environment(tree), tree / "given")
    assert "mine" in (headers("add") or "")


def test_headers_that_are_no_files_or_cannot_be_read_are_passed_over(tree: Path) -> None:
    include = tree / "given/op_api/include"
    (include / "folder.h").mkdir()
    (include / "dangling.h").symlink_to("/nowhere/at/all")
    (include / "device.h").symlink_to("/dev/zero")
    (include / "loop").symlink_to(".")
    os.mkfifo(include / "pipe.h")
    (include / "bytes.h").write_bytes(b"\xff\x00\xfe")
    (include / "zzz.h").write_text(GOOD)
    assert "mine" in (discovery.Headers(environment(tree), tree / "given")("add") or "")


@pytest.mark.parametrize(
    "text", ['\\"', '"', "'", "/*", "//", "#if 0\n", "x aclnn", "aclnnAddGetWorkspaceSize("]
)
def test_a_hostile_header_is_read_in_time(tree: Path, text: str) -> None:
    path = tree / "given/op_api/include/hostile.h"
    path.write_text(text * (discovery.MAX_HEADER // len(text) - 1))
    begun = time.process_time()
    assert discovery.declared_in(path) == []
    assert time.process_time() - begun < 5


def test_a_file_that_is_too_large_to_be_a_header_is_not_read(tree: Path) -> None:
    text = "aclnnStatus aclnnAddGetWorkspaceSize(const aclTensor *x, aclTensor *out);"
    (tree / "cann/include/aclnnop/big.h").write_text(text + " " * discovery.MAX_HEADER)
    assert discovery.Headers(environment(tree))("add") is None


def test_a_worker_sees_the_package_first_and_no_stub_libraries(tree: Path) -> None:
    given = {
        **environment(tree),
        "LD_LIBRARY_PATH": "/opt/cann/runtime/lib64/stub:/opt/cann/lib64:/opt/devlib",
    }
    made = discovery.child_environment(given, tree / "given")
    assert made["ASCEND_CUSTOM_OPP_PATH"] == f"{tree / 'given'}:{tree / 'mine'}"
    assert made["LD_LIBRARY_PATH"] == "/opt/cann/lib64"


def test_a_pipe_in_the_place_of_a_library_is_not_waited_for(tree: Path) -> None:
    library = tree / "mine/op_api/lib/libcust_opapi.so"
    library.unlink()
    os.mkfifo(library)
    assert str(library) not in libraries_of(environment(tree))
    library.unlink()
    library.symlink_to("/nowhere")
    assert str(library) in libraries_of(environment(tree))


def test_a_package_that_is_named_twice_counts_once(tree: Path) -> None:
    given = {
        **environment(tree),
        "ASCEND_CUSTOM_OPP_PATH": f"{tree / 'given'}:{tree / 'mine'}:{tree / 'mine'}",
    }
    assert [p.origin for p in discovery.packages(given, tree / "given")][:2] == [
        "--opp",
        "ASCEND_CUSTOM_OPP_PATH",
    ]
    libraries = libraries_of(given, tree / "given")
    assert len(libraries) == len(set(libraries))
