"""A failed case on disk: its tensors, a case file that runs it again from them, and a script that needs NumPy only.

``NAME.npz`` holds ``input.*``, ``got.*``, ``golden.*`` (what the output was judged against) and ``expected.*``
(values that the case took from files). A dtype that NumPy does not have is stored by its bits: bfloat16 as uint16,
float8 as bytes. ``NAME.yaml`` names the dtypes, so that opcli reads the bits back as what they are.
"""

# More than 400 lines: one failure on disk; its parts share what is stored.
from __future__ import annotations

import dataclasses
import hashlib
import os
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from ascend_opcli.casefile import read, show
from ascend_opcli.casefile.expectations import OF_EXPECT
from ascend_opcli.execution import replay_script
from ascend_opcli.execution.runner import Failure
from ascend_opcli.model import (
    Attribute,
    Case,
    Data,
    Fill,
    FromFile,
    Number,
    Phase,
    StandardChoice,
    Tensor,
    TensorSpec,
    Values,
)
from ascend_opcli.reference.code import parts
from ascend_opcli.reference.resolve import is_code
from ascend_opcli.tensors import files, layout
from ascend_opcli.tensors.data import generate
from ascend_opcli.tensors.dtypes import DTYPES, numpy_dtype, widen
from ascend_opcli.tensors.flat import Streamed

MIB = 2**20
DEFAULT_LIMIT = 256
MAX_REFERENCE = MIB
"""A reference file is copied beside the case up to this size; more is no function a person wrote for one case."""

_DATA_FILES = (".npy", ".npz", ".bin")
_MAX_STEM = 80
_MAX_KEY = 64
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")

Source = dict[str, Any]


class Saver:
    """Writes failures into a folder, which is made for the first of them.

    ``limit`` bounds the tensors of one case in bytes; a larger case is noted, not written. ``standard`` and
    ``product`` are those of the command line, which the saved case must name to be judged alike. ``options`` say what
    serves the calls, for the commands that run a saved case. ``broken`` holds the first sentence of the operating
    system, where it refused to write.
    """

    def __init__(
        self,
        folder: Path,
        *,
        limit: int = DEFAULT_LIMIT * MIB,
        standard: StandardChoice | None = None,
        product: str | None = None,
        options: Sequence[str] = (),
    ) -> None:
        self.options = tuple(options)
        self.folder = folder
        self.limit = limit
        self.standard = standard
        self.product = product
        self.saved = 0
        self.left_out = 0
        self.broken: str | None = None

    def __call__(self, failure: Failure) -> str:
        """Save one failure and say where, or why not."""
        try:
            size = _size(failure)
            if size > self.limit:
                self.left_out += 1
                return f"not saved: its tensors take {size / MIB:,.0f} MiB, more than --save-limit"
            path = self._save(failure)
        except (StopIteration, ValueError) as error:
            # A file of the case that was there when it was judged, and no longer is or fits.
            self.left_out += 1
            return f"not saved: {error or 'its standard names a file that no output takes'}"
        except OSError as error:
            self.left_out += 1
            said = f"{error.filename or self.folder}: {error.strerror or error}"
            self.broken = self.broken or said
            return f"not saved: {said}"
        except MemoryError:
            self.left_out += 1
            return "not saved: a copy of its tensors does not fit in memory"
        self.saved += 1
        return f"saved; run it from the saved tensors: {_again(path, failure, self.options)}"

    def _save(self, failure: Failure) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        name = file_name(failure.result.case)
        stored = _Stored(name)
        case = self._stand_alone(failure, stored)
        document = _heading(failure, name, self.options) + show.to_yaml(case)
        files.put(self.folder / f"{name}.npz", lambda stream: np.savez(stream, **stored.arrays))  # type: ignore[arg-type]
        files.put(self.folder / f"{name}.py", _text(_script(failure, name, stored, self.options)))
        # Last: a case file never stands there without its tensors.
        path = self.folder / f"{name}.yaml"
        files.put(path, _text(document))
        return path

    def _stand_alone(self, failure: Failure, stored: _Stored) -> Case:
        """The case with its tensors taken from ``stored`` and everything else written out."""
        case, call = failure.result.case, failure.call
        source: Source = {"name": case_name(case.name), "op": case.operator}
        _if_given(source, description=case.description, product=case.product or self.product)
        _if_given(source, seed=case.seed, tags=list(case.tags))
        if case.only is not None:
            source["only"] = {}
            _if_given(source["only"], product=list(case.only.products))
            _if_given(source["only"], backend=case.only.backend, cann=case.only.cann)
        if case.reference is not None:
            source["reference"] = self._reference(case, stored.name)
        _if_given(source, signature=case.signature)
        if case.standard is not None and case.standard.origin != OF_EXPECT and self.standard is None:
            source["standard"] = self._rule(case.standard, failure, stored)
        operator, signature = failure.operator, failure.operator.signature

        def view(name: str, spec: TensorSpec) -> Source:
            return _view(spec, operator.format_to_say(name, spec, case.arguments))

        source["inputs"] = {
            p.name: stored.argument("input", p.name, call.arguments[p.name], partial(view, p.name))
            for p in signature.inputs
        }
        source["attrs"] = {p.name: _attribute(call.arguments[p.name]) for p in signature.attributes}
        source["outputs"] = {
            name: [view(name, s) for s in spec]
            if isinstance(spec, tuple)
            else None
            if spec is None
            else view(name, spec)
            for name, spec in call.outputs.items()
            if name not in source["inputs"]
        }
        if case.got:
            source["got"] = _got(failure, stored.name)
        source = {key: value for key, value in source.items() if value != {}}
        if case.known_issue is not None:
            mark = dataclasses.asdict(case.known_issue)
            source["known_issue"] = {key: value for key, value in mark.items() if value is not None}
        if case.repeat != 1:
            source["repeat"] = case.repeat
        if case.deterministic is not None:
            source["deterministic"] = case.deterministic
        _if_given(source, expect=self._expect(failure, stored))
        for key, array in _judged(failure):
            stored.add(key, array)
        return dataclasses.replace(case, source=source)

    def _expect(self, failure: Failure, stored: _Stored) -> Source:
        case = failure.result.case
        expect: Source = {}
        status = case.status
        if status is not None:
            expect["status"] = {"code": status.code}
            if status.phase is not Phase.ONE:
                expect["status"]["phase"] = status.phase.value
            _if_given(expect["status"], message=status.message)
        outputs: Source = {}
        for name, data in case.expected_outputs.items():
            whole, bracket, index = name.partition("[")
            if data == "ignore":
                outputs[whole] = "ignore"
                continue
            spec = failure.call.outputs[whole]
            if isinstance(spec, tuple) and bracket:
                spec = spec[int(index.rstrip("]"))]
            assert isinstance(spec, TensorSpec)
            written = _expected(data, spec, name, stored)
            if bracket:
                outputs.setdefault(whole, []).append(written)
            else:
                outputs[whole] = written
        _if_given(expect, outputs=outputs)
        if self.standard is not None:
            # What the command line demanded is part of the failure; here nothing else may speak against it.
            expect["standard"] = self._rule(self.standard, failure, stored)
        elif case.output_standards:
            rules = case.output_standards.items()
            expect["standard"] = {name: self._rule(c, failure, stored, name) for name, c in rules}
        elif case.standard is not None and case.standard.origin == OF_EXPECT:
            expect["standard"] = self._rule(case.standard, failure, stored)
        return expect

    def _rule(
        self, choice: StandardChoice, failure: Failure, stored: _Stored, output: str | None = None
    ) -> Any:
        """A standard as a case file writes it; a third party's result that it takes from a file is stored too."""
        numbers = dict(choice.numbers)
        third = numbers.get("third")
        head, colon, key = third.partition(".npz:") if isinstance(third, str) else ("", "", "")
        path = f"{head}.npz" if colon else head
        if path.endswith(_DATA_FILES):
            # One file is of one shape: without a name the first output is meant.
            name, spec = next(
                (name, spec)
                for name, spec in failure.call.outputs.items()
                if isinstance(spec, TensorSpec) and output in (None, name)
            )
            near = Path() if choice is self.standard else Path(failure.result.case.path).resolve().parent
            values = files.read(str(near / path), key or None, spec.dtype, spec.shape)
            numbers["third"] = stored.add(_key("third", name), values.reshape(spec.shape))
        return {choice.name: numbers} if numbers else choice.name

    def _reference(self, case: Case, name: str) -> str:
        """The reference of the case; a file of code is copied beside it, for a path may not lead out of the folder."""
        assert case.reference is not None
        named = parts(case.reference)
        if named is None:
            return case.reference
        file, function = named
        source = Path(case.path).resolve().parent / file
        copy = f"{name}.reference.py"
        with open(source, "rb") as stream:
            text = stream.read(MAX_REFERENCE + 1)
        if len(text) > MAX_REFERENCE:
            raise OSError(0, f"larger than {MAX_REFERENCE // MIB} MiB", str(source))
        files.put(self.folder / copy, lambda out: out.write(text))
        return f"{copy}:{function}" if function else copy


class _Stored:
    """The arrays of one .npz, by key, and the dtypes of those that are stored by their bits."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.arrays: dict[str, np.ndarray] = {}
        self.dtypes: dict[str, str] = {}

    def add(self, key: str, array: np.ndarray) -> str:
        """Take an array in; the place where a case file finds it."""
        streamed: Any = array
        if isinstance(streamed, Streamed):
            array = streamed.whole()  # --save-limit has let it pass
        kind = next((n for n, d in DTYPES.items() if d.numpy == array.dtype), array.dtype.name)
        self.dtypes[key] = kind
        self.arrays[key] = np.asarray(files.as_bits(array), order="C")
        return f"{self.name}.npz:{key}"

    def argument(self, group: str, name: str, bound: object, view: Callable[[TensorSpec], Source]) -> Any:
        """A tensor as a mapping of the case file, which ``view`` begins, a list of them, or null."""
        if isinstance(bound, tuple):
            return [self.argument(group, f"{name}.{i}", item, view) for i, item in enumerate(bound)]
        if not isinstance(bound, Tensor):
            return None
        place = self.add(_key(group, name), layout.view(bound))
        return {**view(bound.spec), "data": {"file": place}}


# --- names --------------------------------------------------------------------------------------------------


def file_name(case: Case) -> str:
    """A name, without suffix, that every file system takes and that no other case has.

    The readable part is cut and cleaned; the hash at its end is of the file's place and the case's whole name.
    """
    identity = [os.path.realpath(case.path), case.name]
    if case.path.startswith("<"):
        # Not from a file: only what was asked for tells one call from another.
        identity = [case.path, case.name, str(case.product), repr(case.arguments)]
    digest = hashlib.sha256("\0".join(identity).encode("utf-8", "surrogatepass")).hexdigest()[:10]
    stem = os.path.splitext(os.path.basename(case.path))[0]
    stem = "" if case.path.startswith("<") else stem
    readable = _UNSAFE.sub("_", f"{stem}.{case.name}")[:_MAX_STEM].strip("._-")
    return f"{readable or 'case'}-{digest}"


def case_name(name: str) -> str:
    """The name as a case file takes it: the label of a matrix may hold what a written name may not."""
    fit = name.replace("::", ":").strip()
    if len(fit) > read.MAX_WORD:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:10]
        fit = f"{fit[: read.MAX_WORD - 14].rstrip()}...{digest}"
    return "".join(c if c.isprintable() else "?" for c in fit) or "case"


def _key(group: str, name: str) -> str:
    if len(name) > _MAX_KEY or not name.isascii():
        name = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{group}.{name}"


def _again(path: Path, failure: Failure, options: Sequence[str]) -> str:
    words = ["opcli", "run", str(path), "--inputs-sha256", failure.call.inputs_sha256, *options]
    reference = failure.result.case.reference
    if reference is not None and is_code(reference) and "--allow-code" not in options:
        words.append("--allow-code")
    return shlex.join(words)


# --- the parts of a case as plain data ----------------------------------------------------------------------


def _if_given(source: Source, **values: Any) -> None:
    source.update({key: value for key, value in values.items() if value})


def _view(spec: TensorSpec, format: str | None) -> Source:
    """A tensor without its data: dtype, shape, what is not contiguous about it, and ``format`` where one is given."""
    made: Source = {"dtype": spec.dtype, "shape": list(spec.shape)}
    if spec.layout == "strided":
        made["strides"] = list(spec.strides)
    elif spec.layout != "contiguous":
        made["layout"] = spec.layout
    _if_given(made, offset=spec.offset)
    strides = spec.strides if spec.layout == "strided" else None
    plain = layout.resolve(spec.shape, layout=spec.layout, strides=strides, offset=spec.offset)
    if plain[2] != spec.storage_shape:
        made["storage_shape"] = list(spec.storage_shape)
    _if_given(made, format=format)
    return made


def _number(value: Number) -> Any:
    return [value.real, value.imag] if isinstance(value, complex) else value


def _attribute(bound: object) -> Any:
    if not isinstance(bound, Attribute):
        return None
    value = bound.value
    plain: Any = value
    if isinstance(value, tuple):
        plain = [_number(v) for v in value]
    elif isinstance(value, complex):
        plain = _number(value)
    return plain if bound.dtype is None else {"value": plain, "dtype": bound.dtype}


def _expected(data: Data, spec: TensorSpec, name: str, stored: _Stored) -> Any:
    """Expected values as they were written, those of a file by their place among the stored ones."""
    if isinstance(data, FromFile):
        values = generate(data, dtype=spec.dtype, shape=spec.shape, seed=0, name=name)
        key = _key("expected", name.replace("[", ".").rstrip("]"))
        return {"file": stored.add(key, values.reshape(spec.shape))}
    if isinstance(data, Values):
        return [_number(v) for v in data.values]
    assert isinstance(data, Fill)
    if isinstance(data.value, complex) and spec.count == 2:
        return [_number(data.value)] * 2  # one pair would read as two real values
    return _number(data.value)


# --- got and golden -----------------------------------------------------------------------------------------


def _got(failure: Failure, name: str) -> Source:
    """The outputs that another machine has made, by their places among the stored ones."""
    outputs = failure.outcome.outputs
    if not outputs:
        raise ValueError("the files of its outputs do not hold them")
    return {
        n: [{"file": f"{name}.npz:{_key('got', f'{n}.{i}')}"} for i in range(len(got))]
        if isinstance(got, tuple)
        else {"file": f"{name}.npz:{_key('got', n)}"}
        for n, got in outputs.items()
    }


def _judged(failure: Failure) -> Iterator[tuple[str, np.ndarray]]:
    """``got.*`` and ``golden.*`` of every output, the members of a list by number."""
    golden: Mapping[str, Any] = failure.golden.outputs if failure.golden is not None else {}
    expected = failure.result.case.expected_outputs
    for name, got in failure.outcome.outputs.items():
        specs, wanted = failure.call.outputs[name], golden.get(name)
        members = isinstance(got, tuple)
        for i, array in enumerate(got if isinstance(got, tuple) else (got,)):
            key = f"{name}.{i}" if members else name
            spec = specs[i] if isinstance(specs, tuple) else specs
            yield _key("got", key), array
            data = expected.get(f"{name}[{i}]" if members else name, expected.get(name))
            if data == "ignore" or spec is None:
                continue
            if data is not None:
                yield _key("golden", key), _values(data, spec, name)
            elif wanted is not None:
                yield _key("golden", key), wanted[i] if members else wanted


def _values(data: Data, spec: TensorSpec, name: str) -> np.ndarray:
    """Expected values as the judge takes them: written numbers of a float output are not rounded to its dtype."""
    kind = DTYPES[spec.dtype].kind
    if kind in ("float", "complex") and isinstance(data, Values):
        wide = np.complex128 if kind == "complex" else np.float64
        return np.asarray(data.values, wide).reshape(spec.shape)
    flat = generate(data, dtype=spec.dtype, shape=spec.shape, seed=0, name=name)
    if kind == "float" and flat.dtype == numpy_dtype(spec.dtype):
        flat = widen(flat, np.float64)
    return flat.reshape(spec.shape)


def _size(failure: Failure) -> int:
    """Bytes of the tensors that would be stored, before anything is made for them."""
    size = 0
    for bound in failure.call.arguments.values():
        for item in bound if isinstance(bound, tuple) else (bound,):
            if isinstance(item, Tensor):
                size += item.spec.count * item.storage.itemsize
    for got in failure.outcome.outputs.values():
        for array in got if isinstance(got, tuple) else (got,):
            wide = 16 if array.dtype.kind == "c" else 8
            # Got, its golden, and values from a file once more.
            size += array.nbytes * 2 + array.size * wide
    return size


# --- files --------------------------------------------------------------------------------------------------


def _text(text: str) -> Callable[[IO[bytes]], object]:
    return lambda stream: stream.write(text.encode("utf-8", "backslashreplace"))


def _line(text: str) -> str:
    """Text for a comment: one line of what can be printed."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))


def _heading(failure: Failure, name: str, options: Sequence[str]) -> str:
    result = failure.result
    seen = f"{result.verdict.word.value} on the {result.backend} ({result.product}): {result.verdict.reason}"
    lines = [
        "A failure that opcli saved, with its tensors in the .npz beside it.",
        f"case: {result.case.path}::{result.case.name}",
        f"seen: {seen}",
        f"by: {result.repro}",
        f"from the saved tensors: {_again(Path(f'{name}.yaml'), failure, options)}",
    ]
    return "".join(f"# {_line(line)}\n" for line in lines)


def _script(failure: Failure, name: str, stored: _Stored, options: Sequence[str]) -> str:
    """The stand-alone script. Whatever comes from a case stands in it as the literal of a string."""
    result = failure.result
    told = {
        "FILE": f"{name}.npz",
        "CASE": f"{result.case.operator}, {result.case.path}::{result.case.name}",
        "SEEN": f"{result.verdict.word.value}: {result.verdict.reason}",
        "AGAIN": _again(Path(f"{name}.yaml"), failure, options),
    }
    constants = "".join(f"{key} = {value!a}\n" for key, value in told.items())
    dtypes = "".join(f"    {key!a}: {kind!a},\n" for key, kind in stored.dtypes.items())
    text = Path(replay_script.__file__).read_text("utf-8")
    before, _, rest = text.partition("# --- of the case\n")
    after = rest[rest.index("# --- DTYPES") :]
    return f"{before}{constants}DTYPES = {{\n{dtypes}}}\n{after}"
