"""Recognising a foreign file by its content, and building its cases."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ascend_opcli.casefile.build import Setting, build
from ascend_opcli.casefile.files import atk, manifest, msopst, msprobe, texts, ttk
from ascend_opcli.casefile.files.written import Resolve, WrittenCase
from ascend_opcli.casefile.tree import Mapping, Scalar, clip, from_plain
from ascend_opcli.errors import CaseFileError, OpcliError
from ascend_opcli.model import Case, Where
from ascend_opcli.operators.catalog import UnknownOperator
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference import resolve
from ascend_opcli.tensors.torch_file import OtherContent


@dataclass(frozen=True, slots=True)
class CaseFormat:
    """A format: its name, whether the beginning of a file is of it, and what its text holds.

    ``cases`` is None for opcli's own, the manifest, whose mistakes are refused as those of a case file.
    """

    name: str
    suffix: str
    recognises: Callable[[str], bool]
    cases: Callable[[str, str, Resolve], Iterator[WrittenCase]] | None


FORMATS = (
    CaseFormat("ATK JSON", ".json", atk.recognises, atk.cases),
    CaseFormat("msopst JSON", ".json", msopst.recognises, msopst.cases),
    CaseFormat("msprobe dump", ".json", msprobe.recognises, msprobe.cases),
    CaseFormat("TTK CSV", ".csv", ttk.recognises, ttk.cases),
    CaseFormat(manifest.NAME, ".json", manifest.recognises, None),
)


def recognise(path: str) -> CaseFormat | None:
    """The format of a file by its beginning; None where it is none of these."""
    begins = [f for f in FORMATS if path.lower().endswith(f.suffix)]
    head = texts.head(path) if begins else ""
    return next((f for f in begins if f.recognises(head)), None)


def load(path: str, setting: Setting) -> tuple[Case, ...]:
    """The cases of a foreign file; one that cannot be a call is there too, with the reason in ``skip``.

    Raises CaseFileError for a file that cannot be read as its format, with the place.
    """
    found = recognise(path)
    if found is None:
        raise CaseFileError(f"{clip(path)} is in no format that opcli reads")
    if found.cases is None:
        return manifest.load(path, setting)
    builder = Builder(setting)
    made = tuple(builder.case(written) for written in found.cases(texts.read(path), path, builder.resolve))
    if not made:
        raise CaseFileError(f"the file has no cases ({found.name})", Where(path, 1, 1))
    return made


class Builder:
    """The cases of one file: their names, which must be unique, and the operators they share."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._names: dict[str, int] = {}
        self._operators: dict[str, Operator | OpcliError] = {}

    def resolve(self, name: str) -> Operator:
        """The operator of a name; an installed header's prototype counts before the catalog."""
        if name not in self._operators:
            declared = self._setting.declared
            text = declared(name) if declared is not None else None
            try:
                self._operators[name] = resolve.resolve(name, signature=text)
            except UnknownOperator as error:
                self._operators[name] = error  # the search for the nearest name takes its time
        found = self._operators[name]
        if isinstance(found, OpcliError):
            raise found
        return found

    def case(self, written: WrittenCase) -> Case:
        """The case, or one that is skipped with the reason."""
        name, where = self._unique(written.name), written.where
        blank = Case(self._setting.path, name, written.operator, {}, where, skip=written.skip)
        if written.body is None:
            return blank
        operator = self.resolve(written.operator)
        body = {"name": name, **written.body}
        if operator.declared:
            body["signature"] = operator.signature.prototype()
        node = from_plain(body, Scalar(where.file, where.line, where.column, None, ""))
        assert isinstance(node, Mapping)
        try:
            case = build(node, name, operator, self._setting, standard_origin=written.origin)
        except OpcliError as error:
            said = error.message if isinstance(error, CaseFileError) else str(error)
            # What a file holds is there and cannot be had, which is no call that the file leaves open.
            damaged = error.__cause__ is not None and not isinstance(error.__cause__, OtherContent)
            return dataclasses.replace(blank, skip=said if damaged else f"no call: {said}", damaged=damaged)
        by_output = {
            n: dataclasses.replace(c, origin=written.origin) for n, c in case.output_standards.items()
        }
        return dataclasses.replace(case, skip=written.skip, output_standards=by_output)

    def _unique(self, name: str) -> str:
        """The name in one line, with a number where a case before has it."""
        wanted = name = clip(name.replace("::", ":"), 200).strip() or "case"
        while name in self._names:
            self._names[wanted] += 1
            name = f"{wanted}#{self._names[wanted]}"
        self._names[name] = 1
        return name
