"""What of CANN is there, what is missing, and the command that mends it."""

from __future__ import annotations

import glob
import importlib.util
import os
import platform
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from ascend_opcli.backends.cann import discovery
from ascend_opcli.operators.catalog import UnknownOperator, find
from ascend_opcli.operators.operator import snake
from ascend_opcli.operators.products import PRODUCTS, product
from ascend_opcli.operators.signature import find as find_signature

PROBE_TIMEOUT = 120.0
OK, NOTE, MISSING = "ok", "note", "missing"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: ok, a note, or missing with the line that mends it."""

    state: str
    what: str
    found: str
    fix: str = ""


def examine(
    environ: Mapping[str, str], operators: tuple[str, ...] = (), opp: Path | None = None, device: int = 0
) -> list[Finding]:
    """Look at everything; nothing is changed, and nothing that is missing stops the rest."""
    findings = [
        Finding(OK, "Python", f"{platform.python_version()} ({sys.executable})"),
        _numpy(environ),
        *_roots(environ),
        _pyacl(),
        *_libraries(environ, opp),
        *_stubs(environ),
        _devices(),
        *_packages(environ, opp),
    ]
    if not any(f.state == MISSING for f in findings):
        findings += _probe(environ, operators, opp, device)
    findings += [f for name in operators for f in _header(name, environ, opp)]
    return findings


def device_ready(findings: list[Finding]) -> bool:
    """Whether a device run can work."""
    return not any(f.state == MISSING for f in findings)


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
    yield Finding(OK, "CANN", f"{home}, {cann_version(home) or 'version unknown'}")
    if not environ.get("ASCEND_OPP_PATH"):
        yield Finding(MISSING, "operators", "ASCEND_OPP_PATH is not set", f"source {home}/set_env.sh")
    elif not Path(environ["ASCEND_OPP_PATH"]).is_dir():
        yield Finding(
            MISSING,
            "operators",
            f"ASCEND_OPP_PATH names {environ['ASCEND_OPP_PATH']}, which does not exist",
            f"source {home}/set_env.sh",
        )


def cann_version(home: Path) -> str | None:
    """The version that a root says of itself, None where no file has it."""
    candidates = [home / "version.cfg", home / "version.info"]
    candidates += [Path(p) for p in sorted(glob.glob(str(home / "*" / "version.info")))]
    candidates += [Path(p) for p in sorted(glob.glob(str(home / "*-linux" / "*.info")))]
    for path in candidates:
        try:
            text = path.read_text("utf-8", errors="replace")[:65536]
        except OSError:
            continue
        for line in text.splitlines():
            key, _, value = line.partition("=")
            if key.strip().lower() in ("version", "toolkit_running_version", "runtime_running_version"):
                return value.strip().strip("[]").rpartition(":")[2]
    return None


def _pyacl() -> Finding:
    spec = importlib.util.find_spec("acl")
    if spec is None:
        return Finding(
            MISSING, "pyACL", "no module acl", "source set_env.sh of the CANN root; do not pip install acl"
        )
    place = spec.origin or "a namespace package"
    if _is_foreign():
        fix = "python3 -m pip uninstall acl, then source set_env.sh"
        return Finding(MISSING, "pyACL", f"{place} is an unrelated package called acl", fix)
    return Finding(OK, "pyACL", place)


def _is_foreign() -> bool:
    """PyPI's acl has metadata of its own; pyACL is no distribution."""
    try:
        version("acl")
    except PackageNotFoundError:
        return False
    return True


def _libraries(environ: Mapping[str, str], opp: Path | None) -> Iterator[Finding]:
    home = discovery.root(environ)
    if home is None or not home.is_dir():
        return
    for names in (("libascendcl.so", "libacl_rt.so"), ("libnnopbase.so",)):
        place = next((p for n in names for p in _on_path(n, environ)), None)
        if place is None:
            fix = f"source {home}/set_env.sh" if _below(home, names) else "install the CANN toolkit anew"
            yield Finding(MISSING, names[0], "not on LD_LIBRARY_PATH", fix)
        else:
            yield Finding(OK, names[0], place)
    holders = [
        name
        for name in discovery.operator_libraries(environ, opp)
        if (os.path.isabs(name) and os.path.isfile(name)) or _on_path(name, environ)
    ]
    if not holders:
        fix = "install the operator package (ops) of this CANN version and SoC"
        yield Finding(MISSING, "operator libraries", "no libopapi*.so", fix)
    for holder in holders:
        yield Finding(
            OK, "operator library", holder if os.path.isabs(holder) else _on_path(holder, environ)[0]
        )


def _on_path(name: str, environ: Mapping[str, str]) -> list[str]:
    folders = [f for f in environ.get("LD_LIBRARY_PATH", "").split(":") if f]
    return [path for path in (os.path.join(f, name) for f in folders) if os.path.isfile(path)]


def _below(home: Path, names: tuple[str, ...]) -> bool:
    return any((home / "lib64" / name).is_file() for name in names)


def _stubs(environ: Mapping[str, str]) -> Iterator[Finding]:
    for folder in environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder and discovery.is_stub(folder):
            fix = f"take {folder} off LD_LIBRARY_PATH; opcli leaves it out for its own workers"
            yield Finding(NOTE, "stub libraries", f"{folder} is on LD_LIBRARY_PATH and answers 100039", fix)


def _devices() -> Finding:
    files = sorted(glob.glob("/dev/davinci[0-9]*"))
    if not files:
        fix = "install the driver and firmware, or map /dev/davinci* into the container"
        return Finding(NOTE, "device files", "no /dev/davinci*", fix)
    closed = [f for f in files if not os.access(f, os.R_OK | os.W_OK)]
    if closed:
        fix = "add the user to the group HwHiAiUser"
        return Finding(MISSING, "device files", f"no permission for {', '.join(closed)}", fix)
    return Finding(OK, "device files", ", ".join(files))


def _packages(environ: Mapping[str, str], opp: Path | None) -> Iterator[Finding]:
    """Custom packages, and the built-in operators that they shadow."""
    known: dict[str, Path] = {}
    for package in discovery.packages(environ, opp):
        if not package.shared_object.is_file():
            fix = "check the path, or build the package again"
            yield Finding(
                NOTE, "package", f"{package.folder} ({package.origin}) has no {discovery.CUSTOM_LIBRARY}", fix
            )
            continue
        yield Finding(OK, "package", f"{package.folder} ({package.origin})")
        headers = package.headers.rglob("*.h") if package.headers.is_dir() else ()
        for path in sorted(headers):
            for name in discovery.declared_in(path):
                try:
                    find(name)
                except UnknownOperator:
                    pass
                else:
                    fix = f"unset ASCEND_CUSTOM_OPP_PATH or remove {package.folder} to use the built-in one"
                    yield Finding(
                        NOTE, "shadowed", f"{name} of {package.folder} goes before the built-in one", fix
                    )
                if name in known:
                    fix = "keep one of them: two packages with the same operator crash in tiling"
                    yield Finding(NOTE, "twice", f"{name} is in {known[name]} and {package.folder}", fix)
                known.setdefault(name, package.folder)


# --- what needs the device ------------------------------------------------------------------------------------

_SCRIPT = """
import json, os, sys
from pathlib import Path
from ascend_opcli.backends.cann.discovery import operator_libraries
from ascend_opcli.backends.cann.libraries import Libraries
from ascend_opcli.backends.cann.runtime import Runtime, load_pyacl
opp = Path(sys.argv[2]) if sys.argv[2] else None
said = {"entries": {}}
acl = load_pyacl()
with Runtime(acl, int(sys.argv[1])) as runtime:
    said["soc"] = runtime.soc_name()
    libraries = Libraries(operator_libraries(os.environ, opp))
    for name in sys.argv[3:]:
        try:
            said["entries"][name] = [True, libraries.entry(name).file]
        except Exception as error:
            said["entries"][name] = [False, str(error)]
print("\\n" + json.dumps(said))
"""


def _probe(
    environ: Mapping[str, str], operators: tuple[str, ...], opp: Path | None, device: int
) -> Iterator[Finding]:
    """Open the device in a process of its own: a broken driver must not take the doctor along."""
    import json

    child = discovery.child_environment(environ, opp)
    child["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    command = [sys.executable, "-c", _SCRIPT, str(device), str(opp or ""), *(_full(n) for n in operators)]
    try:
        done = subprocess.run(
            command,
            env=child,
            capture_output=True,
            text=True,
            timeout=PROBE_TIMEOUT,
            check=False,
            errors="replace",
        )
        said = json.loads(done.stdout.strip().rpartition("\n")[2])
    except subprocess.TimeoutExpired:
        fix = "check npu-smi info; another process may hold the device"
        yield Finding(MISSING, f"device {device}", f"did not open within {PROBE_TIMEOUT:.0f} s", fix)
        return
    except ValueError:
        last = (done.stderr.strip() or done.stdout.strip() or f"exit {done.returncode}").splitlines()[-1]
        fix = "opcli codes CODE says what a code means; npu-smi info shows the driver's view"
        yield Finding(MISSING, f"device {device}", last, fix)
        return
    soc = said["soc"]
    try:
        named = product(soc)
        yield Finding(OK, f"device {device}", f"{soc}, product {named} ({PRODUCTS[named]})")
    except ValueError:
        yield Finding(NOTE, f"device {device}", f"{soc}, a SoC that no product is known for", "use --product")
    for name, (there, text) in said["entries"].items():
        fix = "install the operator package that has it, or name it with --opp DIR"
        yield Finding(OK, name, f"served by {text}") if there else Finding(MISSING, name, text, fix)


def _full(name: str) -> str:
    try:
        return find(name).name
    except UnknownOperator:
        return (
            name if name.startswith("aclnn") else "aclnn" + "".join(w.capitalize() for w in name.split("_"))
        )


def _header(name: str, environ: Mapping[str, str], opp: Path | None) -> Iterator[Finding]:
    """Whether the installed header and the catalog agree."""
    full = _full(name)
    headers = discovery.Headers(environ, opp)
    text = headers(full)
    if text is None:
        try:
            find(full)
        except UnknownOperator as error:
            fix = "check the name; an operator of your own needs its header or a signature in the case"
            yield Finding(NOTE, full, str(error), fix)
        else:
            yield Finding(NOTE, full, "no installed header declares it; the catalog's signature is used")
        return
    path = headers.used[full]
    try:
        declared = [(p.type, p.name) for p in find_signature(text, full).params]
        known = [(p.type, p.name) for p in find(full).signature.params]
    except UnknownOperator:
        yield Finding(OK, full, f"declared by {path}; the catalog does not know it")
        return
    except ValueError as error:
        yield Finding(NOTE, full, f"{path}: {error}", "give the case a signature of its own")
        return
    if [t for t, _ in declared] == [t for t, _ in known]:
        yield Finding(OK, full, f"{path} and the catalog agree ({snake(full)})")
    else:
        yield Finding(NOTE, full, f"{path} and the catalog differ; the header counts", "see opcli ops show")
