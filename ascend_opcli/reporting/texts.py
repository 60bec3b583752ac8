"""What the reports for handing in say, in English and in Chinese, side by side.

Words of the judgement itself (verdicts, rules, reasons, names) are quoted as they are in both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

LANGUAGES = ("en", "zh")

Text = Callable[..., str]


def texts(language: str) -> Text:
    """A function from a key and the values of its blanks to the text in that language."""
    column = LANGUAGES.index(language)

    def text(key: str, **values: object) -> str:
        return TEXTS[key][column].format(**values)

    return text


TEXTS: Mapping[str, tuple[str, str]] = {
    # --- both reports ---
    "environment": ("Environment", "环境"),
    "item": ("item", "项目"),
    "value": ("value", "值"),
    "opcli": ("opcli", "opcli"),
    "backend": ("backend", "后端"),
    "product": ("product", "产品"),
    "products": ("products", "产品"),
    "python": ("Python", "Python"),
    "numpy": ("NumPy", "NumPy"),
    "ml_dtypes": ("ml_dtypes", "ml_dtypes"),
    "platform": ("platform", "平台"),
    "started": ("started (UTC)", "开始时间（UTC）"),
    "command": ("command", "命令"),
    "served_by": ("library that served the calls", "提供算子入口的库"),
    "seconds": ("duration", "耗时"),
    "on_host": ("host: NumPy reference, no operator was run", "host：NumPy 参考实现，未执行算子"),
    "on_candidate": (
        "candidate: a function or program in the operator's place, not called through aclnn",
        "candidate：由函数或程序代替算子，未通过 aclnn 接口调用",
    ),
    "on_outputs": (
        "outputs: files that another program wrote; opcli ran nothing",
        "outputs：由其他程序写出的文件，opcli 未执行任何算子",
    ),
    "on_device": ("device: operators were run through aclnn", "device：通过 aclnn 接口执行算子"),
    "incomplete": (
        "The run is not complete: {done} of {planned} cases were run, and only these are reported.",
        "运行不完整：共 {planned} 个用例，实际运行 {done} 个，本报告只包含已运行的用例。",
    ),
    # --- acceptance ---
    "acceptance": ("Acceptance report: {operators}", "算子验收报告：{operators}"),
    "nothing": ("Nothing was judged: no case was run.", "没有可判定的内容：未运行任何用例。"),
    "host_warning": (
        "**No operator was run.** On the host, opcli applies the operator's contract and works its NumPy reference"
        " through. The figures below show that cases, expectations and tolerances fit together and what the best"
        " possible kernel would score. They say nothing about a kernel and do not stand for a run on an NPU.",
        "**未执行算子**。在 host 后端，opcli 依据算子契约判定返回码，并用 NumPy 参考实现计算结果。下列数据只"
        "说明用例、期望与容差彼此相符，以及理想 kernel 能达到的精度；不能证明任何 kernel 的"
        "正确性，也不能代替 NPU 上的实测结果。",
    ),
    "conclusion": ("Result", "结论"),
    "all_passed": ("Every case that was judged passed.", "所有已判定的用例均通过。"),
    "some_failed": (
        "{failed} of {judged} judged cases did not pass.",
        "已判定 {judged} 个用例，其中 {failed} 个未通过。",
    ),
    "none_judged": ("No case was judged.", "没有用例得到判定。"),
    "not_judged": (
        "Not judged (SKIP or ERROR), and left out of the pass rates: {count}.",
        "未判定（SKIP 或 ERROR）、不计入通过率的用例：{count} 个。",
    ),
    "weak": (
        "Passing, but WEAK (a cheap wrong answer would pass too): {count}.",
        "通过但被标为 WEAK（简单的错误结果也能通过，判定力不足）的用例：{count} 个。",
    ),
    "kind": ("cases", "用例"),
    "numbers": ("compared with a golden", "与标杆（golden）比对"),
    "refusals": ("demanded to be refused, by status", "期望被拒绝（按返回码判定）"),
    "count": ("count", "数量"),
    "rate": ("pass rate", "通过率"),
    "rate_note": (
        "Pass rate: PASS / (PASS + FAIL + KNOWN), a known failure being one that does not pass.",
        "通过率 = PASS / (PASS + FAIL + KNOWN)；KNOWN 为已登记的失败，按未通过计。",
    ),
    "standard": ("Standard", "精度标准"),
    "standard_intro": (
        "The golden is the reference in float64. Rules that judged, with their numbers:",
        "标杆为参考实现的 float64 结果。实际采用的判定规则及其数值如下：",
    ),
    "name": ("standard", "标准"),
    "dtype": ("dtype", "数据类型"),
    "rule": ("rule", "规则"),
    "origin": ("chosen by", "来源"),
    "outputs": ("outputs", "输出数"),
    "no_outputs": ("No output was compared.", "没有进行输出比对。"),
    "rates": ("Pass rates", "通过率"),
    "rates_of": (
        "Of the cases that are compared with a golden.",
        "统计范围：与标杆比对的用例。",
    ),
    "by_dtype": ("By dtype of the inputs", "按输入数据类型"),
    "by_tag": ("By tag", "按标签"),
    "by_attribute": ("By attribute", "按属性"),
    "by_branch": ("By branch of the operator", "按算子分支"),
    "operator": ("operator", "算子"),
    "tag": ("tag", "标签"),
    "no_tag": ("(none)", "（无）"),
    "attribute": ("attribute", "属性"),
    "branch": ("branch", "分支"),
    "elements": ("elements", "元素数"),
    "no_attributes": ("The operators take no attributes.", "算子没有属性。"),
    "no_branches": ("The operators declare no branches.", "算子未声明分支。"),
    "not_reached": ("no element reaches it", "没有元素到达"),
    "left_out": (
        "{count} more rows are left out; all of their cases passed or were not judged.",
        "另有 {count} 行从略，其用例均通过或未判定。",
    ),
    "left_out_failing": (
        "{count} more rows are left out; {failing} of them have cases that do not pass.",
        "另有 {count} 行从略，其中 {failing} 行含未通过的用例。",
    ),
    "worst": ("Worst case per dtype", "各数据类型的最差用例"),
    "worst_intro": (
        "The output that uses most of its tolerance (100 % is the edge), with its worst element.",
        "占用容差比例最高的输出（100 % 为边界）及其误差最大的元素。",
    ),
    "case": ("case", "用例"),
    "used": ("tolerance used", "容差占用"),
    "absolute": ("absolute error", "绝对误差"),
    "relative": ("relative error", "相对误差"),
    "ulp": ("ulp", "ulp"),
    "verdict": ("verdict", "判定"),
    "reason": ("reason", "原因"),
    "coverage": (
        "Case-generation rules of the ecosystem standard",
        "生态算子开源精度标准的用例生成规则覆盖情况",
    ),
    "coverage_intro": (
        "Worked out from the specifications of the {count} cases of {operator} that are compared with a golden.",
        "根据 {operator} 与标杆比对的 {count} 个用例的描述计算得出。",
    ),
    "covered": ("covered", "是否覆盖"),
    "found": ("found", "实际情况"),
    "yes": ("yes", "是"),
    "partly": ("partly", "部分"),
    "no": ("no", "否"),
    "nothing_to_say": ("does not apply", "不适用"),
    "tally": (
        "{yes} rules are covered, {partly} partly, {no} not.",
        "已覆盖 {yes} 条，部分覆盖 {partly} 条，未覆盖 {no} 条。",
    ),
    "rule_combinations": (
        "all combinations of dtype, format, rank and attributes",
        "数据类型 × 数据格式 × 维数 × 属性的全部组合",
    ),
    "rule_powers": ("dimensions 2^k, k = 0 to 20", "维度大小取 2^k，k = 0~20"),
    "rule_below_powers": ("dimensions 2^k - 1, k = 1 to 20", "维度大小取 2^k - 1，k = 1~20"),
    "rule_sizes": (
        "dimensions up to 2^20, tensors up to 2^31 elements",
        "维度大小不超过 2^20，元素总数不超过 2^31",
    ),
    "rule_distributions": (
        "half of the inputs uniform in [-5, 5], half normal with mu in [-5, 5] and sigma in [0.1, 2]",
        "一半输入服从 [-5, 5] 上的均匀分布，一半服从正态分布（μ ∈ [-5, 5]，σ ∈ [0.1, 2]）",
    ),
    "rule_empty": ("empty tensors", "空 tensor"),
    "rule_one": ("shape [1]", "shape 为 [1]"),
    "rule_lower": ("lower border of the dtype", "数据类型的下边界值"),
    "rule_upper": ("upper border of the dtype", "数据类型的上边界值"),
    "rule_nan": ("nan", "nan"),
    "rule_inf": ("inf", "inf"),
    "rule_-inf": ("-inf", "-inf"),
    "rule_[-inf, inf]": ("[-inf, inf]: both in one tensor", "[-inf, inf]：同一 tensor 中两者都有"),
    "no_inputs": ("no case has an input tensor", "没有带输入 tensor 的用例"),
    "combinations_all": (
        "all {wanted} combinations of what the operator supports on {products} ({axes}; an attribute's default and"
        " another value)",
        "算子在 {products} 上支持的 {wanted} 种组合（{axes}；属性取默认值和另一个值）全部覆盖",
    ),
    "combinations_some": (
        "{found} of {wanted} combinations of what the operator supports on {products} ({axes}; an attribute's default"
        " and another value); missing among others: {missing}",
        "算子在 {products} 上支持的组合共 {wanted} 种（{axes}；属性取默认值和另一个值），覆盖 {found} 种；"
        "缺少的组合例如：{missing}",
    ),
    "combinations_branches": (
        "all {wanted} combinations of what the operator supports on {products} ({axes}), but no element reaches the"
        " branches: {branches}",
        "算子在 {products} 上支持的 {wanted} 种组合（{axes}）全部覆盖，但没有元素到达以下分支：{branches}",
    ),
    "combinations_unknown": (
        "what the operator supports is not documented; {found} of {wanted} combinations of what occurs in the run"
        " ({axes})",
        "没有关于算子支持范围的文档；按运行中出现的取值（{axes}），共 {wanted} 种组合，覆盖 {found} 种",
    ),
    "exponents_all": ("all k", "全部 k"),
    "exponents_some": ("k = {found}; missing k = {missing}", "k = {found}；缺少 k = {missing}"),
    "exponents_none": ("none", "无"),
    "sizes_found": (
        "the longest dimension is {longest}, the largest tensor has {most} elements",
        "最大维度为 {longest}，最大 tensor 有 {most} 个元素",
    ),
    "no_random": ("no floating-point input is drawn at random", "没有随机生成的浮点输入"),
    "distributions_found": (
        "of {total} random floating-point inputs {uniform} are uniform in [-5, 5], {normal} normal within the"
        " bounds, {other} others (half is taken as 40 to 60 %)",
        "随机生成的浮点输入共 {total} 个：[-5, 5] 均匀分布 {uniform} 个，符合要求的正态分布 {normal} 个，"
        "其他 {other} 个（“一半”按 40 %~60 % 判断）",
    ),
    "cases_found": ("{count} cases", "{count} 个用例"),
    "cases_none": ("no case", "无用例"),
    "no_floats": ("no floating-point input", "没有浮点输入"),
    "dtypes_all": ("{have}", "{have}"),
    "dtypes_some": ("{have}; not {lack}", "{have}；{lack} 未覆盖"),
    "dtypes_none": ("no input of {lack}", "{lack} 的输入中均未出现"),
    "unread_files": (
        "{files} inputs come from files, which are not looked into here.",
        "有 {files} 个输入来自文件，此处未读取其内容。",
    ),
    "open": ("What did not pass", "未通过与未判定的用例"),
    "more_cases": ("{count} more cases.", "另有 {count} 个用例。"),
    # --- issue ---
    "issue": (
        "{operators}: {failed} of {total} cases fail",
        "{operators}：{total} 个用例中有 {failed} 个失败",
    ),
    "no_failure": (
        "No case of this run failed: there is nothing to report.",
        "本次运行没有失败的用例，无需提交问题单。",
    ),
    "issue_host": (
        "No operator was run: the failures below are between the cases and the NumPy reference or the contract"
        " (backend host).",
        "未执行算子：以下失败存在于用例与 NumPy 参考实现或算子契约之间（host 后端）。",
    ),
    "steps": ("Steps", "复现步骤"),
    "same_inputs": (
        "The same inputs are made from the seed on any machine; `--inputs-sha256` refuses to run on others.",
        "输入由随机种子生成，在任何机器上都相同；`--inputs-sha256` 会在输入不一致时拒绝运行。",
    ),
    "expected": ("Expected", "预期结果"),
    "seen": ("Seen", "实际结果"),
    "log": ("Log", "日志"),
    "no_log": ("Nothing was printed or logged.", "没有打印或日志输出。"),
    "call": ("Call", "调用"),
    "expected_status": ("status {status} from phase {phase}", "阶段 {phase} 返回 {status}"),
    "expected_message": ("a message that matches `{message}`", "错误信息匹配 `{message}`"),
    "expected_success": ("status 0 in both phases", "两个阶段均返回 0"),
    "expected_output": (
        "{name}: {rule} (standard {standard})",
        "{name}：{rule}（标准 {standard}）",
    ),
    "got_status": ("status {status} from phase {phase}", "阶段 {phase} 返回 {status}"),
    "operators_text": ("the operator's text", "算子的错误信息"),
    "more_failures": (
        "{count} more cases of the run fail; they are left out here.",
        "本次运行另有 {count} 个失败的用例，此处从略。",
    ),
    "and_others": ("{names} and {count} more", "{names} 等 {count} 个"),
}
