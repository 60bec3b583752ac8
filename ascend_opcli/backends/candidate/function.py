"""A Python function in the operator's place: loaded from its file, called on fresh tensors, its result read out."""

# More than 400 lines: what runs in the process of a stranger's function, with as few imports as can be.
from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import inspect
import keyword
import os
import sys
import traceback
import types
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_opcli.backends import observed
from ascend_opcli.backends.candidate.buffers import GuardedBuffer, Kind, NoTensor, Span, size_of
from ascend_opcli.backends.candidate.limits import memory_text, out_of_memory, too_large
from ascend_opcli.backends.candidate.requests import Ran
from ascend_opcli.backends.candidate.results import Returned, WrongResult, said, sort_out, unreadable
from ascend_opcli.errors import did_you_mean
from ascend_opcli.model import Attribute, Call, Outcome, Tensor, TensorSpec
from ascend_opcli.operators.signature import Param, Signature
from ascend_opcli.reference.call import aliases_last
from ascend_opcli.reference.reading import near, strays, unread
from ascend_opcli.tensors.dtypes import round_to

NAME = "candidate"
THE_CALL = "the call"

KEPT = 8
LARGEST_KEPT = 1 << 26
"""Results that are kept, so that their memory cannot become another's: so many, each of at most so many bytes."""


class LoadFailure(Exception):
    """A candidate file that cannot be imported, in one sentence."""


class NoFunction(Exception):
    """A candidate file without the function that was named."""


def load(path: str, name: str) -> tuple[Callable[..., Any], str]:
    """The function of a file, and the sha256 of the very bytes that were compiled.

    The file's folder comes first in sys.path, as for a script. Raises LoadFailure, NoFunction.
    """
    module = types.ModuleType(f"opcli_candidate_{os.path.splitext(os.path.basename(path))[0]}")
    module.__file__ = path
    sys.modules[module.__name__] = module
    sys.path.insert(0, os.path.dirname(path))
    sys.argv = [path]
    try:
        with open(path, "rb") as stream:
            text = stream.read()
        exec(compile(text, path, "exec"), module.__dict__)
    except BaseException as error:  # whatever a file that nobody vouches for raises
        traceback.print_exc()
        raise LoadFailure(f"RAISED: importing it gave {_said(error, path)}") from None
    found = getattr(module, name, None)
    if not callable(found):
        known = [n for n, v in vars(module).items() if isinstance(v, types.FunctionType)]
        raise NoFunction(f"{path} has no function {name}" + did_you_mean(name, known))
    return found, hashlib.sha256(text).hexdigest()


def _said(error: BaseException, path: str) -> str:
    """An exception in a few words, with the last line of the candidate's own file that it came through."""
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == path]
    if isinstance(error, SyntaxError) and error.filename == path:
        lines.append(error.lineno)
    at = f" (line {lines[-1]} of {os.path.basename(path)})" if lines else ""
    return said(error) + at


# --- the arguments ------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Slot:
    """A tensor handed to the function: its memory, what was put in, and what it is for.

    An input may be ``shared`` with an output.

    While it is timed: whether its contents change from sample to sample, and whether ``content`` has been brought up to
    the last one.
    """

    name: str
    spec: TensorSpec
    buffer: GuardedBuffer
    content: np.ndarray | None
    writes: bool
    poison: int = 0
    shared: bool = False
    moves: bool = False
    moved: bool = False

    @property
    def kept(self) -> bool:
        """Whether the call must leave it as it is."""
        return self.content is not None and not self.writes and not self.shared


@dataclass(slots=True)
class Laid:
    """A call's arguments as the function takes them, by its own parameter names, and the memory behind them."""

    values: dict[str, Any]
    slots: list[Slot]
    handed: tuple[str, ...]
    tensors: dict[str, Any]
    spans: dict[str, Span | None]


class Function:
    """A loaded candidate. ``path`` names its file in sentences.

    ``memory`` is the limit of its data in bytes, 0 where there is none; ``exhausted`` says that it has met it.
    """

    def __init__(self, function: Callable[..., Any], path: str, kind: Kind) -> None:
        self._function, self._path, self._kind = function, path, kind
        self._given: deque[tuple[Any, Span]] = deque(maxlen=KEPT)
        self._again: dict[str, tuple[Any, Span]] = {}
        self.memory = 0
        self.exhausted = False

    def run(self, signature: Signature, call: Call, announce: Callable[[str], None]) -> Ran:
        """One call, its outputs poisoned where the function is handed them."""
        self._again = {}
        try:
            outcome = self._attempt(signature, call, announce, observed.POISONS[0])
            if outcome.written:
                outcome = observed.both(
                    outcome, self._attempt(signature, call, announce, observed.POISONS[1])
                )
            kept = self._unwritten(signature, call, announce) if self._again and outcome.outputs else ()
            if outcome.outputs:
                notes = (*outcome.notes, *self._unread(signature, call))
                outcome = dataclasses.replace(outcome, notes=notes)
            return Ran(outcome, kept)
        except NoTensor as error:
            return Ran(Outcome(NAME, skip=f"cannot judge: {error}"))

    def _unread(self, signature: Signature, call: Call) -> Iterator[str]:
        """What the function neither takes nor looks at, of what the call gives."""
        given = [p.name for p in signature.params if call.arguments.get(p.name) is not None]
        spelled = {name + "_" if keyword.iskeyword(name) else name: name for name in given}
        left = [spelled[name] for name in unread(self._function, spelled)]
        if left:
            yield f"the function never uses {', '.join(left)}"

    def _unwritten(
        self, signature: Signature, call: Call, announce: Callable[[str], None]
    ) -> tuple[str, ...]:
        """Of the outputs in memory that an earlier call returned, those into which the function writes nothing.

        It is called once more for that, with the memory overwritten, and gets it back as it was: a table of its own
        may lie there.
        """
        again, self._again = self._again, {}
        back = [self._kind.fill(value, observed.POISONS[0]) for value, _ in again.values()]
        kept = []
        try:
            laid = self.lay_out(signature, call, observed.POISONS[0])
            announce(THE_CALL)
            returned = sort_out(self.launch(laid), call, laid.handed, self._kind)
            announce("the copy back")
            for name, value in returned.items():
                if name not in again or value is None or not _overlap(self._kind.span(value), again[name][1]):
                    continue
                if (self._kind.array(value).reshape(-1).view(np.uint8) == observed.POISONS[0]).all():
                    kept.append(name)
        except BaseException:  # it reads what we have overwritten: nothing can be said
            return ()
        finally:
            for put in reversed(back):
                if put is not None:
                    put()
        return tuple(kept)

    def _attempt(
        self, signature: Signature, call: Call, announce: Callable[[str], None], poison: int
    ) -> Outcome:
        try:
            laid = self.lay_out(signature, call, poison)
        except WrongResult as error:
            return Outcome(NAME, findings=(str(error),))
        announce(THE_CALL)
        try:
            result = self.launch(laid)
        except BaseException as error:  # SystemExit and KeyboardInterrupt too are its own doing
            return self.raised(error, laid)
        announce("the copy back")
        return self.collect(laid, call, result)

    def launch(self, laid: Laid) -> Any:
        """Call it, and wait for what it launched."""
        result = self.call(laid)
        self.wait()
        return result

    def call(self, laid: Laid) -> Any:
        """Call it."""
        return self._function(**laid.values)

    def wait(self) -> None:
        """Until what it launched is done."""
        self._kind.wait()

    def raised(self, error: BaseException, laid: Laid) -> Outcome:
        """The outcome of a call that ended by an exception, whose traceback goes to what the candidate printed."""
        with contextlib.suppress(OSError):  # it may have printed more than a file may hold
            traceback.print_exception(error)
        text = _said(error, self._path)
        word = "WROTE TOO MUCH" if too_large(error) else "RAISED"
        if self.memory and (isinstance(error, MemoryError) or out_of_memory(text)):
            text += f"; {memory_text(self.memory)}"
            self.exhausted = True
        return Outcome(NAME, findings=(f"{word}: {text}", *self._harm(laid)))

    def lay_out(self, signature: Signature, call: Call, poison: int) -> Laid:
        """Fresh memory for every tensor. Raises WrongResult for a parameter that the operator does not have."""
        takes, anything = self._parameters(signature)
        values: dict[str, Any] = {}
        slots: list[Slot] = []
        handed: list[str] = []
        tensors: dict[str, Any] = {}
        spans: dict[str, Span | None] = {}
        for param in (*signature.attributes, *aliases_last(signature, call)):
            key = takes.get(param.name)
            aliased = call.outputs.get(param.name)
            if isinstance(aliased, TensorSpec) and aliased.alias:
                source = next((slot for slot in slots if slot.name == aliased.alias), None)
                if source is not None:
                    source.shared = True
                    if key is not None:
                        slots.append(Slot(param.name, aliased, source.buffer, source.content, True))
                        values[key] = tensors[param.name] = tensors[source.name]
                        spans[param.name] = spans[source.name]
                        handed.append(param.name)
                continue
            if not param.is_tensor:
                if key is not None:
                    values[key] = _plain(param, call.arguments.get(param.name))
                continue
            if key is None or (not param.is_input and anything):
                continue
            bound = call.arguments[param.name] if param.is_input else call.outputs[param.name]
            items = bound if isinstance(bound, tuple) else (bound,)
            made: list[Any] = []
            for i, item in enumerate(items):
                if item is None:
                    made.append(None)
                    continue
                name = f"{param.name}[{i}]" if isinstance(bound, tuple) else param.name
                assert isinstance(item, (Tensor, TensorSpec))
                slot = self._slot(name, item, param, poison)
                slots.append(slot)
                made.append(slot.buffer.tensor())
                tensors[name] = made[-1]
                spans[name] = self._kind.span(made[-1])
            values[key] = made if isinstance(bound, tuple) else made[0]
            if param.is_output and bound is not None:
                handed.append(param.name)
        return Laid(values, slots, tuple(handed), tensors, spans)

    def _slot(self, name: str, item: Tensor | TensorSpec, param: Param, poison: int) -> Slot:
        spec = item.spec if isinstance(item, Tensor) else item
        buffer = self._kind.buffer(spec)
        content = None
        if isinstance(item, Tensor):
            content = np.ascontiguousarray(item.storage).reshape(-1).view(np.uint8)
            buffer.write(content)
        else:
            poison = _fitting(poison, spec)
            buffer.write(np.full(1, poison, np.uint8))
        return Slot(name, spec, buffer, content, param.is_output, poison)

    def _parameters(self, signature: Signature) -> tuple[dict[str, str], bool]:
        """The operator's parameters that the function takes, with its own names for them; and whether it takes any.

        A name that Python keeps for itself is written with an underscore behind it: ``from_``.
        """
        names = {p.name: p.name + "_" if keyword.iskeyword(p.name) else p.name for p in signature.params}
        try:
            parameters = inspect.signature(self._function).parameters.values()
        except (ValueError, TypeError):  # a function of C that does not say
            return names, True
        own = {p.name: p for p in parameters}
        spelled = {ours: theirs for theirs, ours in names.items()}
        for p in own.values():
            needed = p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
            if p.kind is p.POSITIONAL_ONLY:
                raise WrongResult(
                    f"WRONG PARAMETER: the function takes '{p.name}' by its place only (there is a / behind it), and"
                    " parameters are handed over by name: take the / away"
                )
            if needed and p.name not in spelled:
                known = f"; its parameters are {', '.join(spelled)}"
                raise WrongResult(
                    f"WRONG PARAMETER: the function needs '{p.name}', which {signature.name} does not hand over by name"
                    + (near(p.name, spelled) or known)
                )
        free = [name for name in spelled if name not in own]
        for name in strays(self._function, spelled):
            # A knob of its own keeps its default; what looks like a parameter is none.
            if meant := near(name, free):
                raise WrongResult(
                    f"WRONG PARAMETER: the function takes '{name}', which {signature.name} does not have: its default"
                    f" would count{meant}"
                )
        if any(p.kind is p.VAR_KEYWORD for p in own.values()):
            return names, True
        return {theirs: ours for theirs, ours in names.items() if ours in own}, False

    # --- the result -------------------------------------------------------------------------------------------

    def collect(self, laid: Laid, call: Call, result: Any) -> Outcome:
        """The outputs of a call that has returned, and what was found beside their numbers."""
        findings = list(self._harm(laid))
        notes = [
            f"{name} is not handed over in the memory of {spec.alias}: the function does not take it and {spec.alias}"
            for name, spec in call.outputs.items()
            if isinstance(spec, TensorSpec) and spec.alias and name not in laid.handed
        ]
        fresh: list[tuple[Any, Span]] = []
        outputs: dict[str, np.ndarray] = {}
        written: dict[str, np.ndarray] = {}
        try:
            returned = sort_out(result, call, laid.handed, self._kind)
            read = self._read(returned)
        except WrongResult as error:
            return Outcome(NAME, findings=(*findings, str(error)))
        except BaseException as error:  # of a mapping or list of its own
            return Outcome(NAME, findings=(*findings, f"RAISED: reading the result gave {said(error)}"))
        slots = {slot.name: slot for slot in laid.slots if slot.writes}
        for name, value in returned.items():
            if value is None or (name in slots and value is laid.tensors[name]):
                slot = slots[name]
                raw = slot.buffer.read()
                outputs[name] = observed.values(slot.spec, raw)
                before = slot.poison if slot.content is None else slot.content
                findings += observed.gaps(name, slot.spec, raw, before)
                if slot.content is None:
                    mask = observed.written(slot.spec, raw, _fitting(observed.POISONS[0], slot.spec))
                    if not mask.all():
                        written[name] = mask
                continue
            array, span = read[name]
            outputs[name] = array
            whose = next((n for n, other in laid.spans.items() if _overlap(span, other)), None)
            if whose is not None:
                notes.append(f"{name} shares its memory with {whose}")
            elif span is not None and size_of(value) <= LARGEST_KEPT:
                if any(_overlap(span, other) for _, other in self._given):
                    self._again[name] = value, span
                fresh.append((value, span))
        self._given += fresh
        grouped = {
            name: tuple(outputs[f"{name}[{i}]"] for i in range(len(spec)))
            if isinstance(spec, tuple)
            else outputs[name]
            for name, spec in call.outputs.items()
            if spec is not None
        }
        return Outcome(NAME, outputs=grouped, findings=tuple(findings), notes=tuple(notes), written=written)

    def _read(self, returned: Returned) -> dict[str, tuple[np.ndarray, Span | None]]:
        """The values of everything that was returned, and where they lie. Raises WrongResult."""
        read = {}
        for name, value in returned.items():
            if value is None:
                continue
            try:
                read[name] = self._kind.array(value), self._kind.span(value)
            except BaseException as error:
                raise WrongResult(unreadable(name, value, error)) from None
        return read

    def _harm(self, laid: Laid) -> Iterator[str]:
        """Inputs that were changed, and writes past the end of what was handed over."""
        for slot in laid.slots:
            damage = slot.buffer.damage()
            if damage:
                yield f"OUT OF BOUNDS WRITE: {slot.name} was written {damage}"
            if slot.kept:
                assert slot.content is not None
                yield from observed.changed(slot.name, slot.spec, slot.buffer.read(), slot.content)


def _fitting(poison: int, spec: TensorSpec) -> int:
    """The poison as a value that a tensor of this dtype may hold: a bool is 0 or 1."""
    return int(poison == observed.POISONS[0]) if spec.dtype == "bool" else poison


def _overlap(one: Span | None, other: Span | None) -> bool:
    return (
        one is not None
        and other is not None
        and one[0] == other[0]
        and one[1] < other[2]
        and other[1] < one[2]
    )


def _plain(param: Param, bound: Any) -> Any:
    """An attribute as Python's own number, string or tuple, rounded as the C parameter holds it."""
    if not isinstance(bound, Attribute):
        return None
    value = bound.value
    if isinstance(value, (str, tuple)):
        return value
    if param.type == "aclScalar" and bound.dtype is not None:
        return round_to(np.asarray([value]), bound.dtype)[0].item()
    if param.type == "double" and not isinstance(value, complex):
        return float(value)
    if param.type == "float" and not isinstance(value, complex):
        return float(np.float32(value))
    return value
