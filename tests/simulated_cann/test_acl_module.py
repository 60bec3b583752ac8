"""The stand-in `acl` module keeps pyACL's names and conventions, and the device its rules about streams and events."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

from .build import CannRoot, env, install_package, install_vendor

if TYPE_CHECKING:
    from pathlib import Path

    from .conftest import Run


def test_tuples_end_with_the_code_and_other_calls_are_bare_codes(run: Run) -> None:
    ran = run(
        """
        found = [acl.init(), acl.rt.set_device(0), acl.rt.get_device(), acl.rt.get_device_count()]
        found += [acl.rt.get_run_mode()]
        found += [acl.get_version(), acl.get_soc_name(), acl.get_recent_err_msg(), acl.get_device_capability(0, 1)]
        found += [acl.get_cann_attribute(1), acl.data_type_size(27), acl.data_type_size(38), acl.float_to_float16(1.5)]
        found += [acl.float16_to_float(0x3E00), acl.get_version_str("runtime"), acl.get_cann_version(0)[1]]
        found += [acl.get_cann_version(0)[0]["version"], acl.rt.set_sys_param_opt(0, 1), acl.rt.stream_query(0)]
        attr = acl.op.create_attr()
        found += [acl.op.set_attr_list_float(attr, "f", [1.5, 2]), acl.op.set_attr_list_bool(attr, "b", [1, 0])]
        acl.op.destroy_attr(attr)
        found += [acl.rt.synchronize_stream(0), acl.rt.synchronize_device(), acl.rt.reset_device(0), acl.finalize()]
        answer(found)
        """
    )
    assert ran.answer == [
        0, 0, [0, 0], [1, 0], [1, 0], [1, 17, 0, 0], "Ascend910B2", None, [48, 0], [1, 0], 2, 8, 0x3E00, 1.5,
        ["9.1.0", 0], 0, "9.1.0", 0, [0, 0], 0, 0, 0, 0, 0, 0,
    ]  # fmt: skip


def test_bad_arguments_raise_pyacls_type_error(run: Run) -> None:
    ran = run(
        """
        def error(function, *args, **kwargs):
            try:
                function(*args, **kwargs)
            except (TypeError, ValueError) as raised:
                return f"{type(raised).__name__}: {raised}"
        p = -1
        answer([error(acl.rt.set_device), error(acl.rt.set_device, None),
                error(acl.rt.malloc, 64), error(acl.rt.free, 1.5),
                error(acl.rt.memcpy, 1, 2, 3, 4, 5, 6), error(acl.init, 3), error(acl.get_soc_name, 1),
                error(acl.util.bytes_to_ptr, "text"), error(acl.rt.free, ptr=3) is not None, acl.rt.free(p)])
        """
    )
    assert ran.answer == [
        "TypeError: acl.rt.set_device args parse failed",
        "TypeError: acl.rt.set_device args parse failed",
        "TypeError: acl.rt.malloc args parse failed",
        "TypeError: acl.rt.free args parse failed",
        "TypeError: acl.rt.memcpy args parse failed",
        "TypeError: acl.init args parse failed",
        "TypeError: acl.get_soc_name args parse failed",
        "ValueError: acl.util.bytes_to_ptr takes bytes",
        True,
        107000,
    ]


def test_util(run: Run) -> None:
    ran = run(
        """
        import warnings
        a = np.arange(6, dtype=np.float32).reshape(2, 3)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            p = acl.util.numpy_to_ptr(a)
            view = acl.util.ptr_to_numpy(p, (2, 3), a.dtype.num)
        view[0, 0] = 9
        q, kept = acl.util.numpy_contiguous_to_ptr(a.T)
        data = b"abc"
        answer([p == a.ctypes.data, a[0, 0] == 9, len(seen), q == kept.ctypes.data, kept.flags.c_contiguous,
                acl.util.ptr_to_bytes(acl.util.bytes_to_ptr(data), 3) == data])
        """.replace("a[0, 0] == 9", "bool(a[0, 0] == 9)")
    )
    assert ran.answer == [True, True, 2, True, True, True]


def test_names_can_be_missing_as_in_an_older_cann(run: Run) -> None:
    ran = run(
        "answer([hasattr(acl, 'finalize_reference'), hasattr(acl.rt, 'set_sys_param_opt'), hasattr(acl, 'finalize')])",
        SIM_ACL_WITHOUT="finalize_reference,rt.set_sys_param_opt",
    )
    assert ran.answer == [False, False, True]


def test_without_the_library_path_the_import_fails_as_the_real_one_does(cann: CannRoot) -> None:
    variables = {**os.environ, **env(cann), "LD_LIBRARY_PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", "import acl"], env=variables, capture_output=True, text=True, check=False
    )
    assert "ImportError: libascendcl.so: cannot open shared object file" in done.stderr


def test_visible_devices_are_renumbered(run: Run) -> None:
    script = "acl.init()\nanswer([acl.rt.get_device_count()[0], acl.rt.set_device(1)])"
    assert run(script, SIM_CANN_DEVICES="4").answer == [4, 0]
    assert run(script, SIM_CANN_DEVICES="4", ASCEND_RT_VISIBLE_DEVICES="2").answer == [1, 107001]
    assert run(script, SIM_CANN_DEVICES="4", ASCEND_RT_VISIBLE_DEVICES="1,3").answer == [2, 0]
    assert run(script, SIM_CANN_DEVICES="4", ASCEND_RT_VISIBLE_DEVICES="1,9,2").answer == [1, 107001]
    assert run(script, SIM_CANN_DEVICES="0").answer == [0, 107001]


def test_streams_wait_for_events_of_other_streams(run: Run) -> None:
    ran = run(
        """
        one, two = start(), got(acl.rt.create_stream())
        x, y = tensor([-1.0, 2.0]), tensor([0.0, 0.0])
        z = tensor([9.0, 9.0])
        event, late = got(acl.rt.create_event()), got(acl.rt.create_event())
        host = np.float32([-5, 6])
        ok(acl.rt.memcpy_async(x.pointer, 8, host.ctypes.data, 8, 1, one))
        ok(phase2("aclnnRelu", 0, 0, phase1("aclnnRelu", x, y)[2], one))
        ok(acl.rt.record_event(event, one))
        ok(acl.rt.stream_wait_event(two, event))
        ok(phase2("aclnnInplaceAdd", 0, 0, phase1("aclnnInplaceAdd", z, y, scalar(1.0))[2], two))
        ok(acl.rt.memset_async(x.pointer, 8, 0, 8, two))
        ok(acl.rt.record_event(late, two))
        states = [acl.rt.synchronize_stream(two), acl.rt.query_event_status(event)]
        states.append(acl.rt.event_elapsed_time(event, late)[1])
        stamps = [got(acl.rt.event_get_timestamp(e)) for e in (event, late)]
        answer([states, z.view().tolist(), x.view().tolist(), stamps[0] <= stamps[1]])
        """,
        SIM_CANN_TIME="aclnnRelu=5ms",
    )
    assert ran.answer == [[0, [1, 0], 0], [9, 15], [0, 0], True]
    assert ran.faults == []


def test_a_custom_package_and_one_that_shadows_an_operator(cann: CannRoot, run: Run, tmp_path: Path) -> None:
    custom = install_package(cann, "add_custom", tmp_path / "custom")
    assert (custom / "op_api/include/aclnn_add_custom.h").is_file()
    vendor = install_vendor(cann, "shadow", tmp_path / "opp", "first")
    install_vendor(cann, "add_custom", tmp_path / "opp", "second")
    assert (tmp_path / "opp/vendors/config.ini").read_text() == "load_priority=second,first\n"
    ran = run(
        f"""
        stream = start()
        x, out = tensor([0.5, 0.5]), tensor([0.0, 0.0])
        operators.insert(0, ctypes.CDLL({str(custom / "op_api/lib/libcust_opapi.so")!r}))
        codes = [call(stream, "aclnnAddCustom", x, x, out), out.view().tolist()]
        codes += [call(stream, "aclnnLogitGrad", x, x, f64(-1), out), out.view().tolist()]
        operators.insert(0, ctypes.CDLL({str(vendor / "op_api/lib/libcust_opapi.so")!r}))
        codes += [call(stream, "aclnnLogitGrad", x, x, f64(-1), out), out.view().tolist()]
        answer(codes)
        """
    )
    assert ran.answer == [[0, 0, 0], [1, 1], [0, 0, 0], [2, 2], [0, 0, 0], [42, 42]]


def test_the_new_name_of_the_runtime_library_shares_its_state(run: Run) -> None:
    ran = run(
        """
        ok(acl.init())
        other = ctypes.CDLL(str(LIB64 / "libacl_rt.so"))
        answer(other.aclInit(None))
        """
    )
    assert ran.answer == 100002
