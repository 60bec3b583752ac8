"""``--changed``: from the paths of a change to the operators that it touches.

A path touches an operator whose name stands in one of its folders or in its file's name, in snake or camel case:
``aclnnLogitGrad`` is touched by ``loss/logit_grad/op_kernel/logit_grad.h`` and by ``LogitGradTiling.cpp``. A name
inside a longer one counts too (``add`` in ``add_rms_norm``): rather a case too many than one too few.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator

from ascend_opcli.errors import UsageError
from ascend_opcli.model import Argument, Case, FromFile, TensorSpec
from ascend_opcli.operators.operator import snake
from ascend_opcli.reference.resolve import is_code

STDIN = "-"
MAX_BYTES = 2**26

# The folder of the kernel, where it is called otherwise than the operator and no rule leads there.
KERNELS = {
    "batch_norm_elemt_backward": ("sync_batch_norm_backward_elemt",),
    "threshold_backward": ("threshold_grad_v2_d", "relu_grad"),
}

_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, "\\": 92, '"': 34}
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|[ntrabfv\\\"])")


def read_list(source: str) -> tuple[str, ...]:
    """The paths that a file or standard input (``-``) lists, one a line.

    Also what git writes: names in quotes (``"sp\\303\\244t.yaml"``), and the columns of ``--name-status``. The text
    is UTF-8, or what its byte order mark says (PowerShell redirects in UTF-16). Raises UsageError where the list
    cannot be read: a list that is not understood would say that no operator was changed.
    """
    try:
        if source == STDIN:
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(source, "rb") as stream:
                data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"--changed {source}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"--changed {source}: the list is larger than {MAX_BYTES // 2**20} MiB")
    made: list[str] = []
    # Not splitlines(): a path may hold U+2028 and the like.
    for line in re.split(r"[\r\n\0]+", _decoded(data, source)):
        made += [_unquoted(part) for part in line.split("\t")]
    return tuple(path for path in made if path)


# The longer marks first: that of UTF-32 begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def _decoded(data: bytes, source: str) -> str:
    mark, encoding = next(((m, e) for m, e in _MARKS if data.startswith(m)), (b"", "utf-8"))
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        raise UsageError(
            f"--changed {source}: byte {len(mark) + error.start:,} is not {encoding.upper()}: {error.reason}"
        ) from None
    # git -z ends every path with a NUL; in UTF-16 one follows or precedes nearly every letter.
    pieces = [piece for piece in data.split(b"\0") if piece]
    if not mark and b"\0" in data and 3 * sum(len(piece) == 1 for piece in pieces) >= 2 * len(pieces):
        raise UsageError(f"--changed {source}: this looks like UTF-16, without its byte order mark")
    return text


def _unquoted(word: str) -> str:
    word = word.strip(" ")
    if len(word) < 2 or not (word[0] == word[-1] == '"'):
        return word

    def byte(match: re.Match[str]) -> str:
        code = match[1]
        return chr(_ESCAPES[code] if code in _ESCAPES else int(code, 8))

    # git escapes bytes: each becomes a character first, then all of them are decoded together.
    plain = os.fsencode(word[1:-1]).decode("latin1")
    return os.fsdecode(_ESCAPE.sub(byte, plain).encode("latin1"))


def touched(paths: Iterable[str]) -> Callable[[Case], bool]:
    """A test for cases whose operator the paths touch, whose file is among them, or a file that they read."""
    listed = [path.replace("\\", "/") for path in paths]
    # One text to look through: a word never runs across the slash between two parts.
    words = "/".join({_words(part) for path in listed for part in path.split("/") if part})
    files = frozenset(os.path.realpath(path) for path in listed)
    # A list that is relative to the root of a repository, read by an opcli that runs below it.
    tails = tuple("/" + os.path.normpath(path).lstrip("/") for path in listed if os.path.basename(path))
    operators: dict[str, bool] = {}
    known: dict[str, bool] = {}

    def operator_touched(name: str) -> bool:
        if name not in operators:
            operators[name] = any(f"_{known_as}_" in words for known_as in names_of(name))
        return operators[name]

    def file_touched(path: str) -> bool:
        if path not in known:
            real = os.path.realpath(path)
            known[path] = real in files or real.replace("\\", "/").endswith(tails)
        return known[path]

    return lambda case: operator_touched(case.operator) or any(map(file_touched, _files(case)))


def names_of(operator: str) -> tuple[str, ...]:
    """The names, in snake case, under which an operator and its kernel go.

    Its own; without the version and without ``inplace``, for the variants share a kernel; ``grad`` for
    ``backward``, as kernels have it; and the folders that are known.
    """
    own = snake(operator)
    names = [own, re.sub(r"_v\d+$", "", own).removeprefix("inplace_")]
    names += [re.sub(r"_backward$", "_grad", name) for name in names]
    return tuple(dict.fromkeys([*names, *KERNELS.get(own, ())]))


def _words(part: str) -> str:
    """A folder or file as words between underscores: ``_logit_grad_h_``."""
    bare = re.sub(r"[^A-Za-z0-9]+", "_", part)
    return f"_{re.sub('_+', '_', snake(bare)).strip('_')}_"


def _files(case: Case) -> Iterator[str]:
    """The files that a case is made of: its own, those its data come from, its header and its reference."""
    if not case.path.startswith("<"):
        yield case.path
    folder = os.path.dirname(case.path)
    header = case.source.get("signature")
    if isinstance(header, str) and "(" not in header:
        yield os.path.join(folder, header)
    if case.reference is not None and is_code(case.reference):
        yield os.path.join(folder, case.reference.rpartition(":")[0])
    for argument in case.arguments.values():
        yield from _data_files(argument)
    for data in case.expected_outputs.values():
        if isinstance(data, FromFile):
            yield data.path


def _data_files(argument: Argument) -> Iterator[str]:
    for spec in argument if isinstance(argument, tuple) else (argument,):
        if isinstance(spec, TensorSpec) and isinstance(spec.data, FromFile):
            yield spec.data.path
