"""TTK's CSV: aclnn rows (``api_name`` aclnn...), e2e rows (a torch API) and kernel rows (``op_name``).

Read after hicann/ops-test-kit and the public tables of ops-nn and ops-math. Cells are literals and are never
evaluated.
"""

# More than 400 lines: one table format, whose columns are read in the light of each other.
from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ascend_opcli.casefile.files import kernels, ranges, standards
from ascend_opcli.casefile.files.literals import MAX_CELL, parse
from ascend_opcli.casefile.files.positions import GivenArgument, NotDefined, bare
from ascend_opcli.casefile.files.texts import MAX_CASES
from ascend_opcli.casefile.files.written import Resolve, WrittenCase, arguments, product_for, scalar
from ascend_opcli.casefile.tree import clip
from ascend_opcli.errors import CaseFileError, OpcliError
from ascend_opcli.model import Where
from ascend_opcli.operators.operator import Operator
from ascend_opcli.operators.products import product
from ascend_opcli.tensors.dtypes import DTYPES, canonical

_NAMES = ("op_name", "api_name")
_SHAPES = ("input_shapes", "input_ori_shapes", "tensor_view_shapes", "stc_ori_inputs", "stc_inputs")
_DEFAULT = (-2, 2)
_MOST_SPECIAL = 10_000_000
"""Above so many elements TTK puts no listed values among the others."""

# Older tables say the same by other names.
_LEGACY = {
    "input_shapes": ("stc_inputs", "stc_ori_inputs", "input_ori_shapes"),
    "output_shapes": ("stc_outputs", "stc_ori_outputs", "output_ori_shapes"),
    "input_dtypes": ("stc_input_dtypes", "input_ori_dtypes"),
    "output_dtypes": ("stc_output_dtypes",),
    "input_formats": ("stc_input_formats", "input_ori_formats"),
    "output_formats": ("stc_output_formats", "output_ori_formats"),
    "attributes": ("other_compilation_params", "attrs"),
    "input_data_ranges": ("input_data_range",),
}


def recognises(head: str) -> bool:
    """Whether the first line has the columns of one of TTK's tables."""
    names = [n.strip().strip('"') for n in head.split("\n", 1)[0].split(",")]
    return any(n in names for n in _NAMES) and any(n in names for n in _SHAPES)


def cases(text: str, file: str, resolve: Resolve) -> Iterator[WrittenCase]:
    """Every row of the text that has content, in its order."""
    for number, (where, row) in enumerate(_rows(text, file), 1):
        name = row.get("testcase_name", "").strip() or str(number)
        yield _case(row, name, where, resolve)


def _rows(text: str, file: str) -> Iterator[tuple[Where, dict[str, str]]]:
    before = csv.field_size_limit(MAX_CELL)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=False)
        header = [name.strip() for name in next(reader, [])]
        end, count = reader.line_num, 0
        for cells in reader:
            line, end = end + 1, reader.line_num
            if not any(cell.strip() for cell in cells):
                continue
            count += 1
            if count > MAX_CASES:
                raise CaseFileError(f"the file has more than {MAX_CASES:,} cases", Where(file, line, 1))
            yield Where(file, line, 1), dict(zip(header, cells, strict=False))
    except csv.Error as error:
        raise CaseFileError(f"this is no CSV: {error}", Where(file, reader.line_num, 1)) from None
    finally:
        csv.field_size_limit(before)


# --- a row ----------------------------------------------------------------------------------------------------


class _Row:
    """The cells of one row by column, parsed as they are asked for."""

    def __init__(self, cells: Mapping[str, str]) -> None:
        self._cells = cells

    def text(self, name: str) -> str:
        """The cell as text."""
        return self._cells.get(name, "").strip()

    def get(self, name: str, default: Any = None) -> Any:
        """The value of the first of a column and its older names that has one."""
        for column in (name, *_LEGACY.get(name, ())):
            cell = self._cells.get(column, "")
            if cell.strip():
                try:
                    value = parse(cell)
                except ValueError as error:
                    raise ValueError(f"the cell {column}: {error}") from None
                return default if value is None else value
        return default


def _case(cells: Mapping[str, str], name: str, where: Where, resolve: Resolve) -> WrittenCase:
    row = _Row(cells)
    api, kernel = row.text("api_name"), row.text("op_name")
    mode = "aclnn" if api.startswith("aclnn") else "e2e" if api else "kernel"
    operator = api if mode == "aclnn" else kernels.entry(_tail(api) if mode == "e2e" else kernel)
    if not api and not kernel:
        return WrittenCase(name, where, "-", None, "the row names no operator")
    enabled = row.text("is_enabled").casefold()
    if enabled in ("0", "false"):
        return WrittenCase(name, where, operator, None, "is_enabled is false")
    if enabled not in ("", "1", "true"):
        said = f"is_enabled is true or false, not {clip(row.text('is_enabled'))}"
        return WrittenCase(name, where, operator, None, f"no call: {said}")
    try:
        try:
            found = resolve(operator)
        except OpcliError as error:
            if mode == "aclnn":
                raise
            raise NotDefined(f"there is no {operator}") from error
        body = {"aclnn": _aclnn, "e2e": _aclnn, "kernel": _kernel}[mode](row, found)
        _judged(row, found, body)
        _products(row, found, body)
    except NotDefined as error:
        what = {
            "aclnn": "the row does not define the call",
            "e2e": f"e2e row ({clip(api)})",
            "kernel": "kernel row",
        }
        return WrittenCase(name, where, operator, None, f"{what[mode]}: {error}")
    except (OpcliError, ValueError, TypeError, OverflowError) as error:
        return WrittenCase(name, where, operator, None, f"no call: {error}")
    remark = row.text("remark")
    if remark:
        body["description"] = clip(remark, 200)
    return WrittenCase(name, where, found.name, body, "", "TTK close")


def _tail(api: str) -> str:
    """``torch.nn.functional.gelu`` -> ``gelu``; ``torch_npu.npu_swiglu`` -> ``swiglu``."""
    return api.rpartition(".")[2].removeprefix("npu_")


def _aclnn(row: _Row, operator: Operator) -> dict[str, Any]:
    """A row whose tensors are those of the signature in its order; an e2e row lists the inputs alone."""
    signature = operator.signature
    shapes = _several(row.get("tensor_view_shapes", ()))
    every = [p for p in signature.params if p.is_tensor]
    inward = [p for p in every if p.is_input]
    marked = row.get("output_tensor_indexes", ())
    marked = {marked} if isinstance(marked, int) else set(marked)
    params = next((line for line in (every, inward) if len(line) == len(shapes)), None)
    if params is None:
        raise NotDefined(f"{len(shapes)} tensors for the {len(every)} of {operator.name}")
    odd = [i for i in marked if not (isinstance(i, int) and 0 <= i < len(params) and params[i].is_output)]
    if odd:
        raise NotDefined(
            f"tensor {clip(str(odd[0]))} is marked as an output, {operator.name} writes no such one"
        )
    attributes = _mapping(row)
    values = {bare(str(k)): v for k, v in attributes.items()}
    tensors = _tensors(
        shapes,
        row.get("tensor_dtypes", ("float32",)),
        row.get("tensor_formats", ("ND",)),
        row.get("input_data_ranges", ()),
        [values.get(bare(p.name)) for p in params],
        strides=row.get("tensor_view_strides", ()),
        offsets=row.get("tensor_view_offsets", ()),
        storage=row.get("tensor_storage_shapes", ()),
    )
    placed = {p.name: kernels.tensor(p, t) for p, t in zip(params, tensors, strict=True)}
    placed |= _scalars(row, operator, values)
    named = {bare(p.name) for p in params} | {bare(n) for n in placed}
    rest = {k: v for k, v in attributes.items() if bare(str(k)) not in named}
    attrs = [p for p in signature.attributes if p.type not in ("aclScalar", "aclScalarList")]
    placed |= kernels.by_name(operator, rest, only=[p.name for p in attrs], defaults=True)
    return arguments(operator, placed)


def _scalars(row: _Row, operator: Operator, values: Mapping[str, Any]) -> dict[str, GivenArgument]:
    """aclScalars in order: a value by name, else drawn from the row's range."""
    params = [p for p in operator.signature.attributes if p.type in ("aclScalar", "aclScalarList")]
    words = _several(row.get("scalar_dtypes", ()))
    spans = _several(row.get("scalar_data_ranges", ()))
    placed: dict[str, GivenArgument] = {}
    draws = ranges.Draws(0)
    for i, param in enumerate(params):
        if param.type == "aclScalarList":
            raise NotDefined(f"the list of scalars {param.name} has no column")
        dtype = canonical(str(words[min(i, len(words) - 1)])) if words else "float32"
        value = values.get(bare(param.name))
        if value is None:
            low, high = _ends(spans[i] if i < len(spans) else None)
            whole = DTYPES[dtype].kind in ("int", "uint", "bool")
            ends = (int(low), int(high)) if whole else (float(low), float(high))
            value = draws.between(min(ends), max(ends), f"scalar {i}")
        elif not isinstance(value, (int, float)):
            raise NotDefined(f"{clip(str(value))} is no value of the aclScalar {param.name}")
        placed[param.name] = scalar(bool(value) if dtype == "bool" else value, dtype)
    return placed


def _kernel(row: _Row, operator: Operator) -> dict[str, Any]:
    attributes = _mapping(row)
    known = {bare(p.name) for p in operator.signature.attributes}
    values = {bare(str(k)): v for k, v in attributes.items()}
    params = [p for p in operator.signature.params if p.is_tensor and p.is_input]
    names = [bare(p.name) for p in params]
    inputs = _tensors(
        _several(row.get("input_shapes", ())),
        row.get("input_dtypes", ("float32",)),
        row.get("input_formats", ("ND",)),
        row.get("input_data_ranges", ()),
        [values.get(n) if n not in known else None for n in names],
    )
    outputs = _tensors(
        _several(row.get("output_shapes", ())),
        row.get("output_dtypes", ("float32",)),
        row.get("output_formats", ("ND",)),
        (),
        (),
    )
    into = row.get("output_inplace_indexes", ())
    into = (into,) if isinstance(into, int) else into
    rest = {k: v for k, v in attributes.items() if bare(str(k)) not in names or bare(str(k)) in known}
    placed = kernels.same_parameters(operator, inputs, outputs, rest, written_into=into)
    return arguments(operator, placed)


# --- tensors --------------------------------------------------------------------------------------------------


def _several(value: Any) -> tuple[Any, ...]:
    """A column of one entry a tensor; a lone shape such as ``(7,)`` is one tensor's."""
    if value is None:
        return ()
    if not isinstance(value, tuple):
        return (value,)
    return (value,) if value and all(isinstance(v, int) for v in value) else value


def _tensors(
    shapes: Sequence[Any],
    dtypes: Any,
    formats: Any,
    spans: Any,
    values: Sequence[Any],
    *,
    strides: Any = (),
    offsets: Any = (),
    storage: Any = (),
) -> list[kernels.Tensor]:
    words, styles = _several(dtypes), _several(formats)
    spans = spans if isinstance(spans, tuple) else (spans,)
    if len(shapes) == 1 and len(spans) == 2 and all(isinstance(s, (int, float)) for s in spans):
        spans = (spans,)
    if len(words) not in (1, len(shapes)):
        raise ValueError(f"{len(words)} dtypes for {len(shapes)} tensors")
    made: list[kernels.Tensor] = []
    for i, shape in enumerate(shapes):
        word = words[i] if len(words) > 1 else words[0]
        style = styles[i] if i < len(styles) else styles[0] if len(styles) == 1 else None
        span = spans[i] if i < len(spans) else spans[0] if len(spans) == 1 else None
        own = values[i] if i < len(values) else None
        if shape is None or word is None:
            made.append(None)
        elif isinstance(shape, tuple) and shape and all(isinstance(s, (tuple, type(None))) for s in shape):
            made.append(_members(shape, word, style, span))
        else:
            extra = {
                key: part[i]
                for key, part in (("strides", strides), ("offset", offsets), ("storage_shape", storage))
                if isinstance(part, tuple) and i < len(part) and part[i] is not None
            }
            made.append(_tensor(shape, word, style, span, own, extra))
    return made


def _members(shape: tuple[Any, ...], word: Any, style: Any, span: Any) -> list[dict[str, Any]]:
    """A tensor list: dtypes, formats and ranges may be of one member each."""
    made = []
    nested = isinstance(span, tuple) and len(span) == len(shape) and all(isinstance(s, tuple) for s in span)
    for j, one in enumerate(shape):
        own = (
            word[j]
            if isinstance(word, tuple) and j < len(word)
            else word[0]
            if isinstance(word, tuple)
            else word
        )
        how = style[j] if isinstance(style, tuple) and j < len(style) else style
        if one is None:
            raise ValueError("a tensor of a list is absent")
        made.append(_tensor(one, own, how, span[j] if nested else span, None, {}))
    return made


def _tensor(
    shape: Any, word: Any, style: Any, span: Any, values: Any, extra: Mapping[str, Any]
) -> dict[str, Any]:
    shape = (shape,) if isinstance(shape, int) else shape
    if not isinstance(shape, tuple) or not all(type(d) is int and d >= 0 for d in shape):
        raise ValueError(f"{clip(str(shape))} is no shape")
    if not isinstance(word, str):
        raise ValueError(f"{clip(str(word))} is no dtype")
    dtype = canonical(word)
    count = 1
    for dim in shape:
        count *= dim
    made: dict[str, Any] = {"dtype": dtype, "shape": list(shape)}
    flat = _flat(values)
    made["data"] = flat if flat is not None and len(flat) == count else data(span, dtype, count)
    if isinstance(style, str) and style not in ("", "ND"):
        made["format"] = style
    for key, part in extra.items():
        made[key] = list(part) if isinstance(part, tuple) else part
    return made


def _flat(values: Any) -> list[Any] | None:
    """The numbers of a small tensor whose value stands among the attributes."""
    if isinstance(values, (int, float)):
        return [values]
    if not isinstance(values, tuple):
        return None
    made: list[Any] = []
    for value in values:
        part = _flat(value)
        if part is None:
            return None
        made += part
    return made


def _ends(span: Any) -> tuple[float, float]:
    low, high = span[:2] if isinstance(span, tuple) and len(span) >= 2 else (span, span)
    return (_DEFAULT[0] if low is None else low), (_DEFAULT[1] if high is None else high)


def data(span: Any, dtype: str, count: int) -> Any:
    """Data of a range: closed, -2 to 2 where it says nothing; of a longer list every value is sure to appear."""
    if isinstance(span, tuple) and len(span) == 1:
        span = span[0]
    low, high = _ends(span)
    if not all(isinstance(v, (int, float)) for v in (low, high)):
        raise ValueError(f"the range {clip(str(span))} is not known")
    made = ranges.interval(low, high, dtype)
    if isinstance(span, tuple) and len(span) > 2 and count <= _MOST_SPECIAL:
        listed = [v for v in span if isinstance(v, (int, float))]
        return ranges.with_specials(made, listed, count, dtype)
    return made


# --- judgement ------------------------------------------------------------------------------------------------


def _mapping(row: _Row) -> dict[Any, Any]:
    """The attributes of a row by name."""
    found = row.get("attributes", {})
    if not isinstance(found, dict):
        raise ValueError(f"the cell attributes holds no dict but {clip(str(found))}")
    return dict(found)


def _judged(row: _Row, operator: Operator, body: dict[str, Any]) -> None:
    """The row's tolerances, which TTK's ``close`` uses; integers are compared as TTK's table by dtype has it."""
    tolerances, absolute = row.get("precision_tolerances"), row.get("absolute_precision")
    if not tolerances:
        return
    written = {**body.get("inputs", {}), **body.get("outputs", {})}
    dtypes: dict[str, str] = {}
    for param in operator.signature.outputs:
        first = written.get(param.name)
        first = first[0] if isinstance(first, list) and first else first
        if isinstance(first, dict):
            dtypes[param.name] = str(first["dtype"])
    floats = any(DTYPES[canonical(str(t["dtype"]))].kind == "float" for t in _dicts(body.get("inputs", {})))
    found = standards.of_ttk(tolerances, absolute, dtypes, float_inputs=floats)
    if found:
        body["expect"] = {**body["expect"], "standard": found}


def _dicts(inputs: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for value in inputs.values():
        for one in value if isinstance(value, list) else (value,):
            if isinstance(one, dict):
                yield one


def _products(row: _Row, operator: Operator, body: dict[str, Any]) -> None:
    """soc_series: the products of the row; a leading '-' excludes one."""
    series = row.get("soc_series", ())
    listed: list[str] = []
    for word in (series,) if isinstance(series, str) else series:
        if isinstance(word, str) and not word.startswith("-"):
            try:
                listed.append(product(word))
            except ValueError:
                continue
    home = product_for(operator, tuple(dict.fromkeys(listed)))
    if listed:
        body.pop("product", None)
    if home is not None:
        body["product"] = home
