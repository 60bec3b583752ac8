"""The self-test of a device for people, in English and in Chinese: what was seen, and which verdicts it touches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ascend_opcli.backends.cann.selftest_requests import DIFFERS, HOLDS, NOT_CHECKED, Checked
from ascend_opcli.reporting.texts import LANGUAGES

Pair = tuple[str, str]

STATES: Mapping[str, Pair] = {
    HOLDS: ("holds", "符合"),
    DIFFERS: ("differs", "不符"),
    NOT_CHECKED: ("not checked", "未检查"),
}

CHECKS: Mapping[str, tuple[Pair, Pair]] = {
    "libraries": (
        ("libraries bind at once", "算子库可立即绑定全部符号"),
        ("a call of an operator of such a library may end as a crash", "调用该库中的算子可能被判为 crash"),
    ),
    "served": (
        ("one library serves a call", "两个阶段由同一算子库提供"),
        (
            "every verdict on that operator, and served_by of its rows",
            "该算子的所有判定，以及结果中的 served_by",
        ),
    ),
    "odd": (
        ("memory at odd addresses", "奇数地址的设备内存"),
        (
            "OUT OF BOUNDS WRITE, INPUT CHANGED and NOT WRITTEN where a tensor's bytes are no multiple of 4",
            "字节数不是 4 的倍数的 tensor 上的 OUT OF BOUNDS WRITE、INPUT CHANGED、NOT WRITTEN",
        ),
    ),
    "padding": (
        ("padding of a segment", "内存段末尾的填充"),
        (
            "OUT OF BOUNDS WRITE close behind a buffer, and the notes on padding",
            "紧接缓冲区之后的 OUT OF BOUNDS WRITE，以及关于填充的说明",
        ),
    ),
    "poison": (
        ("a poison survives", "预填数据得以保留"),
        (
            "NOT WRITTEN and PARTLY WRITTEN: a kernel that writes nothing could pass where 0 is right",
            "NOT WRITTEN、PARTLY WRITTEN：正确结果为 0 时，未写出的 kernel 可能被判为通过",
        ),
    ),
    "guards": (
        ("guards are seen", "保护区能发现越界写"),
        (
            "OUT OF BOUNDS WRITE: a kernel that writes outside its tensors could pass",
            "OUT OF BOUNDS WRITE：越界写的 kernel 可能被判为通过",
        ),
    ),
    "repeatable": (
        ("repeatable executors", "可复用的 executor"),
        (
            "opcli bench: phase 1 stands before every launch, or timed results are not those of a run",
            "opcli bench：每次下发前都要执行一阶段，或计时得到的结果与 run 不同",
        ),
    ),
    "l2": (
        ("a fill evicts the L2", "填充内存可清空 L2"),
        (
            "opcli bench: times and GB/s are of a warm cache; compare such runs only with each other",
            "opcli bench：耗时与 GB/s 为缓存已预热的数据，只能在此类结果之间比较",
        ),
    ),
    "events": (
        ("times between events", "event 计时"),
        ("opcli bench: every stream time, baseline and GB/s", "opcli bench：所有 stream 耗时、基线与 GB/s"),
    ),
    "log": (
        ("the log comes in time", "日志及时落盘"),
        (
            "the log lines under a failing case: they may be missing, or stand under the next one",
            "失败用例下方的日志：可能缺失，或出现在下一个用例下方",
        ),
    ),
    "documented": (
        ("documented examples", "文档示例"),
        ("every verdict on the operators named", "所列算子的所有判定"),
    ),
    "planted": (
        ("a planted fault is found", "能发现预埋的错误"),
        ("every PASS on this device", "该设备上的所有 PASS"),
    ),
    "close": (
        ("the device closes in time", "设备及时释放"),
        (
            "ERROR after a case that broke its device: the worker is ended by force, and may not open again",
            "用例损坏设备之后的 ERROR：工作进程被强制结束，设备可能无法再次打开",
        ),
    ),
}
"""Of each check the title, and which verdicts it touches where it differs."""

SAID: Mapping[str, Pair] = {
    "as_is": ("{what}", "{what}"),
    "libraries": ("all {count} operator libraries, under RTLD_NOW", "RTLD_NOW 方式打开全部 {count} 个算子库"),
    "split": (
        "phase 1 of {name} is of {first}, phase 2 of {second}",
        "{name} 的一阶段来自 {first}，二阶段来自 {second}",
    ),
    "odd": ("{count} copies to and from odd addresses, byte for byte", "{count} 次奇数地址拷贝，逐字节一致"),
    "odd_differs": (
        "a copy of {size} bytes to byte {offset} of a buffer arrived elsewhere, or changed bytes beside it",
        "向缓冲区第 {offset} 字节拷贝 {size} 字节，未落在该处或改动了相邻字节",
    ),
    "padding": (
        "{count} allocations lie ALIGN_UP(n, 32) + {padding} bytes apart or more; operators of odd lengths stay within",
        "{count} 次分配的间距不小于 ALIGN_UP(n, 32) + {padding} 字节；奇数长度的算子未超出该范围",
    ),
    "tight": (
        "two allocations of {size} bytes lie {apart} bytes apart, and the rule demands {least}",
        "两次 {size} 字节的分配间距为 {apart} 字节，规则要求 {least} 字节",
    ),
    "wrote": ("{name} of {length} elements: {what}", "{name}（{length} 个元素）：{what}"),
    "poison": (
        "all {count} bytes in both patterns, after phase 1 and after another call's launch",
        "两种填充值的 {count} 字节在一阶段之后、其他调用下发之后均未改变",
    ),
    "in_phase_1": (
        "{changed} of {count} bytes of an output had changed after phase 1, before any launch",
        "一阶段之后、下发之前，输出的 {count} 字节中有 {changed} 字节被改动",
    ),
    "at_a_launch": (
        "{changed} of {count} bytes of an output had changed after the launch of another call",
        "其他调用下发之后，输出的 {count} 字节中有 {changed} 字节被改动",
    ),
    "guards": (
        "a kernel that was led {count} bytes out of its buffer shows, on both sides",
        "令 kernel 越出缓冲区 {count} 字节，前后两侧均能发现",
    ),
    "before": (
        "a kernel that was led {count} bytes out of its buffer does not show before its start",
        "令 kernel 在缓冲区之前越界写 {count} 字节，未能发现",
    ),
    "behind": (
        "a kernel that was led {count} bytes out of its buffer does not show behind its end",
        "令 kernel 在缓冲区之后越界写 {count} 字节，未能发现",
    ),
    "repeatable": (
        "{count} launches of one executor, the same bytes",
        "同一 executor 下发 {count} 次，结果逐字节一致",
    ),
    "refused": (
        "CANN refuses to make the first executor of {name} repeatable",
        "CANN 拒绝将 {name} 的首个 executor 设为可复用",
    ),
    "other_bytes": (
        "launch {number} of one executor gives other bytes",
        "同一 executor 的第 {number} 次下发结果不同",
    ),
    "l2": (
        "a launch takes {cold:.1f} us after a flush and {warm:.1f} us without",
        "清空后单次下发耗时 {cold:.1f} us，未清空为 {warm:.1f} us",
    ),
    "events": (
        "{count} copies of 16 MiB: {event:.3g} ms between events, {clock:.3g} ms by the host's clock ({rate:.0f} GB/s)",
        "{count} 次 16 MiB 拷贝：event 计时 {event:.3g} ms，主机时钟 {clock:.3g} ms（{rate:.0f} GB/s）",
    ),
    "log": (
        "the ERROR lines of a refused call are there {seconds:.2f} s later, before the next one begins",
        "被拒绝的调用的 ERROR 日志在 {seconds:.2f} s 后、下一次调用之前已写出",
    ),
    "late": (
        "the ERROR lines of a refused call came after {seconds:.1f} s; opcli waits {waited:.1f} s",
        "被拒绝的调用的 ERROR 日志在 {seconds:.1f} s 后才写出，opcli 只等待 {waited:.1f} s",
    ),
    "never": (
        "no ERROR line within {seconds:.0f} s of a call that was refused with {status}",
        "调用以 {status} 被拒绝后，{seconds:.0f} s 内没有 ERROR 日志",
    ),
    "documented": ("all {count} pass", "{count} 个示例全部通过"),
    "planted": ("{word}: {what}", "{word}：{what}"),
    "not_found": (
        "a copy that ends one element early is {word} {what}",
        "少拷贝一个元素，判定为 {word} {what}",
    ),
    "whole": ("a copy that is whole is no PASS: {what}", "完整的拷贝未判为 PASS：{what}"),
    "close": (
        "reset and finalize take {seconds:.2f} s; opcli waits {patience:.0f} s",
        "reset 与 finalize 共耗时 {seconds:.2f} s，opcli 等待 {patience:.0f} s",
    ),
    "lacking": ("{what}; not there: {names}", "{what}；缺少：{names}"),
    "silent": ("{name} wrote nothing", "{name} 未写出任何结果"),
    "no_l2": ("the device does not say how large its L2 is", "设备未给出 L2 的大小"),
    "accepts_null": ("{name} does not refuse a null pointer", "{name} 未拒绝空指针"),
    "failed": ("{name} fails: {what}", "{name} 执行失败：{what}"),
    "no_device": ("the device cannot be used: see above", "设备不可用，见上文"),
    "touches": ("touches: {what}", "影响：{what}"),
    "attach": ("attach {files} to a report", "提交问题时请附上 {files}"),
}


def text(key: str, language: str, **values: object) -> str:
    """A sentence in one of the languages."""
    return SAID[key][LANGUAGES.index(language)].format(**values)


def checked_lines(checked: Checked, language: str) -> Iterator[str]:
    """The line of a check, and below it which verdicts are touched where it differs."""
    from rich.cells import cell_len, set_cell_size

    column = LANGUAGES.index(language)
    title, touches = CHECKS[checked.name]
    state_width = max(cell_len(pair[column]) for pair in STATES.values())
    width = max(cell_len(pair[column]) for pair, _ in CHECKS.values())
    state = set_cell_size(STATES[checked.state][column], state_width)
    said = " ".join(text(checked.said, language, **checked.values).split())
    yield f"{state}  {set_cell_size(title[column], width)}  {said}"
    if checked.state == DIFFERS:
        yield f"{'':{state_width + width + 4}}{text('touches', language, what=touches[column])}"


def checked_record(checked: Checked) -> dict[str, Any]:
    """A check for machines; the sentences are the English ones."""
    return {
        "name": checked.name,
        "state": checked.state,
        "said": text(checked.said, "en", **checked.values),
        "touches": CHECKS[checked.name][1][0] if checked.state == DIFFERS else "",
        "values": dict(checked.values),
    }
