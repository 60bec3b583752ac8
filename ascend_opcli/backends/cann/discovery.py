"""What of CANN lies on this machine: roots, operator packages, libraries and headers, in the order of their use."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ascend_opcli.errors import CaseFileError, UsageError
from ascend_opcli.operators.operator import snake
from ascend_opcli.operators.signature import declarations
from ascend_opcli.reference.resolve import resolve

USUAL_ROOTS = (
    "/usr/local/Ascend/cann",
    "/usr/local/Ascend/ascend-toolkit/latest",
    "~/Ascend/cann",
    "~/Ascend/ascend-toolkit/latest",
)
# CANN up to 8.3; later releases have one libopapi_*.so a repository.
OLDER_LIBRARIES = (
    "libopapi.so",
    "libaclnn_ops_infer.so",
    "libaclnn_ops_train.so",
    "libaclnn_math.so",
    "libaclnn_sparse.so",
    "libaclnn_fft.so",
    "libaclnn_rand.so",
)
CUSTOM_LIBRARY = Path("op_api/lib/libcust_opapi.so")
CUSTOM_HEADERS = Path("op_api/include")
LOOSE = (Path("lib") / CUSTOM_LIBRARY.name, Path(CUSTOM_LIBRARY.name))
"""Where the library of a package lies that is not installed, in a folder that --opp names."""

OPP = "--opp"
MAX_HEADER = 1 << 20
PRIORITY = "load_priority="


@dataclass(frozen=True, slots=True)
class Package:
    """A folder of custom operators: ``origin`` says how it came to be used.

    CANN looks for ``op_api/lib/libcust_opapi.so`` alone. A folder that is named by ``--opp`` may also be what a build
    leaves: ``op_api/lib/lib<target>.so``, ``lib/libcust_opapi.so`` beside ``include``, or the library itself.
    """

    folder: Path
    origin: str

    @property
    def libraries(self) -> list[Path]:
        """What can be tried as its entry points, none where nothing is built."""
        usual = self.folder / CUSTOM_LIBRARY
        if _tryable(usual) or self.origin != OPP:
            return [usual] if _tryable(usual) else []
        built = [p for p in sorted(usual.parent.glob("lib*.so")) if _tryable(p)]
        return built or [p for p in (self.folder / place for place in LOOSE) if _tryable(p)]

    @property
    def headers(self) -> Path:
        """Its prototypes."""
        usual = self.folder / CUSTOM_HEADERS
        return usual if usual.is_dir() or self.origin != OPP else self.folder / "include"


def _tryable(path: Path) -> bool:
    """Whether something is in the place of a library. A link that leads nowhere can be tried, so that the package is
    not passed over in silence; a pipe cannot, it would keep the caller waiting."""
    return path.is_file() or path.is_dir() or (path.is_symlink() and not path.exists())


def root(environ: Mapping[str, str]) -> Path | None:
    """The CANN root that the environment names."""
    named = environ.get("ASCEND_HOME_PATH") or environ.get("ASCEND_TOOLKIT_HOME")
    return Path(named) if named else None


def roots_on_disk() -> list[Path]:
    """Roots at the usual places, whether or not set_env.sh was sourced."""
    return [path for path in (Path(r).expanduser() for r in USUAL_ROOTS) if path.is_dir()]


def cann_version(home: Path) -> str | None:
    """The version that a root says of itself, None where no file has it."""
    candidates = [home / "version.cfg", home / "version.info", home / "share/info/runtime/version.info"]
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


def packages(environ: Mapping[str, str], opp: Path | None = None) -> list[Package]:
    """Custom operator packages in the order in which their symbols count: ``opp`` first."""
    found = [Package(folder, OPP) for folder in package_folders(opp)] if opp is not None else []
    for entry in filter(None, environ.get("ASCEND_CUSTOM_OPP_PATH", "").split(":")):
        found.append(Package(Path(entry), "ASCEND_CUSTOM_OPP_PATH"))
    if environ.get("ASCEND_OPP_PATH"):
        vendors = Path(environ["ASCEND_OPP_PATH"]) / "vendors"
        found += [Package(vendors / name, "vendors") for name in listed_vendors(vendors)]
    # A worker's environment names the package of --opp too.
    first: dict[str, Package] = {}
    for package in found:
        first.setdefault(os.path.realpath(package.folder), package)
    return list(first.values())


def package_folders(folder: Path) -> list[Path]:
    """The packages of a folder: itself, or those under its vendors (an extracted package has them under packages).

    Raises UsageError where there is none.
    """
    for base in (folder, folder / "packages"):
        if (base / "op_api").is_dir():
            return [base]
        vendors = base / "vendors"
        if vendors.is_dir() and (names := listed_vendors(vendors) or _there(vendors)):
            return [vendors / name for name in names]
        if any(_tryable(base / place) for place in LOOSE):
            return [base]
    wanted = "name an installed or extracted operator package"
    if folder.is_dir():
        raise UsageError(
            f"{folder} holds no operator package: it has neither op_api nor vendors nor {CUSTOM_LIBRARY.name}; {wanted}"
        )
    if folder.suffix == ".run" and folder.is_file():
        raise UsageError(
            f"{folder} is a run package, which must be extracted first: bash {folder} --noexec --extract=DIR, "
            "then --opp DIR; or install it: bash it with --install-path=DIR"
        )
    raise UsageError(f"{folder} is {'a file' if folder.exists() else 'no folder that there is'}; {wanted}")


def listed_vendors(vendors: Path) -> list[str]:
    """Vendors that CANN loads: those of config.ini's load_priority that are there, none without the file."""
    try:
        text = (vendors / "config.ini").read_text("utf-8", errors="replace")[:MAX_HEADER]
    except OSError:
        return []
    line = next((line for line in text.splitlines() if line.startswith(PRIORITY)), PRIORITY)
    names = [name.strip() for name in line.removeprefix(PRIORITY).split(",")]
    there = _there(vendors)
    return list(dict.fromkeys(name for name in names if name in there))


def _there(vendors: Path) -> list[str]:
    return sorted(p.name for p in vendors.iterdir() if p.is_dir()) if vendors.is_dir() else []


def unlisted_vendors(environ: Mapping[str, str]) -> list[Path]:
    """Packages that lie among the vendors and that CANN does not load: config.ini does not list them."""
    vendors = Path(environ.get("ASCEND_OPP_PATH", "")) / "vendors"
    if not environ.get("ASCEND_OPP_PATH"):
        return []
    listed = listed_vendors(vendors)
    return [vendors / n for n in _there(vendors) if n not in listed and (vendors / n / "op_api").is_dir()]


def builtin_libraries(environ: Mapping[str, str]) -> list[str]:
    """CANN's own libraries that may hold an operator, in op-plugin's order; the older ones by name alone."""
    home = root(environ)
    newer = sorted(str(p) for p in (home / "lib64").glob("libopapi_*.so")) if home is not None else []
    return [*newer, *OLDER_LIBRARIES]


def header_folders(environ: Mapping[str, str], opp: Path | None = None) -> list[Path]:
    """Folders of aclnn headers in the order in which they count."""
    folders = [p.headers for p in packages(environ, opp)]
    home = root(environ)
    if home is not None:
        folders.append(home / "include" / "aclnnop")
    return [folder for folder in folders if folder.is_dir()]


_ENTRY = re.compile(r"\b(aclnn\w+)GetWorkspaceSize\s*\(", re.ASCII)
# A declaration has its type in front of the name; a call has not.
_DECLARED = re.compile(
    r"\b(?!(?:return|co_return|else|do|throw|case)\b)[A-Za-z_]\w*\s+(aclnn\w+)GetWorkspaceSize\s*\(", re.ASCII
)


class Headers:
    """The prototypes of the installed headers, found when they are first asked for.

    ``used`` remembers which header served which operator.
    """

    def __init__(self, environ: Mapping[str, str], opp: Path | None = None) -> None:
        self._folders = header_folders(environ, opp)
        self._index: dict[str, list[Path]] | None = None
        self.used: dict[str, Path] = {}

    def __call__(self, name: str) -> str | None:
        """The declarations of the first header that declares the operator called by either of its names, None
        where none does.

        A header whose prototype cannot be read does not hide one behind it; raises CaseFileError that names it
        where there is no other.
        """
        if self._index is None:
            self._index = self._read()
        name = name.strip()
        refused: CaseFileError | None = None
        for path in self._index.get(snake(name), ()):
            text = declarations(_text(path))
            if not any(snake(found[1]) == snake(name) for found in _DECLARED.finditer(text)):
                continue
            try:
                resolve(name, signature=text)
            except ValueError as error:
                refused = refused or CaseFileError(f"the header {path}: {error}")
            else:
                self.used[name] = path
                return text
        if refused is not None:
            raise refused
        return None

    def _read(self) -> dict[str, list[Path]]:
        """Headers by the operators that they mention; whether they declare them is looked at when one is asked for."""
        found: dict[str, list[Path]] = {}
        for folder in self._folders:
            for path in sorted(folder.rglob("*.h")):
                for name in {snake(match[1]): None for match in _ENTRY.finditer(_text(path))}:
                    found.setdefault(name, []).append(path)
        return found


def declared_in(path: Path) -> list[str]:
    """The aclnn names that a header declares, each once."""
    return list({match[1]: None for match in _DECLARED.finditer(declarations(_text(path)))})


def _text(path: Path) -> str:
    """A header's text; none of what is no file, cannot be read or is too large to be a header."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_HEADER:
            return ""
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def child_environment(
    environ: Mapping[str, str], opp: Path | None = None, *, builtin: bool = False
) -> dict[str, str]:
    """The environment of a worker: ``opp`` before every other package, set before ACL is initialised.

    ``builtin`` leaves out the packages that the environment names; those under vendors CANN finds by itself.
    """
    made = dict(environ)
    if builtin:
        made.pop("ASCEND_CUSTOM_OPP_PATH", None)
    if opp is not None:
        mine = [str(folder) for folder in package_folders(opp)]
        others = [e for e in made.get("ASCEND_CUSTOM_OPP_PATH", "").split(":") if e]
        made["ASCEND_CUSTOM_OPP_PATH"] = ":".join([*mine, *others])
    # Stub libraries only serve linking; loaded, they answer 100039.
    libraries = [p for p in made.get("LD_LIBRARY_PATH", "").split(":") if p and not is_stub(p)]
    if libraries:
        made["LD_LIBRARY_PATH"] = ":".join(libraries)
    return made


def is_stub(folder: str) -> bool:
    """Whether a library folder only serves linking."""
    return bool({"stub", "devlib"} & set(Path(os.path.normpath(folder)).parts))
