"""Calls that torch_npu's op-plugin logs (``TORCH_NPU_LOGS="+op_plugin"``): a head, then a line an argument.

After the public source of Ascend/op-plugin, op_plugin/utils/op_log*.h.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ascend_opcli.casefile.files.positions import ARRAY, SCALAR, TENSOR, TENSORS, VALUE, GivenArgument
from ascend_opcli.casefile.files.written import scalar, scalars
from ascend_opcli.casefile.logs import logged
from ascend_opcli.casefile.logs.log_lines import Line
from ascend_opcli.casefile.logs.logged import Logged, Lost, Part
from ascend_opcli.casefile.tree import clip
from ascend_opcli.operators.signature import Param

MAX_ARGUMENTS = 200
_ASIDE = 20
"""Lines of somebody else that may stand between the lines of a record."""

_HEAD = re.compile(r"\b(aclnn\w{1,100})\s+EXEC_\w+")
_ARGUMENT = re.compile(
    r": ?(?=(?:Tensor|NPU scalar Tensor|CPU scalar Tensor|TensorList) ?(?:size)?:? |Undefined Tensor|FakeTensor|"
    r"NPU scalar Tensor|Scalar: |IntArrayRef\b|(?:at::|c10::)?ArrayRef<|std::array<|Optional None |Empty |"
    r"ScalarType: |u?int(?:8|16|32|64)_t:|int:|bool:|float:|double:|char ?\*:|unknown dtype)"
)
_TENSOR = re.compile(
    r"Tensor size: ?(\[[^\[\]]*\]), ?strides?: ?(\[[^\[\]]*\]), ?offset: ?(\d{1,18}), ?dtype: ?([^,]+)"
)
_ZERO_DIM = re.compile(r"(NPU|CPU) scalar Tensor:? ?(\([^()]*\)|[^\s,\[\]]*)(?:[\s,].*)?$")
_DTYPE = re.compile(r"dtype: ?([^,]+)")
_SCALAR = re.compile(r"Scalar: ?(.*), ?type: ?(\w+)")
_ARRAY = re.compile(
    r"(?:at::|c10::)?(IntArrayRef|ArrayRef<[\w: ]+>|std::array<bool, ?\w+>) size: ?(\d{1,18}), ?elements: ?"
    r"(\[[^\[\]]*\])(?:, ?dtype for first element: ?(\w+))?"
)
_FIRST = re.compile(r"size: ?(\d{1,18}), ?first (\d{1,18}) elements")
_LISTED = re.compile(r"TensorList size: ?(\d{1,18}), ?first tensor of tensorlist: ?(.*)")
_FORMAT = re.compile(r"npu_format: ?(-?\d{1,9})")
_STORAGE = re.compile(r"storage_sizes: ?(\[[^\[\]]*\])")
_NULLS = {"TensorList": TENSORS, "Tensor": TENSOR, "Scalar": SCALAR}
_FORMATS = {
    **{
        0: "NCHW",
        1: "NHWC",
        2: "ND",
        3: "NC1HWC0",
        4: "FRACTAL_Z",
        12: "NC1HWC0_C04",
        16: "HWCN",
        27: "NDHWC",
    },
    **{29: "FRACTAL_NZ", 30: "NCDHW", 32: "NDC1HWC0", 33: "FRACTAL_Z_3D", 35: "NC", 47: "NCL"},
}


class OpPluginReader:
    """Follows the lines of a log; a call is whole where the next one begins, or its lines end."""

    def __init__(self) -> None:
        self._head: tuple[str, int] | None = None
        self._parts: list[Part] = []
        self._aside = 0
        self._detail = -1
        self._unread = ""

    @property
    def is_open(self) -> bool:
        """Whether a call has begun whose end is not known yet."""
        return self._head is not None

    def feed(self, line: Line) -> Iterator[Logged]:
        """The call that this line ends, if it does."""
        text = line.text
        head = _head(text)
        if self._head is not None and "Detail info:" in text:
            self._detail, self._aside = 0, 0
        elif head is not None:
            yield from self.close()
            self._head = (head[1], line.number)
        elif self._head is not None:
            if self._detail >= 0:
                self._detailed(text)
            else:
                self._argument(line)
            if self._aside > _ASIDE or len(self._parts) > MAX_ARGUMENTS:
                yield from self.close()

    def close(self) -> Iterator[Logged]:
        """The call that is open."""
        if self._head is not None:
            yield Logged(*self._head, logged.OP_PLUGIN, tuple(self._parts), lost=self._lost())
        self._head, self._parts, self._aside, self._detail, self._unread = None, [], 0, -1, ""

    def _lost(self) -> str:
        return "" if self._parts else "the log has no line of its arguments"

    def _argument(self, line: Line) -> None:
        found = _ARGUMENT.search(line.text)
        if found is None:
            self._aside += 1
            return
        text = "char*: ... first 0 elements" if line.cut else line.text[found.end() :]
        self._parts.append(Part(clip(line.text[: found.start()]), text))
        self._aside = 0

    def _detailed(self, text: str) -> None:
        part = self._parts[self._detail] if self._detail < len(self._parts) else None
        if part is None or not text.lstrip().startswith(part.name + ":"):
            self._aside += 1
            return
        self._parts[self._detail] = Part(part.name, part.text, text)
        self._detail += 1


def begins(text: str) -> bool:
    """Whether a line is the head of a call."""
    return _head(text) is not None


def _head(text: str) -> re.Match[str] | None:
    head = _HEAD.search(text) if "EXEC_" in text else None
    return head if head is not None and " with" in text[head.end() :] else None


def given(part: Part, param: Param) -> GivenArgument:
    """The argument. Raises Lost where the log cuts it off, ValueError where it names what nobody knows."""
    text = part.text.rstrip(" ")
    if text.startswith(("Undefined Tensor", "Optional None")):
        word = text.removeprefix("Optional None ")
        return GivenArgument(
            part.name, next((k for w, k in _NULLS.items() if word.startswith(w)), _null(text)), None
        )
    if text.startswith("Empty"):
        return GivenArgument(part.name, TENSORS if "TensorList" in text else ARRAY, [])
    if (first := _FIRST.search(text)) is not None:
        raise Lost(f"the log shows {first[2]} of the {first[1]} elements of {part.name}")
    if text.startswith("TensorList"):
        return _listed(part, text)
    if text.startswith(("Tensor", "NPU scalar", "CPU scalar", "FakeTensor")):
        return GivenArgument(part.name, TENSOR, _tensor(part, text))
    if text.startswith(("Scalar:", "ScalarType:")):
        return _scalar(part, text)
    if (array := _ARRAY.match(text)) is not None:
        return _array(part, array)
    return _value(part, text, param)


def _null(text: str) -> str:
    return TENSOR if text.startswith("Undefined") else ARRAY


def _listed(part: Part, text: str) -> GivenArgument:
    found = _LISTED.match(text)
    if found is None:
        raise Lost(f"the tensor list {part.name} cannot be read")
    if found[1] != "1":
        raise Lost(f"the log shows 1 of the {found[1]} tensors of {part.name}")
    return GivenArgument(part.name, TENSORS, [_tensor(part, found[2])])


def _tensor(part: Part, text: str) -> dict[str, object]:
    style: str | None = None
    storage = None
    if part.detail:
        number, held = _FORMAT.search(part.detail), _STORAGE.search(part.detail)
        if number is not None:
            style = _FORMATS.get(int(number[1]), "")
            if not style:
                raise Lost(f"the format {number[1]} of {part.name} is not known")
        storage = logged.sizes(held[1]) if held is not None else None
    found = _TENSOR.match(text)
    if found is not None:
        dtype = logged.dtype_of(found[4])
        shape, strides = logged.sizes(found[1]), logged.sizes(found[2])
        return logged.tensor(shape, strides, int(found[3]), dtype, format=style, storage=storage)
    zero, word = _ZERO_DIM.match(text), _DTYPE.search(text)
    if zero is None or word is None:
        raise Lost(f"the tensor {part.name} cannot be read: {clip(text)}")
    dtype = logged.dtype_of(word[1])
    made = logged.tensor([], [], 0, dtype, format=style, storage=storage)
    # A tensor that is being captured, and a fake one, has no value.
    if zero[2] and "(capturing)" not in text and "FakeTensor" not in text:
        made["data"] = logged.as_dtype(logged.number(zero[2]), dtype)
    return made


def _scalar(part: Part, text: str) -> GivenArgument:
    if text.startswith("ScalarType:"):
        return GivenArgument(part.name, VALUE, logged.dtype_of(text.partition(":")[2]))
    found = _SCALAR.match(text)
    if found is None:
        raise Lost(f"the scalar {part.name} cannot be read: {clip(text)}")
    dtype = logged.dtype_of(found[2])
    return scalar(logged.as_dtype(logged.number(found[1]), dtype), dtype, part.name)


def _array(part: Part, found: re.Match[str]) -> GivenArgument:
    words = [w for w in found[3][1:-1].split(",") if w.strip()]
    values = [logged.number(w) for w in words]
    if len(values) != int(found[2]):
        raise Lost(f"the log shows {len(values)} of the {found[2]} elements of {part.name}")
    if "Scalar" in found[1]:
        dtype = logged.dtype_of(found[4] or "")
        return scalars([logged.as_dtype(v, dtype) for v in values], dtype, part.name)
    return GivenArgument(part.name, ARRAY, [bool(v) for v in values] if "bool" in found[1] else values)


def _value(part: Part, text: str, param: Param) -> GivenArgument:
    kind, colon, written = text.partition(":")
    if not colon or text.startswith("unknown dtype"):
        raise Lost(f"the log does not show {part.name}")
    written = written.removeprefix(" ")
    if kind.startswith("char"):
        return GivenArgument(part.name, VALUE, written)
    if kind in ("int8_t", "uint8_t") and len(written) == 1 and not written.isdigit():
        return GivenArgument(part.name, VALUE, ord(written))  # a stream prints an int8_t as its character
    value = logged.number(written)
    if kind == "bool":
        value = bool(value)
    elif kind in ("float", "double"):
        value = float(value)
    elif param.type == "aclDataType":
        raise Lost(f"{part.name} is the number {value} of a dtype")
    return GivenArgument(part.name, VALUE, value)
