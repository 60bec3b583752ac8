"""A case file -> its cases."""

from __future__ import annotations

from dataclasses import dataclass

from ascend_opcli.casefile import expand, keys, read, values
from ascend_opcli.casefile.build import Setting, build
from ascend_opcli.casefile.expectations import OF_CASE, OF_FILE
from ascend_opcli.casefile.tree import Mapping, Node, Scalar, clip
from ascend_opcli.errors import OpcliError
from ascend_opcli.expression.language import sized_together
from ascend_opcli.model import Case
from ascend_opcli.operators.operator import Operator
from ascend_opcli.reference import resolve

STDIN = "<stdin>"
"""The path of cases that were read from standard input."""

FOREIGN = (".json", ".csv")
"""What the names of other tools' case files end in."""

INVENTED = "invented"
"""The tag of cases whose values stand for those of a dump that holds none."""

MAX_EXPANDED = 10_000_000
MAX_SIGNATURE = 2**16
MAX_HEADER = 2**20


@dataclass(frozen=True, slots=True)
class CaseFile:
    """A file that has been read: the aclnn names of its operators, and its cases in written order."""

    path: str
    operators: tuple[str, ...]
    cases: tuple[Case, ...]


def of_root(root: Mapping, setting: Setting) -> CaseFile:
    """The cases of a file that has been parsed."""
    return _Loader(root, setting).load()


class _Loader:
    """One file: what its cases share, and what must be unique among them."""

    def __init__(self, root: Mapping, setting: Setting) -> None:
        self.root = root
        self.setting = setting
        self.names: dict[str, Mapping] = {}
        self.claimed: set[str] = set()
        self.operators: dict[tuple[str, str | None, str | None], Operator] = {}

    def load(self) -> CaseFile:
        root = self.root
        version = root.get("opcli")
        if version is not None:
            _check_version(version)
        keys.check(root, "the file")
        defaults = read.section(root, "defaults")
        if defaults is not None:
            keys.check(defaults, "defaults")
        with sized_together():
            cases = self.cases(defaults)
        operators = dict.fromkeys(case.operator for case in cases)
        return CaseFile(self.setting.path, tuple(operators), tuple(cases))

    def cases(self, defaults: Mapping | None) -> list[Case]:
        listed = self.root.get("cases")
        if listed is None:
            raise self.root.error("the file has no cases")
        written = [] if isinstance(listed, Scalar) and listed.value is None else read.items(listed, "cases")
        if not written:
            raise listed.error("cases is empty")
        made: list[Case] = []
        size = 0
        for number, item in enumerate(written, 1):
            own = read.mapping(item, "a case")
            keys.check(own, "a case")
            case = expand.merge(defaults, own, values.GENERATOR_KEYS) if defaults is not None else own
            origin = OF_CASE
            if "standard" not in own.entries:
                origin = OF_FILE
            case = expand.inherit(self.root, case)
            name = _name(case, number)
            for label, body in expand.expand(case, name, expand.MAX_CASES - len(made)):
                size += body.size
                if len(made) >= expand.MAX_CASES or size > MAX_EXPANDED:
                    raise item.error(
                        f"the file expands to more than {expand.MAX_CASES:,} cases or {MAX_EXPANDED:,} values"
                    )
                self.claim(label, case)
                made.append(build(body, label, self.operator(body), self.setting, standard_origin=origin))
        return made

    def claim(self, name: str, case: Mapping) -> None:
        """Refuse a second case of the same name."""
        before = self.names.setdefault(name, case)
        if before is not case:
            said = f"it belongs to the case on line {before.line} already"
        elif name in self.claimed:
            said = "two points of its matrix look the same"
        else:
            self.claimed.add(name)
            return
        raise case.entries.get("name", case).error(f"the name '{clip(name)}' is repeated; {said}")

    def operator(self, case: Mapping) -> Operator:
        """The operator that a case calls."""
        op = case.get("op")
        if op is None:
            raise case.error("op is missing: name the operator at the top of the file or in the case")
        signature, reference = case.get("signature"), case.get("reference")
        name = read.word(op, "op")
        text = self.signature(signature) if signature is not None else self.declared(name, op)
        key = (
            name,
            text,
            read.text(reference, "reference") if reference is not None else None,
        )
        if key not in self.operators:
            try:
                self.operators[key] = resolve.resolve(name, signature=key[1], reference=key[2])
            except (ValueError, OpcliError) as error:
                at: Node = op
                if not isinstance(error, OpcliError):
                    blamed = reference if isinstance(error, resolve.BadReference) else signature
                    at = next(n for n in (blamed, signature, reference, op) if n is not None)
                raise at.error(str(error)) from None
        return self.operators[key]

    def declared(self, name: str, op: Node) -> str | None:
        """What the installed headers declare of an operator."""
        try:
            return self.setting.declared(name) if self.setting.declared is not None else None
        except OpcliError as error:
            raise op.error(str(error)) from None

    def signature(self, node: Node) -> str:
        """Prototype text, or that of the header whose path is written."""
        written = read.text(node, "signature", MAX_SIGNATURE)
        if "(" in written:
            return _closed(written, node)
        folder = self.setting.folder.resolve()
        try:
            path = (folder / read.word(node, "signature")).resolve()
            if not path.is_relative_to(folder):
                raise node.error(f"the header {clip(written)} lies outside the case file's folder")
            if not path.is_file():
                raise node.error(
                    f"signature is a C prototype or the path of a header; there is no file {clip(written)}"
                )
            with path.open("rb") as file:
                data = file.read(MAX_HEADER + 1)
        except (OSError, RuntimeError) as error:  # a loop of links is a RuntimeError
            reason = error.strerror if isinstance(error, OSError) else "a loop of links"
            raise node.error(f"the header {clip(written)} cannot be read: {reason}") from None
        if len(data) > MAX_HEADER:
            raise node.error(f"the header {clip(written)} is larger than {MAX_HEADER // 2**10} KiB")
        return _closed(data.decode("utf-8", "replace"), node)


def _closed(text: str, node: Node) -> str:
    # An open comment would send the reader of signatures to the end of the text from every /* in it.
    if text.rfind("/*") > text.rfind("*/"):
        raise node.error("a comment of the signature is never closed")
    return text


def _check_version(node: Node) -> None:
    version = node.value if isinstance(node, Scalar) else None
    if type(version) is not int or version < 1:
        raise node.error(f"opcli is the version of the format, {keys.VERSION}, not {node.kind}")
    if version > keys.VERSION:
        raise node.error(f"the file is of format version {version}; this opcli reads up to {keys.VERSION}")


def _name(case: Mapping, number: int) -> str:
    node = case.get("name")
    if node is None:
        return str(number)
    if isinstance(node, Scalar) and type(node.value) is int:
        return node.text
    name = read.word(node, "name")
    if "::" in name or name != name.strip():
        raise node.error("a name has no '::' and no blanks at its ends")
    return name
