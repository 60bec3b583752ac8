"""From foreign files to YAML files: where each goes, and what is said of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ascend_opcli.casefile.build import Declared, Setting
from ascend_opcli.casefile.discover import STDIN, SUFFIXES, FoundFiles, PickedFile, pick
from ascend_opcli.casefile.expectations import CheckStandard
from ascend_opcli.casefile.files import manifest, msprobe, texts
from ascend_opcli.casefile.files.write import Imported, to_yaml
from ascend_opcli.casefile.loader import FOREIGN, INVENTED, CaseFile
from ascend_opcli.casefile.logs import logs
from ascend_opcli.casefile.open import load_file
from ascend_opcli.errors import CaseFileError, UsageError
from ascend_opcli.model import Case, FromFile, TensorSpec

REASONS = 10
"""Reasons that are listed for a file; the YAML has them all."""


@dataclass(frozen=True, slots=True)
class Conversion:
    """How many cases were kept, the texts with their targets (None: stdout), and what to say about each file.

    ``unread`` counts files that cannot be read, which do not keep the others from being imported.
    """

    kept: int
    texts: tuple[tuple[Path | None, str], ...]
    lines: tuple[str, ...]
    unread: int = 0


def convert(
    found: FoundFiles,
    out: Path | None,
    *,
    force: bool,
    check_standard: CheckStandard,
    declared: Declared | None = None,
) -> Conversion:
    """Every file as YAML, and where that goes. Nothing is written here.

    ``declared`` gives the prototype of an operator that the catalog does not have. Raises UsageError for a file
    that is no foreign one, several files for one target, or a target that exists.
    """
    sources = [t for t in found.targets if not t.path.lower().endswith(SUFFIXES) or _is_manifest(t.path)]
    others = [t.path for t in found.targets if t not in sources]
    if others and not sources:
        raise UsageError(
            f"{others[0]} is no case file of another tool: ATK JSON, TTK CSV, msopst JSON, msprobe's dump.json, "
            "a manifest of tensors or a log"
        )
    if not sources:
        raise UsageError(
            "nothing to import: no ATK JSON, TTK CSV, msopst JSON, dump.json or manifest is among the paths"
        )
    if len(sources) > 1 and (out is None or _is_file(out)):
        raise UsageError("several files go into a folder: name one with --out DIR")
    targets = [_target(Path(t.path), out) for t in sources]
    twice = [path for path, count in Counter(targets).items() if path is not None and count > 1]
    if twice:
        raise UsageError(f"two of the files would become {twice[0]}: import them one by one")
    there = [path for path in targets if path is not None and path.exists()]
    if there and not force:
        raise UsageError(f"{there[0]} exists; --force writes over it")
    kept = unread = 0
    lines: list[str] = []
    texts: list[tuple[Path | None, str]] = []
    for source, target in zip(sources, targets, strict=True):
        try:
            one = _imported(source, check_standard, declared)
        except CaseFileError as error:
            if len(sources) == 1:
                raise
            unread += 1
            lines.append(f"{error}: not imported")
            continue
        _same_folder(Path(source.path), target, one)
        kept += len(one.kept)
        lines += _said(source.path, target, one)
        texts += [(target, one.text)] if one.text else []
    return Conversion(kept, tuple(texts), tuple(lines), unread)


def _imported(source: PickedFile, check_standard: CheckStandard, declared: Declared | None) -> Imported:
    if source.path.lower().endswith((*FOREIGN, *SUFFIXES)):
        file = load_file(source.path, check_standard=check_standard, declared=declared)
        remarks = msprobe.REMARKS if any(INVENTED in case.tags for case in file.cases) else ()
        return to_yaml(pick(file, source.picks), Path(source.path).name, remarks=remarks)
    path = Path(source.path)
    calls = logs.load(source.path, Setting(source.path, path.parent, check_standard, declared=declared))
    file = CaseFile(source.path, (), tuple(call.case for call in calls))
    return to_yaml(
        pick(file, source.picks),
        "a log on stdin" if source.path == STDIN else path.name,
        remarks=logs.REMARKS,
        notes={call.case.name: call.notes for call in calls},
    )


def _is_manifest(path: str) -> bool:
    return manifest.recognises_yaml(texts.head(path))


def _is_file(out: Path) -> bool:
    return out.suffix.lower() in SUFFIXES and not out.is_dir()


def _target(source: Path, out: Path | None) -> Path | None:
    if out is None:
        return None
    if _is_file(out):
        return out
    return out / ("log.yaml" if str(source) == STDIN else f"{source.stem}.yaml")


def _same_folder(source: Path, target: Path | None, one: Imported) -> None:
    """Data files lie beside the file that names them; a case file somewhere else could not reach them."""
    if target is None or target.resolve().parent == source.resolve().parent:
        return
    for case in one.kept:
        for data in _data(case):
            if isinstance(data, FromFile):
                raise UsageError(
                    f"{case.id} reads {Path(data.path).name}, which lies beside {source.name}: "
                    f"import it into that folder with --out {source.parent}"
                )


def _data(case: Case) -> Iterator[object]:
    for argument in case.arguments.values():
        for spec in argument if isinstance(argument, tuple) else (argument,):
            yield spec.data if isinstance(spec, TensorSpec) else None
    yield from case.got.values()


def _said(source: str, target: Path | None, one: Imported) -> list[str]:
    where = f" in {target}" if target is not None and one.kept else ""
    lines = [f"{source}: {len(one.kept)} of {len(one.kept) + len(one.left)} cases imported{where}"]
    reasons = Counter(case.skip for case in one.left)
    lines += [f"  {count} not: {reason}" for reason, count in reasons.most_common(REASONS)]
    if len(reasons) > REASONS:
        lines.append(f"  and {len(reasons) - REASONS} more reasons")
    return lines
