"""One parameter of the signature as written -> the argument: a tensor, a list of tensors, an attribute."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

from ascend_opcli.casefile import keys, read, values
from ascend_opcli.casefile.tree import Mapping, Node, Scalar, Sequence, clip
from ascend_opcli.model import Attribute, FromFile, Number, Shape, TensorSpec
from ascend_opcli.operators.arguments import Arguments
from ascend_opcli.operators.documents.supported import companion
from ascend_opcli.operators.operator import Default, Operator, same
from ascend_opcli.operators.signature import Param
from ascend_opcli.tensors import files, layout
from ascend_opcli.tensors.dtypes import canonical

RANGES = {
    "int8_t": (-(2**7), 2**7 - 1),
    "int": (-(2**31), 2**31 - 1),
    "int32_t": (-(2**31), 2**31 - 1),
    "int64_t": (-(2**63), 2**63 - 1),
    "uint32_t": (0, 2**32 - 1),
    "uint64_t": (0, 2**64 - 1),
}
_PLAIN_DTYPE = "float32"


# --- tensors ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Short:
    """The short form of a case: its dtype and shape, and how every input follows them."""

    operator: Operator
    dtype: str | None = None
    shape: Shape | None = None

    @property
    def complete(self) -> bool:
        """Whether an input that is not written can be made."""
        return self.dtype is not None and self.shape is not None

    def of(self, name: str) -> tuple[str, Shape] | None:
        """Dtype and shape of an input, None for null. Raises ValueError where the operator cannot tell."""
        assert self.dtype is not None
        assert self.shape is not None
        made = self.operator.short.get(name, same)(self.dtype, self.shape)
        return made and (companion(self.operator, name, self.dtype, made[0]), made[1])

    def dtype_of(self, name: str, shape: Shape | None) -> str | None:
        """The dtype of an input whose shape is its own."""
        if self.dtype is None:
            return None
        rule = self.operator.short.get(name, same)
        # A rule may refuse the input's own shape ([C] has no channel axis); its dtype hangs on no shape.
        for trial in (shape, self.shape, (1, 1, 1, 1)):
            try:
                made = rule(self.dtype, trial) if trial is not None else None
            except ValueError:
                continue
            if made is not None:
                return companion(self.operator, name, self.dtype, made[0])
        return self.dtype

    def shape_of(self, name: str, what: str, at: Node) -> Shape | None:
        """The shape of an input that gives none; None where the short form has none either."""
        if self.shape is None:
            return None
        rule = self.operator.short.get(name, same)
        try:
            made = rule(self.dtype or _PLAIN_DTYPE, self.shape)
        except ValueError as error:
            raise at.error(f"{what} needs a shape of its own: {error}") from None
        return made[1] if made is not None else None


def view(node: Mapping, dtype: str, shape: Shape, what: str, format: str) -> TensorSpec:
    """A tensor of that dtype and shape, without data, with the layout and strides that its mapping gives.

    ``format`` is that of a mapping that names none.
    """
    written = node.get("layout")
    strides = node.get("strides")
    offset = node.get("offset")
    storage = node.get("storage_shape")
    if written is not None and strides is not None:
        raise strides.error(f"{what}: layout and strides exclude each other")
    style = node.get("format")
    at = strides or written or offset or storage or node.get("shape") or node
    try:
        steps, start, held, word = layout.resolve(
            shape,
            layout=read.word(written, f"layout of {what}") if written is not None else "contiguous",
            strides=read.sizes(strides, f"strides of {what}") if strides is not None else None,
            offset=read.whole(offset, f"offset of {what}", 0, 2**63 - 1) if offset is not None else 0,
            storage_shape=read.sizes(storage, f"storage_shape of {what}") if storage is not None else None,
        )
    except ValueError as error:
        if "storage_shape" in str(error) and storage is not None:
            at = storage
        raise at.error(f"{what}: {error}") from None
    return TensorSpec(dtype, shape, None, steps, start, held, word, _format(style, what) if style else format)


def _format(node: Node, what: str) -> str:
    word = read.word(node, f"format of {what}").upper().removeprefix("ACL_FORMAT_")
    if word not in keys.FORMATS:
        near = read.hint(word, keys.FORMATS, otherwise=f"; known are {', '.join(keys.FORMATS)}")
        raise node.error(f"unknown format '{clip(word)}' of {what}{near}")
    return word


def tensor(node: Node, param: Param, short: Short, folder: Path) -> TensorSpec:
    """An input: a number, a nested list, or a mapping.

    What it does not say comes from the short form, and failing that from its own data.
    """
    what = param.name
    if isinstance(node, Mapping):
        near = [k for k in node.entries if k in values.GENERATOR_KEYS]
        if near and not set(near) & set(keys.TENSOR):
            raise node.key_error(near[0], f"'{near[0]}' is data: write {what}: {{data: {{{near[0]}: ...}}}}")
        keys.only(node, keys.TENSOR, f"key of the tensor {what}")
        content = node.get("data")
    else:
        content, node = node, Mapping(node.file, node.line, node.column, {}, {})
    written = node.get("dtype")
    dtype = read.by(written, canonical, f"dtype of {what}") if written is not None else None
    dims = node.get("shape")
    shape = read.sizes(dims, f"shape of {what}") if dims is not None else None
    if dtype is None:
        dtype = short.dtype_of(what, shape)
    if shape is None:
        shape = short.shape_of(what, what, node)
    if (dtype is None or shape is None) and content is not None:
        dtype, shape = _by_content(content, dtype, shape, folder, what)
    missing = [k for k, v in (("dtype", dtype), ("shape", shape)) if v is None]
    if dtype is None or shape is None:
        raise node.error(f"{what} needs a {' and a '.join(missing)}")
    # The view first: its limit on the number of elements keeps absurd shapes away from the data.
    spec = view(node, dtype, shape, what, short.operator.input_format(what, shape))
    made = (
        values.data(content, dtype, shape, folder, what)
        if content is not None
        else short.operator.default_data(what, dtype)
    )
    return dataclasses.replace(spec, data=made)


def _by_content(
    content: Node, dtype: str | None, shape: Shape | None, folder: Path, what: str
) -> tuple[str | None, Shape | None]:
    """Complete dtype and shape by a literal or a file; a generator has neither."""
    if isinstance(content, Mapping):
        if values.FILE not in content.entries:
            return dtype, shape
        made = values.generator(content, folder, False, what)
        assert isinstance(made, FromFile)
        try:
            found = files.describe(made.path, made.key)
        except ValueError as error:
            raise content.entries[values.FILE].error(f"{what}: {error}") from None
        if dtype is None and found.dtype is not None:
            try:
                dtype = canonical(found.dtype)
            except ValueError:  # raw bits, which only a written dtype can name
                dtype = None
        return dtype, shape if shape is not None else found.shape
    if isinstance(content, Scalar) and content.value is None:
        return dtype, shape
    dtype = dtype or values.dtype_of(content)
    if shape is None:
        shape = values.shape_of(content, dtype.startswith("complex"))
    return dtype, shape


def inputs(
    node: Node, param: Param, short: Short, folder: Path
) -> TensorSpec | tuple[TensorSpec, ...] | None:
    """Whatever an input parameter may hold; null is the null pointer."""
    if isinstance(node, Scalar) and node.value is None:
        return None
    if not param.is_list:
        return tensor(node, param, short, folder)
    made = []
    for item in read.items(node, f"the tensor list {param.name}"):
        if isinstance(item, Scalar) and item.value is None:
            raise item.error(f"a tensor of the list {param.name} cannot be null; the whole list can")
        made.append(tensor(item, param, short, folder))
    return tuple(made)


def output(node: Node | None, param: Param, operator: Operator, made: Arguments) -> TensorSpec | None:
    """An output: inferred, with those parts that the case overrides; null is the null pointer."""
    if isinstance(node, Scalar) and node.value is None:
        return None
    if node is None:
        return operator.default_output(param.name, made)
    return _overridden(node, param.name, operator.infer_output(param.name, made), operator, made)


def output_list(
    node: Node | None, param: Param, operator: Operator, made: Arguments
) -> tuple[TensorSpec, ...] | None:
    """A list of outputs, each like :func:`output`; a mapping stands for a list of that one."""
    if isinstance(node, Scalar) and node.value is None:
        return None
    if node is None:
        return operator.default_members(param.name, made)
    items = node.items if isinstance(node, Sequence) else (node,)
    inferred = operator.infer_members(param.name, made) or (("float32", (1,)),)
    for item in items:
        if isinstance(item, Mapping) and keys.ALIAS in item.entries:
            raise item.key_error(
                keys.ALIAS, f"alias is for a single tensor, and {param.name} is a tensor list"
            )
    return tuple(
        _overridden(item, param.name, inferred[min(i, len(inferred) - 1)], operator, made)
        for i, item in enumerate(items)
    )


def _overridden(
    node: Node, what: str, inferred: tuple[str, Shape], operator: Operator, made: Arguments
) -> TensorSpec:
    if not isinstance(node, Mapping):
        raise node.error(f"the output {what} takes dtype, shape and layout, or null, not {node.kind}")
    if "data" in node.entries:
        raise node.key_error(
            "data", f"the operator makes the data of {what}; expected values stand in expect.outputs"
        )
    if keys.ALIAS in node.entries:
        return _aliased(node, what, operator, made)
    keys.only(node, keys.VIEW, f"key of the output {what}")
    dtype, shape = inferred
    written, dims = node.get("dtype"), node.get("shape")
    if written is not None:
        dtype = read.by(written, canonical, f"dtype of {what}")
    if dims is not None:
        shape = read.sizes(dims, f"shape of {what}")
    spec = view(node, dtype, shape, what, operator.output_format(what, shape, made))
    refuse_overlap(node, spec, what)
    return spec


def _aliased(node: Mapping, what: str, operator: Operator, made: Arguments) -> TensorSpec:
    """An output in an input's place: its dtype, shape, layout and memory."""
    keys.only(
        node, (keys.ALIAS,), f"key beside alias, which gives dtype, shape and layout to the output {what},"
    )
    at = node.entries[keys.ALIAS]
    name = read.word(at, f"alias of {what}")
    tensors = [p.name for p in operator.signature.inputs if isinstance(made.get(p.name), TensorSpec)]
    spec = made.get(name)
    if name not in tensors or not isinstance(spec, TensorSpec):
        near = read.hint(name, tensors, otherwise=f"; the input tensors are {', '.join(tensors) or 'none'}")
        raise at.error(f"alias of {what}: '{clip(name)}' is no input tensor of this case{near}")
    if any(isinstance(other, TensorSpec) and other.alias == name for other in made.values()):
        raise at.error(f"alias of {what}: another output has the memory of {name} already")
    if layout.overlaps(spec.shape, spec.strides):
        raise at.error(f"alias of {what}: elements of {name} overlap, and one would be written twice")
    return dataclasses.replace(spec, data=None, alias=name)


def refuse_overlap(node: Node, spec: TensorSpec, what: str) -> None:
    """An operator that writes one element twice leaves nothing that could be judged."""
    if spec.layout == "strided" and layout.overlaps(spec.shape, spec.strides):
        at = node.entries.get("strides", node) if isinstance(node, Mapping) else node
        raise at.error(f"the strides of {what} overlap: the operator would write an element twice")


# --- attributes ---------------------------------------------------------------------------------------------


def attribute(node: Node, param: Param) -> Attribute | None:
    """The value of a parameter that is no tensor, of the kind that its C type takes."""
    if isinstance(node, Scalar) and node.value is None:
        if not param.is_pointer:
            raise node.error(f"null is the null pointer; {param.name} is a plain {param.type}")
        return None
    if param.type in ("aclScalar", "aclScalarList"):
        return _scalar(node, param)
    if isinstance(node, Mapping):
        hint = "; {value, dtype} is for an aclScalar" if "value" in node.entries else ""
        raise _not(node, param, "" if hint else None, hint)
    if param.type in ("aclIntArray", "aclFloatArray", "aclBoolArray"):
        if not isinstance(node, Sequence):
            raise _not(node, param, f"a list, such as [{'true' if param.type == 'aclBoolArray' else 1}]")
        of = {"aclIntArray": "int64_t", "aclFloatArray": "float", "aclBoolArray": "bool"}[param.type]
        return Attribute(tuple(_plain(item, param, of) for item in node.items))  # type: ignore[misc]
    return Attribute(_plain(node, param, param.type))


def _not(node: Node, param: Param, wanted: str | None, hint: str = "") -> Exception:
    wanted = f": write {wanted}" if wanted else ""
    return node.error(f"{param.name} is {_article(param)}, not {node.kind}{wanted}{hint}")


def _article(param: Param) -> str:
    kind = "string" if param.type == "char" else param.type
    return f"{'an' if kind[0] in 'aeio' else 'a'} {kind}"


def _plain(node: Node, param: Param, kind: str) -> bool | int | float | str:
    value = node.value if isinstance(node, Scalar) else None
    if kind == "bool":
        if not isinstance(value, bool):
            raise _not(node, param, "true or false")
        return value
    if kind == "char":
        if not isinstance(value, str):
            raise _not(
                node, param, f"it in quotes: '{clip(node.text)}'" if isinstance(node, Scalar) else None
            )
        return value
    if kind == "aclDataType":
        if not isinstance(value, str):
            raise _not(node, param, "the name of a dtype, such as float16")
        return read.by(node, canonical, param.name)
    if kind in ("double", "float"):
        if not isinstance(node, Scalar) or isinstance(value, bool):
            raise _not(node, param, "a number")
        return float(values.number(node, param.name))
    if type(value) is not int:
        raise _not(node, param, _whole_number(value))
    low, high = RANGES[kind]
    if not low <= value <= high:
        raise node.error(
            f"{clip(str(value))} does not fit {param.name}, {_article(param)} from {low} to {high}"
        )
    return value


def _whole_number(value: object) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**63:
        return f"{int(value)}"
    return "a whole number"


def _scalar(node: Node, param: Param) -> Attribute:
    """A number, ``[re, im]``, or ``{value, dtype}``; a list of numbers for an aclScalarList."""
    dtype = None
    if isinstance(node, Mapping):
        keys.only(node, keys.SCALAR, f"key of {param.name}")
        written = node.get("dtype")
        dtype = read.by(written, canonical, f"dtype of {param.name}") if written is not None else None
        value = node.get("value")
        if value is None:
            raise node.error(f"{param.name} has no value: write {{value: 1.0, dtype: float32}}")
        node = value
    may_be_complex = dtype is None or dtype.startswith("complex")
    if param.type == "aclScalar":
        return Attribute(values.element(node, param.name, may_be_complex), dtype)
    if not isinstance(node, Sequence):
        raise _not(node, param, "a list of numbers")
    made: tuple[Number, ...] = tuple(
        values.element(i, f"a number of {param.name}", may_be_complex) for i in node.items
    )
    return Attribute(made, dtype)


def default(param: Param, value: Default) -> Attribute:
    """The operator's own default."""
    if param.type in ("double", "float") and not isinstance(value, tuple):
        return Attribute(float(value))
    return Attribute(value)
