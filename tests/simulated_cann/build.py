"""Compiles the simulated CANN into a tree that looks like an installed one."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
SOURCES = HERE / "src"
COMPILE = (
    "-std=c11", "-D_GNU_SOURCE", "-O2", "-fPIC", "-pthread", "-fvisibility=hidden", "-ffp-contract=off",
    "-Wall", "-Wextra", "-Werror",
)  # fmt: skip

# Library -> (sources, libraries it needs). The order is the order of linking.
LIBRARIES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ascendcl": (("runtime", "fault", "account"), ()),
    "nnopbase": (("nnopbase",), ("ascendcl",)),
    "opapi_nn": (("opapi_nn",), ("nnopbase", "ascendcl")),
    "opapi_math": (("opapi_math",), ("nnopbase", "ascendcl")),
    "opapi_cv": (("opapi_cv",), ("nnopbase", "ascendcl")),
    "acl_op_executor": (("acl_op",), ("opapi_nn", "opapi_math", "nnopbase", "ascendcl")),
    "acl_op_compiler": (("acl_op_compiler",), ("acl_op_executor", "ascendcl")),
}
# CANN up to 8.3 had one operator library.
SINGLE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ascendcl": LIBRARIES["ascendcl"],
    "nnopbase": LIBRARIES["nnopbase"],
    "opapi": (("opapi_nn", "opapi_math", "opapi_cv"), ("nnopbase", "ascendcl")),
    "acl_op_executor": (("acl_op",), ("opapi", "nnopbase", "ascendcl")),
    "acl_op_compiler": LIBRARIES["acl_op_compiler"],
}
# Custom packages: name -> (source, headers).
PACKAGES = {"add_custom": ("vendor_add_custom", ("aclnn_add_custom.h",)), "shadow": ("vendor_shadow", ())}


@dataclass(frozen=True)
class CannRoot:
    """A built tree; `path` is what ASCEND_HOME_PATH names. It is shared between tests: never write into it."""

    path: Path

    @property
    def include(self) -> Path:
        return self.path / "include"

    @property
    def lib64(self) -> Path:
        return self.path / "lib64"

    @property
    def opp(self) -> Path:
        return self.path / "opp"


def compiler() -> str | None:
    """The system's C compiler, None where there is none or where the system is not Linux, as CANN demands."""
    return shutil.which(os.environ.get("CC") or "cc") if sys.platform == "linux" else None


def cxx_compiler() -> str | None:
    """The system's C++ compiler, which only the programs need."""
    return shutil.which(os.environ.get("CXX") or "c++") if sys.platform == "linux" else None


def build(destination: Path, *, layout: str = "split", flags: tuple[str, ...] = ()) -> CannRoot:
    """The tree under `destination`, compiled unless the same sources were compiled there before.

    `layout` is "split" (libopapi_nn.so, libopapi_math.so, ... as from CANN 8.5 on) or "single" (libopapi.so).
    `flags` go to the compiler and the linker (sanitizers).
    """
    cc = compiler()
    if cc is None:
        raise RuntimeError("no C compiler: install one or set CC")
    root = destination / f"cann-{_digest(cc, layout, flags)}"
    if root.is_dir():
        return CannRoot(root)
    destination.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(dir=destination, prefix="building-"))
    try:
        _compile(cc, work, SINGLE if layout == "single" else LIBRARIES, flags)
        try:
            work.rename(root)  # whole or not at all: another process may build the same tree
        except OSError:
            if not root.is_dir():
                raise
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return CannRoot(root)


def env(root: CannRoot, base: dict[str, str] | None = None) -> dict[str, str]:
    """The variables that set_env.sh of this tree sets, put in front of those of `base` (default: os.environ)."""
    base = dict(os.environ) if base is None else base

    def before(name: str, *values: Path) -> str:
        return os.pathsep.join([*map(str, values), *filter(None, [base.get(name)])])

    return {
        "ASCEND_HOME_PATH": str(root.path),
        "ASCEND_TOOLKIT_HOME": str(root.path),
        "ASCEND_OPP_PATH": str(root.opp),
        "LD_LIBRARY_PATH": before("LD_LIBRARY_PATH", root.lib64),
        "PYTHONPATH": before("PYTHONPATH", root.path / "python/site-packages"),
    }


def install_package(root: CannRoot, package: str, folder: Path) -> Path:
    """Puts a custom package ("add_custom" or "shadow") into `folder`, which ASCEND_CUSTOM_OPP_PATH can name."""
    shutil.copytree(root.path / "packages" / package, folder, dirs_exist_ok=True)
    return folder


def install_vendor(root: CannRoot, package: str, opp: Path, vendor: str = "customize") -> Path:
    """Puts a custom package into `opp`/vendors as `vendor`, first in load_priority of config.ini."""
    vendors = opp / "vendors"
    vendors.mkdir(parents=True, exist_ok=True)
    config = vendors / "config.ini"
    earlier = config.read_text().strip().removeprefix("load_priority=") if config.exists() else ""
    names = [vendor, *(name for name in earlier.split(",") if name and name != vendor)]
    config.write_text(f"load_priority={','.join(names)}\n")
    return install_package(root, package, vendors / vendor)


def compile_program(root: CannRoot, source: Path, program: Path, flags: tuple[str, ...] = ()) -> Path:
    """Compiles a C++ program against the tree, as the documents of the operators do."""
    cxx = cxx_compiler()
    if cxx is None:
        raise RuntimeError("no C++ compiler: install one or set CXX")
    libraries = sorted(path.stem.removeprefix("lib") for path in root.lib64.glob("libopapi*.so"))
    names = [f"-l{name}" for name in [*libraries, "nnopbase", "ascendcl"]]
    _run(cxx, "-std=c++14", "-O1", "-Wall", "-Wextra", "-Werror", *flags, f"-I{root.include}", str(source),
         "-o", str(program), f"-L{root.lib64}", "-Wl,--no-as-needed", *names)  # fmt: skip
    return program


def _digest(cc: str, layout: str, flags: tuple[str, ...]) -> str:
    digest = hashlib.sha256(repr((cc, layout, flags, COMPILE)).encode())
    for folder in ("src", "include", "python"):
        for path in sorted((HERE / folder).rglob("*")):
            if path.suffix in {".c", ".h", ".py"}:
                digest.update(str(path.relative_to(HERE)).encode() + b"\0" + path.read_bytes())
    digest.update(Path(__file__).read_bytes())
    return digest.hexdigest()[:16]


def _compile(
    cc: str,
    root: Path,
    libraries: dict[str, tuple[tuple[str, ...], tuple[str, ...]]],
    flags: tuple[str, ...],
) -> None:
    lib64, objects = root / "lib64", root / "objects"
    for folder in (lib64, objects, root / "opp/vendors", root / "python/site-packages"):
        folder.mkdir(parents=True)
    shutil.copytree(HERE / "include", root / "include", ignore=shutil.ignore_patterns("vendor"))
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(HERE / "python/acl", root / "python/site-packages/acl", ignore=ignore)
    include = (f"-I{HERE / 'include'}", f"-I{HERE / 'include/vendor'}")

    def compile_one(name: str) -> None:
        _run(
            cc, *COMPILE, *flags, *include, "-c", str(SOURCES / f"{name}.c"), "-o", str(objects / f"{name}.o")
        )

    names = [source for sources, _ in libraries.values() for source in sources]
    names += [source for source, _ in PACKAGES.values()]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(compile_one, names))

    def link(target: Path, sources: tuple[str, ...], needs: tuple[str, ...]) -> None:
        inputs = [str(objects / f"{source}.o") for source in sources]
        complete = flags or ("-Wl,-z,defs",)  # a sanitizer's own symbols are in the program
        _run(cc, "-shared", "-pthread", *complete, f"-Wl,-soname,{target.name}", *inputs, "-o", str(target),
             f"-L{lib64}", *(f"-l{need}" for need in needs), "-lm")  # fmt: skip

    for name, (sources, needs) in libraries.items():
        link(lib64 / f"lib{name}.so", sources, needs)
    (lib64 / "libacl_rt.so").symlink_to(
        "libascendcl.so"
    )  # the new name of the runtime; one state behind both
    for package, (source, headers) in PACKAGES.items():
        api = root / "packages" / package / "op_api"
        (api / "lib").mkdir(parents=True)
        (api / "include").mkdir()
        link(api / "lib/libcust_opapi.so", (source,), ("nnopbase", "ascendcl"))
        for header in headers:
            shutil.copy(HERE / "include/vendor" / header, api / "include")
    shutil.rmtree(objects)
    (root / "set_env.sh").write_text(
        'root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)\n'
        'export ASCEND_HOME_PATH="$root" ASCEND_TOOLKIT_HOME="$root" ASCEND_OPP_PATH="$root/opp"\n'
        'export LD_LIBRARY_PATH="$root/lib64${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n'
        'export PYTHONPATH="$root/python/site-packages${PYTHONPATH:+:$PYTHONPATH}"\n'
    )


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
