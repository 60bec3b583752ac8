"""An operator on paper: what ``opcli ops`` prints. What the documents do not say is unknown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from ascend_opcli import status as codes
from ascend_opcli.operators.contract.rules import DOCUMENT, REGISTRATION, Rule
from ascend_opcli.operators.documents import by_type, registrations
from ascend_opcli.operators.documents.catalogued import Documented, Entry
from ascend_opcli.operators.documents.facts import SOURCE, UNSEEN, Facts, facts_of
from ascend_opcli.operators.documents.taken import accepted
from ascend_opcli.operators.listing import Listed, Listing
from ascend_opcli.operators.operator import TYPE, Operator, snake
from ascend_opcli.operators.products import PRODUCTS
from ascend_opcli.operators.signature import Param
from ascend_opcli.reporting.wording import count_text

WIDTH = 110


def list_lines(rows: Iterable[Listed]) -> Iterator[str]:
    """One line an operator, columns aligned: both names, category, what it computes where opcli can judge it."""
    cells = [(snake(row.entry.name), row.entry.name, row.entry.category, _computes(row)) for row in rows]
    widths = [max((len(cell[i]) for cell in cells), default=0) for i in range(3)]
    for cell in cells:
        yield "  ".join([*(f"{text:<{w}}" for text, w in zip(cell, widths, strict=False)), cell[3]]).rstrip()


def _computes(row: Listed) -> str:
    return row.judged.summary if row.judged is not None else "-"


def count_lines(listing: Listing) -> Iterator[str]:
    """One line a category: operators, and those with a reference."""
    counts = listing.counts()
    width = max(map(len, counts), default=0)
    yield f"{'category':<{width}}  operators  with a reference"
    for name, (all_, judged) in counts.items():
        yield f"{name:<{width}}  {all_:>9,}  {judged:>16,}"


def listing_text(listing: Listing) -> str:
    """The sentence under a list."""
    judged = sum(row.judged is not None for row in listing.rows)
    said = f"{count_text(len(listing.rows), 'operator')}, {judged:,} with a reference"
    for name, number in listing.silent.items():
        said += f"; {number:,} left out whose documents name no {name}"
    return said


def show_lines(operator: Operator, entry: Entry | None, skeleton: str = "") -> Iterator[str]:
    """Everything about one operator; ``skeleton`` is a case file of it."""
    yield f"{operator.name}  ({operator.short_name})"
    if operator.summary:
        yield operator.summary
    if entry is not None:
        kind = ", experimental" if entry.experimental else ""
        yield f"{entry.category}, {entry.repository}{kind}"
    yield ""
    yield "signature"
    shown = by_type.text(operator.signature) if operator.by_type else operator.signature.prototype()
    yield f"  {shown}"
    if skeleton:
        yield ""
        yield "a case"
        yield from textwrap.indent(skeleton, "  ").splitlines()
    yield ""
    yield "parameters"
    width = max(len(p.name) for p in operator.signature.params)
    for param in operator.signature.params:
        default = (
            f", default {_value(operator.defaults[param.name])}" if param.name in operator.defaults else ""
        )
        held = (
            f", held as {operator.attribute_dtypes[param.name]}"
            if param.name in operator.attribute_dtypes
            else ""
        )
        optional = ", may be null" if param.optional else ""
        yield f"  {param.name:<{width}}  {param.io:<5}  {param.type}{optional}{default}{held}"
        if entry is not None:
            yield from _documented(param, entry, operator)
    if operator.formula:
        yield ""
        yield "formula"
        yield from textwrap.indent(operator.formula, "  ").splitlines()
    yield ""
    yield "products"
    for product, title in PRODUCTS.items():
        said = operator.products.get(product) if operator.products else None
        there = "unknown" if said is None else "yes" if said else "no"
        yield f"  {product:<18} {there:<7}  {title}"
    if entry is not None:
        yield from _status_codes(entry)
    if entry is not None or operator.by_type:
        yield from _registrations(operator)
    if operator.contract:
        yield from _contract(operator, entry)
    yield ""
    yield "judged by"
    if operator.reference is None:
        yield "  nobody here: a case needs expected outputs, an expected status or a reference of its own"
    else:
        how = "in blocks" if operator.elementwise else "whole"
        whose = f"the reference of {operator.own}" if operator.own else "a built-in reference"
        yield f"  {whose}: golden in float64, host result in {operator.compute}, {how}"
    if operator.divergences:
        yield ""
        yield "divergences from documents and other kernels"
    for divergence in operator.divergences:
        yield _item(divergence.text)
    if entry is not None and entry.corrections:
        yield ""
        yield "corrections of the documents"
        for found in entry.corrections:
            counts = ", ".join(map(str, found.value)) or "not limited"
            about = (
                f"{found.parameter}: {found.field} {counts}"
                if found.parameter
                else f"{found.field}: {counts}"
            )
            yield _item(f"{about} ({found.source})")


def _item(text: str) -> str:
    return _fill(text, "  - ", "    ")


def _fill(text: str, first: str, rest: str) -> str:
    """Lines in which no path is broken."""
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _value(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(map(_value, value))}]"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _documented(param: Param, entry: Entry, operator: Operator) -> Iterator[str]:
    """What is taken of a tensor, and of another parameter that lists dtypes; what the document says otherwise."""
    found = next((d for d in entry.params if d.param.name == param.name), None)
    if found is None or (not param.is_tensor and not found.dtypes):
        return
    taken = accepted(operator, param.name, found)
    said = [f"dtypes {', '.join(taken.dtypes) or 'unknown'}{_otherwise(found.dtypes, taken.dtypes)}"]
    if param.is_tensor:
        apart = taken.ranks != found.ranks and found.ranks is not None
        said += [
            f"rank {_ranks(taken)}{f' (document: {_ranks(found)})' if apart else ''}",
            f"formats {', '.join(found.formats) or 'unknown'}",
            f"strided {_yes(found.strided)}",
            f"empty {_yes(found.empty)}",
        ]
    yield _fill("; ".join(said), "      ", "        ")


def _otherwise(documented: Sequence[str], taken: Sequence[str]) -> str:
    """What a document lists beside the dtypes that are taken, and which of these it does not list."""
    more, fewer = ([w for w in a if w not in b] for a, b in ((documented, taken), (taken, documented)))
    said = [f"{word} {', '.join(ws)}" for word, ws in (("also", more), ("not", fewer)) if ws and documented]
    return f" (document: {'; '.join(said)})" if said else ""


def _ranks(found: Documented) -> str:
    if found.ranks is None:
        return "unknown"
    low, high = found.ranks
    return str(low) if low == high else f"{low} to {high}"


def _yes(said: bool | None) -> str:
    return "unknown" if said is None else "yes" if said else "no"


def _status_codes(entry: Entry) -> Iterator[str]:
    yield ""
    yield "status codes that the documents name"
    if not entry.status_codes:
        yield "  unknown"
    for code in entry.status_codes:
        yield f"  {codes.describe(code)}"


def _registrations(operator: Operator) -> Iterator[str]:
    kernel = operator.name.removeprefix(TYPE).removeprefix("aclnn")
    found = registrations.registrations(kernel)
    if not found:
        return
    yield ""
    yield f"kernel {kernel} as registered"
    for one in found:
        where = ", ".join(one.socs) or "unknown SoCs"
        kind = ", experimental" if one.experimental else ""
        yield f"  {where}{kind}: {count_text(len(one.columns()), 'dtype column')}"


def _not_known(known: Facts) -> Iterator[str]:
    """What the source may check beside these rules."""
    if known.unread:
        yield _item(
            f"not known: {count_text(known.unread, 'failing return')} of the source that nobody has read"
        )
    loose = [d.name for d in known.dtypes if d.label != SOURCE and not (d.label == UNSEEN and known.unread)]
    if loose:
        yield _item(
            f"documented dtypes that the source is not seen to check: {', '.join(dict.fromkeys(loose))}"
        )


def _origin(rule: Rule, operator: Operator, entry: Entry | None) -> str:
    """Where a rule comes from, by name."""
    if rule.origin == DOCUMENT:
        return f"document of {operator.name}{f' in {entry.repository}' if entry is not None else ''}"
    if rule.origin == REGISTRATION:
        return f"registration of {operator.name.removeprefix(TYPE).removeprefix('aclnn')}"
    return rule.origin or "written by hand"


def _contract(operator: Operator, entry: Entry | None) -> Iterator[str]:
    kind = "generated entry" if operator.generated else "hand-written entry"
    yield ""
    known = facts_of(operator.name) if operator.generic else None
    if operator.by_type:
        yield "contract of the kernel, as its registrations give it"
    elif operator.generic and operator.generated:
        yield "contract of phase 1 of a generated entry, as its registration and the generator's runtime give it"
    elif known is not None and known.sourced:
        yield "contract of phase 1, read out of its source; behind every rule stands where it comes from"
    elif operator.generic:
        yield "contract of phase 1, from the documents alone (no source was read, the order of checks is not known)"
    else:
        yield f"contract of phase 1, in the order in which the operator checks, written by hand ({kind})"
    for rule in operator.contract:
        text = f"{codes.describe(rule.status)}: {rule.text()}  [{_origin(rule, operator, entry)}]"
        yield _fill(text, "  ", "      ")
    if known is not None and known.sourced:
        yield from _not_known(known)
    if operator.unchecked:
        yield "  not checked by the operator: sizes that its kernel would read or write out of bounds"
