"""C++ programs in the order of calls that the documents print: they compile, run, and print the documented numbers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from .build import CannRoot, build, compile_program, cxx_compiler, env

PROGRAMS = Path(__file__).parent / "programs"
DOCUMENTED = {
    "logit_grad": [11.1111, 12.5, 14.2857, 16.6667],
    "elu_backward": [2, 0, 0, 1],
    "batch_norm_elemt_backward": [0, 0.9, 1.8, 2.7, 3.6, 4.5, 5.4, 6.3],
    "threshold_backward": [0, 4.4, 4.3, 4.2],
    "amp_update_scale": [65536, 901],
}
needs_cxx = pytest.mark.skipif(cxx_compiler() is None, reason="no C++ compiler on this machine")


def start(program: Path, root: CannRoot, report: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program],
        env={**os.environ, **env(root), "SIM_CANN_REPORT": str(report), **variables},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def numbers(text: str) -> list[float]:
    return [float(value) for value in re.findall(r"(?:: |= )(-?[\d.]+)", text)]


@needs_cxx
@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_program_prints_the_documented_numbers(name: str, cann: CannRoot, tmp_path: Path) -> None:
    program = compile_program(cann, PROGRAMS / f"{name}.cpp", tmp_path / name)
    done = start(program, cann, tmp_path / "report")
    assert done.returncode == 0, done.stdout + done.stderr
    assert numbers(done.stdout) == pytest.approx(DOCUMENTED[name], abs=1e-4)
    (account,) = map(json.loads, (tmp_path / "report").read_text().splitlines())
    assert account["at"] == "finalize"
    assert not any(account["live"].values())
    assert account["faults"] == []
    assert account["launches"] == 1


@needs_cxx
def test_without_a_report_file_the_account_goes_to_stderr(cann: CannRoot, tmp_path: Path) -> None:
    program = compile_program(cann, PROGRAMS / "logit_grad.cpp", tmp_path / "program")
    variables = {**os.environ, **env(cann)}
    variables.pop("SIM_CANN_REPORT", None)
    done = subprocess.run([program], env=variables, capture_output=True, text=True, check=True)
    assert done.stderr.startswith("simulated CANN at finalize: nothing still alive, 0 lifetime faults")


@needs_cxx
def test_host_code_that_dereferences_a_device_pointer_dies(cann: CannRoot, tmp_path: Path) -> None:
    source = tmp_path / "peek.cpp"
    source.write_text(
        '#include "acl/acl.h"\n'
        "int main()\n{\n"
        "    void *memory = nullptr;\n"
        "    if (aclInit(nullptr) || aclrtSetDevice(0) || aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST))\n"
        "        return 9;\n"
        "    return *static_cast<volatile char *>(memory);\n}\n"
    )
    program = compile_program(cann, source, tmp_path / "peek")
    assert start(program, cann, tmp_path / "report").returncode == -signal.SIGSEGV


@needs_cxx
def test_libraries_and_programs_are_clean_under_the_sanitizers(tmp_path: Path) -> None:
    flags = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
    probe = tmp_path / "probe.cpp"
    probe.write_text("int main() { return 0; }\n")
    probed = subprocess.run(
        [str(cxx_compiler()), *flags, str(probe), "-o", str(tmp_path / "probe")],
        capture_output=True,
        check=False,
    )
    if probed.returncode or subprocess.run([tmp_path / "probe"], capture_output=True, check=False).returncode:
        pytest.skip("the sanitizers' runtime is not installed")
    root = build(tmp_path / "tree", flags=flags)
    for name, expected in DOCUMENTED.items():
        program = compile_program(root, PROGRAMS / f"{name}.cpp", tmp_path / name, flags)
        # Leak detection needs ptrace, which containers forbid; the account of the simulation counts what is left.
        done = start(program, root, tmp_path / "report", ASAN_OPTIONS="detect_leaks=0")
        assert done.returncode == 0, done.stderr
        assert numbers(done.stdout) == pytest.approx(expected, abs=1e-4)


@needs_cxx
def test_the_single_library_layout_of_older_cann(tmp_path: Path) -> None:
    root = build(tmp_path / "tree", layout="single")
    assert [path.name for path in sorted(root.lib64.glob("libopapi*"))] == ["libopapi.so"]
    program = compile_program(root, PROGRAMS / "threshold_backward.cpp", tmp_path / "program")
    assert numbers(start(program, root, tmp_path / "report").stdout) == pytest.approx([0, 4.4, 4.3, 4.2])
