"""The doctor's child: it loads pyACL and the libraries, opens the device and looks for operators.

Started as ``python -m ascend_opcli.backends.cann.probe DEVICE OPP OPERATOR...``; without a DEVICE none is opened.
It says a line of JSON behind :data:`MARK` as each stage begins and for each finding, so that the parent knows what
was found before a broken driver or library took this process along.
"""

from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from ascend_opcli.backends.cann import discovery
from ascend_opcli.backends.cann.finding import MISSING, NOTE, OK, Finding
from ascend_opcli.backends.cann.libraries import Libraries, Refused, served_by
from ascend_opcli.backends.cann.runtime import AclFailure, Runtime, load_pyacl
from ascend_opcli.errors import Missing
from ascend_opcli.operators.products import PRODUCTS, product

MARK = "opcli-probe "
PYACL, RUNTIME, DEVICE, LIBRARIES, OPERATORS, END = (
    "pyACL",
    "runtime",
    "device",
    "operator libraries",
    "operators",
    "end",
)


def main() -> None:
    """Look at everything that can be loaded."""
    device, opp, names = sys.argv[1], Path(sys.argv[2]) if sys.argv[2] else None, sys.argv[3:]
    begin(PYACL)
    acl: ModuleType | None = None
    try:
        acl = load_pyacl()
        say(PYACL, Finding(OK, "pyACL", str(getattr(acl, "__file__", ""))))
    except Missing as missing:
        say(PYACL, Finding(MISSING, "pyACL", missing.found, missing.fix))
    begin(RUNTIME)
    whole = [runtime_library(("libascendcl.so", "libacl_rt.so"), "aclInit")]
    whole += [runtime_library(("libnnopbase.so",), "aclCreateTensor")]
    if acl is None or not all(whole) or not device:
        look(opp, names, all(whole))
        return
    begin(DEVICE)
    number = int(device)
    try:
        runtime = Runtime(acl, number)
    except AclFailure as failure:
        fix = f"opcli codes {failure.code}; npu-smi info shows the driver's view"
        say(DEVICE, Finding(MISSING, f"device {number}", str(failure), fix))
        look(opp, names, True)
        return
    with runtime:
        emit(DEVICE, cann=runtime.cann_version())
        say(DEVICE, _device(number, runtime.soc_name()))
        look(opp, names, True)
        begin(DEVICE)  # what happens now happens to its end


def begin(stage: str, name: str = "") -> None:
    """Say that a stage begins, or that a library of it is about to be opened."""
    emit(stage, begins=name)


def say(stage: str, finding: Finding) -> None:
    """Say what was found."""
    emit(stage, finding=dataclasses.asdict(finding))


def emit(stage: str, **said: object) -> None:
    """One line; what a library printed before it may have left its line open."""
    sys.stdout.write(f"\n{MARK}{json.dumps({'stage': stage, **said})}\n")
    sys.stdout.flush()


def _device(number: int, soc: str) -> Finding:
    try:
        named = product(soc)
    except ValueError:
        return Finding(
            NOTE,
            f"device {number}",
            f"{soc or 'no name'}, a SoC that no product is known for",
            "use --product",
        )
    return Finding(OK, f"device {number}", f"{soc}, product {named} ({PRODUCTS[named]})")


def runtime_library(names: tuple[str, ...], symbol: str) -> bool:
    """Say which file serves a library of the runtime in this process, or why none does."""
    refused: list[Refused] = []
    for name in names:
        begin(RUNTIME, name)
        try:
            file = served_by(getattr(ctypes.CDLL(name, mode=os.RTLD_LAZY), symbol))
        except OSError as error:
            refused.append(Refused.of(name, error))
        except AttributeError:
            refused.append(Refused(name, f"it has no {symbol}", "install the CANN toolkit anew"))
        else:
            if discovery.is_stub(os.path.dirname(file)):
                fix = f"take {os.path.dirname(file)} out of the folders that libraries are loaded from"
                say(RUNTIME, Finding(MISSING, names[0], f"{file} is loaded, a stub that answers 100039", fix))
                return False
            say(RUNTIME, Finding(OK, names[0], file))
            return True
    home = discovery.root(os.environ)
    if home is not None and home.is_dir():
        there = any((home / "lib64" / name).is_file() for name in names)
        simple = refused[0].why.startswith("cannot open shared object file")
        fix = (
            (f"source {home}/set_env.sh" if there else "install the CANN toolkit anew")
            if simple
            else refused[0].fix
        )
        say(RUNTIME, Finding(MISSING, names[0], str(refused[0]), fix))
    return False


def look(opp: Path | None, names: list[str], whole: bool) -> None:
    """The operator libraries, and the operators in them; nothing can be looked up without the runtime's."""
    if not whole:
        return
    begin(LIBRARIES)
    packages, builtin = discovery.packages(os.environ, opp), discovery.builtin_libraries(os.environ)
    custom = [str(file) for package in packages for file in package.libraries]
    for name in (*custom, *builtin):
        begin(LIBRARIES, name)
        try:
            ctypes.CDLL(name, mode=os.RTLD_LAZY)
        except OSError:
            continue  # said below, with what mends it
    try:
        libraries = Libraries(packages, builtin, opp)
    except Missing as missing:
        say(LIBRARIES, Finding(MISSING, "libnnopbase.so", missing.found, missing.fix))
        return
    for file in libraries.files():
        say(LIBRARIES, Finding(OK, "operator library", _place(file, os.environ)))
    for refused in libraries.refused:
        say(
            LIBRARIES,
            Finding(
                _weight(refused, opp, refused.file in custom), "operator library", str(refused), refused.fix
            ),
        )
    if not libraries.files() and not libraries.refused:
        fix = "install the operator package (ops) of this CANN version and SoC"
        say(LIBRARIES, Finding(MISSING, "operator libraries", "no libopapi*.so", fix))
    begin(OPERATORS)
    for name in names:
        try:
            found = Finding(OK, name, f"served by {libraries.entry(name).file}", operator=name)
        except Missing as missing:
            found = Finding(MISSING, name, missing.found, missing.fix, operator=name)
        say(OPERATORS, found)


def _weight(refused: Refused, opp: Path | None, custom: bool) -> str:
    """A package that only the environment names stands in the way of its own operators alone."""
    path = Path(refused.file)
    if opp is not None and path.is_relative_to(opp):
        return MISSING
    return NOTE if custom or not path.is_absolute() else MISSING


def _place(name: str, environ: Mapping[str, str]) -> str:
    """The path of a library that was opened by its name."""
    folders = [] if os.path.isabs(name) else [f for f in environ.get("LD_LIBRARY_PATH", "").split(":") if f]
    return next((p for f in folders if os.path.isfile(p := os.path.join(f, name))), name)


if __name__ == "__main__":
    main()
    begin(END)
