"""The calls of a log as cases: shapes, strides, formats and scalars as logged, tensor values invented."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ascend_opcli.casefile.build import Setting
from ascend_opcli.casefile.files import case_formats
from ascend_opcli.casefile.files.positions import GivenArgument, NotDefined, bare, place_all
from ascend_opcli.casefile.files.write import printable
from ascend_opcli.casefile.files.written import WrittenCase, arguments
from ascend_opcli.casefile.logs import log_lines, logged, op_plugin, plog
from ascend_opcli.casefile.logs.log_lines import Line
from ascend_opcli.casefile.logs.logged import Logged, Lost, Part
from ascend_opcli.casefile.tree import clip
from ascend_opcli.errors import CaseFileError, OpcliError
from ascend_opcli.model import Argument, Case, TensorSpec, Where
from ascend_opcli.operators.catalog import UnknownOperator
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.signature import Param
from ascend_opcli.tensors.layout import resolve

MAX_CALLS = 5_000
"""Different calls of one log."""

MAX_STREAMS = 4096
"""Processes whose lines are followed at a time."""

REMARKS = (
    "A log holds no tensor values: those here are invented (the operator's own default data). Indices, lengths",
    "and masks may need data of yours. Numbers stand as the log prints them, six digits of a float.",
)
HOW = 'log them with TORCH_NPU_LOGS="+op_plugin", or ASCEND_GLOBAL_LOG_LEVEL=1'
_SOURCES = {logged.OP_PLUGIN: "op-plugin", logged.PLOG: "plog"}
_POINTER = re.compile(r",? ?(?:data_ptr: ?|device_ptr ?= ?)[^\s,)]+")
_LISTED = 8


@dataclass
class Found:
    """One case, and the lines at which its call begins; ``lines`` keeps every one."""

    case: Case
    logged: Logged
    lines: list[int] = field(default_factory=list)
    streams: set[str] = field(default_factory=set)

    @property
    def notes(self) -> tuple[str, ...]:
        """What its comment says."""
        count = len(self.lines)
        at = ", ".join(map(str, self.lines[:_LISTED])) + (", ..." if count > _LISTED else "")
        times = f"logged {count:,} times: lines {at}" if count > 1 else f"line {at}"
        if not self.case.skip:
            return (f"{times} ({_SOURCES[self.logged.source]})",)
        texts = [f"{p.name}: {_POINTER.sub('', p.text)}" for p in self.logged.parts]
        return (f"{times} ({_SOURCES[self.logged.source]})", *texts)


def calls(lines: Iterable[Line]) -> Iterator[Logged]:
    """Every call of the lines, by either format."""
    reader = LogReader()
    for line in lines:
        yield from reader.feed(line)
    yield from reader.close()


class LogReader:
    """Both formats at once, the lines of each process for themselves."""

    def __init__(self) -> None:
        # CANN's own lines say their process and thread: what stands before them is not needed to go on with one.
        self._plog: dict[str, plog.PlogReader] = {}
        self._op_plugin: dict[str, op_plugin.OpPluginReader] = {}
        self._open: set[str] = set()
        self._last = ""

    def feed(self, line: Line) -> Iterator[Logged]:
        """The calls that this line ends."""
        stream = self._stream(line)
        yield from self._fed(self._op_plugin, op_plugin.OpPluginReader, stream, line)
        (self._open.add if self._op_plugin[stream].is_open else self._open.discard)(stream)
        yield from self._fed(self._plog, plog.PlogReader, line.stream, line)

    def close(self) -> Iterator[Logged]:
        """The calls that the end of the log leaves open."""
        for readers in (self._op_plugin, self._plog):
            for stream in list(readers):
                yield from _closed(readers, stream)

    def _stream(self, line: Line) -> str:
        """Whose line it is. One without a prefix goes on with the record before it, where only that one is open."""
        if line.stream or op_plugin.begins(line.text):
            self._last = line.stream
            return line.stream
        return self._last if self._open <= {"", self._last} else ""

    def _fed(
        self, readers: dict[str, Any], make: Callable[[], Any], stream: str, line: Line
    ) -> Iterator[Logged]:
        if stream not in readers:
            if len(readers) >= MAX_STREAMS:
                oldest = next(iter(readers))
                self._open.discard(oldest)
                yield from _closed(readers, oldest)
            readers[stream] = make()
        for call in readers[stream].feed(line):
            yield dataclasses.replace(call, stream=stream)


def _closed(readers: dict[str, Any], stream: str) -> Iterator[Logged]:
    for call in readers.pop(stream).close():
        yield dataclasses.replace(call, stream=stream)


def load(path: str, setting: Setting) -> tuple[Found, ...]:
    """The different calls of a log, each once; what is no whole call is skipped with the reason.

    Raises CaseFileError where the log has none, or too many.
    """
    gathered = Gathered(path, setting)
    for call in calls(log_lines.lines(path)):
        gathered.add(call)
    if not gathered.found:
        raise CaseFileError(f"{_name(path)} has no aclnn call: {HOW}")
    return tuple(sorted(gathered.found, key=lambda f: f.lines[0]))


def _name(path: str) -> str:
    return "the log on stdin" if path == log_lines.STDIN else clip(path, 200)


class Gathered:
    """The different calls of one log, in the order in which each first ends."""

    def __init__(self, path: str, setting: Setting) -> None:
        self.found: list[Found] = []
        self._path = path
        self._builder = case_formats.Builder(setting)
        self._texts: dict[str, Found] = {}
        self._bodies: dict[str, Found] = {}

    def add(self, call: Logged) -> Found:
        """The case of a call: that of an equal one, where there was one."""
        text = _POINTER.sub("", repr((call.operator, call.source, call.lost, call.outputs, call.parts)))
        known = self._texts.get(text)
        if known is None:
            written = self._written(call)
            # The same call may be written in two ways, and two calls may be lost for one reason.
            key = text if written.body is None else json.dumps([call.operator, written.body])
            known = self._bodies.get(key)
            if known is None:
                if len(self.found) >= MAX_CALLS:
                    raise CaseFileError(
                        f"{_name(self._path)} has more than {MAX_CALLS:,} different calls; narrow it, "
                        "say with TORCH_NPU_LOGS_FILTER"
                    )
                known = Found(self._builder.case(written), call)
                self.found.append(known)
                self._bodies[key] = known
            self._texts[text] = known
        known.lines.append(call.line)
        known.streams.add(call.stream)
        return known

    def _written(self, call: Logged) -> WrittenCase:
        where, name = Where(_name(self._path), call.line, 1), f"line-{call.line}"
        try:
            if call.lost:
                raise Lost(call.lost)
            operator = self._builder.resolve(call.operator)
            body = arguments(operator, _placed(call, operator))
            _leave_out_formats(operator, body)
        except UnknownOperator as error:
            return WrittenCase(
                name, where, call.operator, None, f"{error}; or give its prototype by --signature"
            )
        except (Lost, NotDefined) as error:
            return WrittenCase(name, where, call.operator, None, printable(f"incomplete: {error}"))
        except (OpcliError, ValueError, OverflowError) as error:
            return WrittenCase(name, where, call.operator, None, printable(f"no call: {error}"))
        # Nobody says that a logged call was accepted.
        body.pop("expect", None)
        return WrittenCase(name, where, operator.name, body)


def _leave_out_formats(operator: Operator, body: dict[str, Any]) -> None:
    """Drop the formats that the tensors of a case have by themselves."""
    sections = [body.get(key, {}) for key in ("inputs", "outputs")]
    specs: dict[str, Argument] = {}
    for name, written in (item for section in sections for item in section.items()):
        members = written if isinstance(written, list) else [written]
        for made in (m for m in members if m is not None):
            shape = tuple(made["shape"])
            logged_as = made.pop("format", None)
            own = logged_as or operator.input_format(name, shape)
            spec = TensorSpec(made["dtype"], shape, None, *resolve(shape), format=own)
            specs.setdefault(name, spec)
            if logged_as is not None and operator.format_to_say(name, spec, specs) is not None:
                made["format"] = logged_as


def _placed(call: Logged, operator: Operator) -> dict[str, GivenArgument]:
    params = operator.signature.params
    if call.source == logged.OP_PLUGIN:
        if len(call.parts) != len(params):
            raise NotDefined(_counts(call, operator))
        return place_all(list(map(op_plugin.given, call.parts, params)), operator, params)
    parts, order = _by_name(call, params)
    if len(parts) != len(order):
        raise NotDefined(_counts(call, operator))
    return place_all(list(map(plog.given, parts, order)), operator, order)


def _by_name(call: Logged, params: Sequence[Param]) -> tuple[Sequence[Part], Sequence[Param]]:
    """The parts and the parameters they are: by name where the names are the prototype's, else inputs, then outputs."""
    known = {bare(p.name): p for p in params}
    named = {bare(p.name): p for p in call.parts}
    missing = [p.name for key, p in known.items() if key not in named]
    if named.keys() <= known.keys():
        if missing:
            raise NotDefined(f"the log does not show {', '.join(missing)}")
        return [named[key] for key in known], list(known.values())
    inward = [p for p in params if p.io != "out"]
    return call.parts, inward + [p for p in params if p.io == "out"]


def _counts(call: Logged, operator: Operator) -> str:
    count = len(call.parts)
    return (
        f"the log shows {count} argument{'' if count == 1 else 's'} of the {len(operator.signature.params)} "
        f"that {operator.name} takes"
    )
