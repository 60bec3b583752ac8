"""What of CANN is there, what is missing, and the command that mends it."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ascend_opcli.backends.cann import discovery, driver, probe, symbols
from ascend_opcli.backends.cann.finding import MISSING, NOTE, OK, Finding
from ascend_opcli.errors import CaseFileError, UsageError
from ascend_opcli.operators.catalog import UnknownOperator, find
from ascend_opcli.operators.operator import snake
from ascend_opcli.operators.signature import find as find_signature

PROBE_TIMEOUT = 120.0


def examine(
    environ: Mapping[str, str], operators: tuple[str, ...] = (), opp: Path | None = None, device: int = 0
) -> list[Finding]:
    """Look at everything; nothing is changed, and nothing that is missing stops the rest.

    Raises UsageError where ``opp`` is no operator package.
    """
    packages = list(_packages(environ, opp))
    machine = list(driver.examine(environ, device))
    settings = [_numpy(environ), *_roots(environ)]
    names = tuple(_full(name) for name in operators)
    # A device is opened only where nothing stands in its way: what it would say is less clear than what is missing.
    clear = not any(f.state == MISSING for f in (*settings, *machine))
    seen = Seen.by_child(environ, opp, device if clear else None, names)
    return [
        Finding(OK, "Python", f"{platform.python_version()} ({sys.executable})"),
        settings[0],
        *_versions(environ, seen.cann),
        *settings[1:],
        *seen.of(probe.PYACL, probe.RUNTIME, probe.LIBRARIES),
        *_stubs(environ),
        *machine,
        *packages,
        *seen.of(probe.DEVICE),
        *([] if clear else [Finding(NOTE, f"device {device}", "not opened: what is missing comes first")]),
        *(f for name in operators for f in _operator(name, environ, opp, seen)),
    ]


def device_ready(findings: list[Finding]) -> bool:
    """Whether a device run can work."""
    return not any(f.state == MISSING and not f.operator for f in findings)


def operators_ready(findings: list[Finding]) -> dict[str, bool]:
    """Whether a device run of each operator that was asked for can work, as far as the operator goes."""
    ready: dict[str, bool] = {}
    for finding in findings:
        if finding.operator:
            ready[finding.operator] = ready.get(finding.operator, True) and finding.state != MISSING
    return ready


def _numpy(environ: Mapping[str, str]) -> Finding:
    try:
        numpy = version("numpy")
    except PackageNotFoundError:
        return Finding(MISSING, "NumPy", "not installed", "python3 -m pip install numpy")
    if numpy.split(".")[0] != "1" and discovery.root(environ) is not None:
        fix = "python3 -m pip install 'numpy<2' where pyACL's util functions or torch_npu fail"
        return Finding(NOTE, "NumPy", f"{numpy}; CANN's own Python parts are built against NumPy 1", fix)
    return Finding(OK, "NumPy", numpy)


def _roots(environ: Mapping[str, str]) -> Iterator[Finding]:
    home = discovery.root(environ)
    on_disk = discovery.roots_on_disk()
    if home is None:
        if on_disk:
            yield Finding(
                MISSING,
                "CANN",
                f"{on_disk[0]} is there, set_env.sh is not sourced",
                f"source {on_disk[0]}/set_env.sh",
            )
        else:
            fix = "install the CANN toolkit, then source <root>/set_env.sh"
            yield Finding(MISSING, "CANN", "no ASCEND_HOME_PATH and no root at the usual places", fix)
        return
    if not home.is_dir():
        fix = f"source {on_disk[0]}/set_env.sh" if on_disk else "source set_env.sh of the installed root"
        yield Finding(MISSING, "CANN", f"ASCEND_HOME_PATH names {home}, which does not exist", fix)
        return
    if not environ.get("ASCEND_OPP_PATH"):
        yield Finding(MISSING, "operators", "ASCEND_OPP_PATH is not set", f"source {home}/set_env.sh")
    elif not Path(environ["ASCEND_OPP_PATH"]).is_dir():
        yield Finding(
            MISSING,
            "operators",
            f"ASCEND_OPP_PATH names {environ['ASCEND_OPP_PATH']}, which does not exist",
            f"source {home}/set_env.sh",
        )


def _versions(environ: Mapping[str, str], running: str) -> Iterator[Finding]:
    """The version that the root's files name, and that of the runtime which was loaded."""
    home = discovery.root(environ)
    if home is None or not home.is_dir():
        return
    filed = discovery.cann_version(home)
    if filed and running and filed.split(".")[:2] != running.split(".")[:2]:
        fix = f"source {home}/set_env.sh in a shell of its own, so that no other CANN is on LD_LIBRARY_PATH"
        yield Finding(NOTE, "CANN", f"{home}, {filed}; the runtime that is loaded says {running}", fix)
    elif filed or running:
        yield Finding(OK, "CANN", f"{home}, {filed or f'{running} as the runtime says'}")
    else:
        yield Finding(
            OK, "CANN", f"{home}, version not checked: no file names it and no runtime could be asked"
        )


def _stubs(environ: Mapping[str, str]) -> Iterator[Finding]:
    for folder in environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder and discovery.is_stub(folder):
            fix = f"take {folder} off LD_LIBRARY_PATH; opcli leaves it out for its own workers"
            yield Finding(NOTE, "stub libraries", f"{folder} is on LD_LIBRARY_PATH and answers 100039", fix)


def _packages(environ: Mapping[str, str], opp: Path | None) -> Iterator[Finding]:
    """Custom packages, and the built-in operators that they shadow."""
    for folder in discovery.unlisted_vendors(environ):
        fix = f"put {folder.name} into load_priority of {folder.parent / 'config.ini'}, or remove it"
        yield Finding(NOTE, "package", f"{folder} is there, and CANN does not load it: it is not listed", fix)
    known: dict[str, Path] = {}
    for package in discovery.packages(environ, opp):
        if not package.libraries:
            fix = "check the path, or build the package again"
            there = f"has no {discovery.CUSTOM_LIBRARY}" if package.folder.is_dir() else "does not exist"
            yield Finding(NOTE, "package", f"{package.folder} ({package.origin}) {there}", fix)
            continue
        yield Finding(OK, "package", f"{package.folder} ({package.origin})")
        for name in _names(package):
            if _catalogued(name):
                fix = f"unset ASCEND_CUSTOM_OPP_PATH or remove {package.folder} to use the built-in one"
                if package.origin == "--opp":
                    fix = "leave out --opp to use the built-in one"
                yield Finding(
                    NOTE, "shadowed", f"{name} of {package.folder} goes before the built-in one", fix
                )
            elsewhere = known.setdefault(name, package.folder)
            if elsewhere.resolve() != package.folder.resolve():
                fix = "keep one of them: two packages with the same operator crash in tiling"
                yield Finding(NOTE, "twice", f"{name} is in {elsewhere} and {package.folder}", fix)


def _names(package: discovery.Package) -> list[str]:
    """The operators that a package serves: what its library defines; where that cannot be read, what it declares."""
    defined = {name for library in package.libraries for name in symbols.defined(library)}
    if defined:
        return sorted(defined)
    headers = sorted(package.headers.rglob("*.h")) if package.headers.is_dir() else []
    return list({name: None for path in headers for name in discovery.declared_in(path)})


def _catalogued(name: str) -> bool:
    try:
        find(name)
    except UnknownOperator:
        return False
    return True


# --- what must be loaded --------------------------------------------------------------------------------------


class Seen:
    """What the child said: findings by stage, and the version of the runtime that it loaded."""

    def __init__(self) -> None:
        self.cann = ""
        self._findings: list[tuple[str, Finding]] = []

    def of(self, *stages: str) -> list[Finding]:
        """The findings of some stages, in their order."""
        return [finding for stage, finding in self._findings if stage in stages]

    @classmethod
    def by_child(
        cls, environ: Mapping[str, str], opp: Path | None, device: int | None, names: tuple[str, ...]
    ) -> Seen:
        """Load and open everything in a process of its own: a broken driver or library must not take the doctor
        along. Where the device does, the libraries are looked at in another one."""
        seen = cls()
        lost = seen._run(environ, opp, device, names)
        if lost is not None:
            seen._findings.append(lost)
        if lost is not None and lost[0] == probe.DEVICE and not seen.of(probe.LIBRARIES):
            again = cls()
            again._run(environ, opp, None, names)
            seen._findings += [f for f in again._findings if f[0] in (probe.LIBRARIES, probe.OPERATORS)]
        return seen

    def _run(
        self, environ: Mapping[str, str], opp: Path | None, device: int | None, names: tuple[str, ...]
    ) -> tuple[str, Finding] | None:
        """Run the child; the stage in which it was lost and what that means, None where it came to its end."""
        number = "" if device is None else str(device)
        child = discovery.child_environment(environ, opp)
        child["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
        command = [sys.executable, "-m", probe.__name__, number, str(opp or ""), *names]
        # It sees the folders that a worker sees.
        with subprocess.Popen(
            command, env=child, stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        ) as process:
            late = False
            try:
                out, err = process.communicate(timeout=PROBE_TIMEOUT)
            except subprocess.TimeoutExpired:
                late = True
                process.kill()
                out, err = process.communicate()
        stage, name = "", ""
        for line in out.decode("utf-8", "replace").splitlines():
            if not line.startswith(probe.MARK):
                continue
            said = json.loads(line.removeprefix(probe.MARK))
            stage = said["stage"]
            name = said.get("begins", name)
            self.cann = said.get("cann", self.cann)
            if "finding" in said:
                self._findings.append((stage, Finding(**said["finding"])))
        if process.returncode == 0:
            return None
        words = [line for line in err.decode("utf-8", "replace").splitlines() if line.strip()]
        how = f"exited with {process.returncode}"
        if process.returncode < 0:
            how = f"ended with {signal.Signals(-process.returncode).name}"
        if late:
            how = f"gave no answer within {PROBE_TIMEOUT:.0f} s"
        last = f" ({words[-1].strip()})" if words and not late else ""
        if stage == probe.DEVICE:
            fix = "check npu-smi info; another process may hold the device"
            return stage, Finding(MISSING, f"device {device}", f"the process that opens it {how}{last}", fix)
        if stage == probe.END:
            return probe.DEVICE, Finding(
                NOTE, f"device {device}", f"after all was closed, the process {how}{last}"
            )
        fix = f"install what has {name or stage or 'opcli'} anew"
        what = f"loading {name or stage}" if stage else "the process that looks"
        return stage or probe.PYACL, Finding(MISSING, stage or "CANN", f"{what}: it {how}{last}", fix)


# --- operators ------------------------------------------------------------------------------------------------


def _operator(asked: str, environ: Mapping[str, str], opp: Path | None, seen: Seen) -> Iterator[Finding]:
    """Which library has it, and whether the installed header and the catalog agree."""
    full = _full(asked)
    entry = [f for f in seen.of(probe.OPERATORS) if f.operator == full]
    said = list(_header(full, environ, opp))
    if not said and not any(f.state == OK for f in entry):
        try:
            find(asked)
        except UnknownOperator as error:
            fix = "check the name; an operator of your own needs --opp DIR, its header or a signature in the case"
            found = "found nowhere: no header declares it and the catalog does not have it"
            if entry:
                found += f"; {entry[0].found}"
                fix = entry[0].fix if "cannot be opened" in entry[0].found else fix
            found += f"; {error}"
            yield Finding(MISSING, full, found, fix, full)
            return
    yield from entry
    yield from said or [
        Finding(
            NOTE,
            full,
            "no header declares it and the catalog does not have it",
            "give the case its signature",
            full,
        )
    ]


def _full(name: str) -> str:
    try:
        operator = find(name)
        if operator.by_type:
            raise UsageError(f"{operator.name} has no aclnn function, and doctor looks for those")
        return operator.name
    except UnknownOperator:
        return (
            name if name.startswith("aclnn") else "aclnn" + "".join(w.capitalize() for w in name.split("_"))
        )


def _header(full: str, environ: Mapping[str, str], opp: Path | None) -> Iterator[Finding]:
    """Whether the installed header and the catalog agree; nothing where neither has the operator."""
    headers = discovery.Headers(environ, opp)
    try:
        text = headers(full)
    except CaseFileError as error:
        yield Finding(NOTE, full, str(error), "give the case a signature of its own", full)
        return
    if text is None:
        if _catalogued(full):
            found = "no installed header declares it; the catalog's signature is used"
            yield Finding(NOTE, full, found, operator=full)
        return
    path = headers.used[full]
    try:
        known = find(full).signature
    except UnknownOperator:
        yield Finding(OK, full, f"declared by {path}; the catalog does not know it", operator=full)
        return
    io = {p.name: p.io for p in known.params}
    declared = find_signature(text, full, io=io)
    if [p.type for p in declared.params] == [p.type for p in known.params]:
        yield Finding(OK, full, f"{path} and the catalog agree ({snake(full)})", operator=full)
    else:
        found = f"{path} and the catalog differ; the header counts"
        yield Finding(NOTE, full, found, "see opcli ops show", full)
