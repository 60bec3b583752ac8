"""A stand-in for pyACL on the simulated CANN: its names, positional arguments and return conventions.

Calls that create or get something return a tuple with the return code last, all others the bare return code.
Handles and pointers are plain integers. There are no constants and nothing of aclnn, as in the real module.
SIM_ACL_WITHOUT="finalize_reference,rt.set_sys_param_opt" removes names, as an older CANN lacks them.
"""

import ctypes as _ct
import os as _os
import sys as _sys
import types as _types

try:
    # The real module keeps the interpreter locked except in the blocking synchronisations.
    _locked = _ct.PyDLL("libascendcl.so", mode=_ct.RTLD_GLOBAL)
    _unlocked = _ct.CDLL("libascendcl.so", mode=_ct.RTLD_GLOBAL)
except OSError as _error:
    raise ImportError(str(_error)) from None

_POINTER, _SIZE, _INT, _UINT, _LONG, _ULONG = (
    _ct.c_void_p, _ct.c_size_t, _ct.c_int32, _ct.c_uint32, _ct.c_int64, _ct.c_uint64,
)  # fmt: skip
_TEXT = _ct.c_char_p


def _module(name):
    module = _types.ModuleType(f"acl.{name}")
    _sys.modules[f"acl.{name}"] = module
    return module


rt = _module("rt")
util = _module("util")
op = _module("op")


class _Out:
    def __init__(self, kind):
        self.kind = kind


def _convert(kind, value, name):
    if kind is _TEXT:
        if not isinstance(value, str):
            raise TypeError(f"{name} args parse failed")
        return value.encode()
    if not isinstance(value, int):  # None and floats are no handles
        raise TypeError(f"{name} args parse failed")
    return kind(value)  # without an overflow check, like the real one


def _function(path, c_name, *parameters, optional=0, releases=False):
    """Binds acl.`path` to `c_name`: inputs are taken from the caller, outputs are returned before the code."""
    name = f"acl.{path}"
    raw = getattr(_unlocked if releases else _locked, c_name)
    raw.restype = _INT
    inputs = [kind for kind in parameters if not isinstance(kind, _Out)]

    def call(*args):
        if not len(inputs) - optional <= len(args) <= len(inputs):
            raise TypeError(f"{name} args parse failed")
        given = iter(args)
        converted, outputs = [], []
        for kind in parameters:
            if isinstance(kind, _Out):
                outputs.append(kind.kind())
                converted.append(_ct.byref(outputs[-1]))
            else:
                value = next(given, None)
                missing = value is None and (kind is _TEXT or len(args) < len(inputs))
                converted.append(None if missing and optional else _convert(kind, value, name))
        code = raw(*converted)
        if not outputs:
            return code
        values = [out.value if out.value is not None else 0 for out in outputs]
        return (*values, code)

    _bind(path, call)


def _bind(path, call):
    if path in _os.environ.get("SIM_ACL_WITHOUT", "").split(","):
        return
    module, _, short = path.rpartition(".")
    call.__name__ = short
    setattr({"": _sys.modules[__name__], "rt": rt, "util": util, "op": op}[module], short, call)


_function("init", "aclInit", _TEXT, optional=1)
_function("finalize", "aclFinalize")
_function("finalize_reference", "aclFinalizeReference", _Out(_ULONG))
_function("get_version", "aclrtGetVersion", _Out(_INT), _Out(_INT), _Out(_INT))
_function("get_device_capability", "aclGetDeviceCapability", _UINT, _INT, _Out(_LONG))
_function("get_cann_attribute", "aclGetCannAttribute", _INT, _Out(_INT))

_function("rt.set_device", "aclrtSetDevice", _INT)
_function("rt.reset_device", "aclrtResetDevice", _INT)
_function("rt.reset_device_force", "aclrtResetDeviceForce", _INT)
_function("rt.get_device", "aclrtGetDevice", _Out(_INT))
_function("rt.get_device_count", "aclrtGetDeviceCount", _Out(_UINT))
_function("rt.get_run_mode", "aclrtGetRunMode", _Out(_INT))
_function("rt.get_device_info", "aclrtGetDeviceInfo", _UINT, _INT, _Out(_LONG))
_function("rt.create_context", "aclrtCreateContext", _Out(_POINTER), _INT)
_function("rt.destroy_context", "aclrtDestroyContext", _POINTER)
_function("rt.set_context", "aclrtSetCurrentContext", _POINTER)
_function("rt.get_context", "aclrtGetCurrentContext", _Out(_POINTER))
_function("rt.create_stream", "aclrtCreateStream", _Out(_POINTER))
_function("rt.create_stream_with_config", "aclrtCreateStreamWithConfig", _Out(_POINTER), _UINT, _UINT)
_function("rt.destroy_stream", "aclrtDestroyStream", _POINTER)
_function("rt.destroy_stream_force", "aclrtDestroyStreamForce", _POINTER)
_function("rt.synchronize_stream", "aclrtSynchronizeStream", _POINTER, releases=True)
_function(
    "rt.synchronize_stream_with_timeout", "aclrtSynchronizeStreamWithTimeout", _POINTER, _INT, releases=True
)
_function("rt.synchronize_device", "aclrtSynchronizeDevice", releases=True)
_function("rt.stream_query", "aclrtStreamQuery", _POINTER, _Out(_INT))
_function("rt.stream_wait_event", "aclrtStreamWaitEvent", _POINTER, _POINTER)
_function("rt.malloc", "aclrtMalloc", _Out(_POINTER), _SIZE, _INT)
_function("rt.malloc_align32", "aclrtMallocAlign32", _Out(_POINTER), _SIZE, _INT)
_function("rt.free", "aclrtFree", _POINTER)
_function("rt.malloc_host", "aclrtMallocHost", _Out(_POINTER), _SIZE)
_function("rt.free_host", "aclrtFreeHost", _POINTER)
_function("rt.memcpy", "aclrtMemcpy", _POINTER, _SIZE, _POINTER, _SIZE, _INT)
_function("rt.memcpy_async", "aclrtMemcpyAsync", _POINTER, _SIZE, _POINTER, _SIZE, _INT, _POINTER)
_function("rt.memset", "aclrtMemset", _POINTER, _SIZE, _INT, _SIZE)
_function("rt.memset_async", "aclrtMemsetAsync", _POINTER, _SIZE, _INT, _SIZE, _POINTER)
_function("rt.get_mem_info", "aclrtGetMemInfo", _INT, _Out(_SIZE), _Out(_SIZE))
_function("rt.create_event", "aclrtCreateEvent", _Out(_POINTER))
_function("rt.create_event_with_flag", "aclrtCreateEventWithFlag", _Out(_POINTER), _UINT)
_function("rt.create_event_ex_with_flag", "aclrtCreateEventExWithFlag", _Out(_POINTER), _UINT)
_function("rt.destroy_event", "aclrtDestroyEvent", _POINTER)
_function("rt.record_event", "aclrtRecordEvent", _POINTER, _POINTER)
_function("rt.synchronize_event", "aclrtSynchronizeEvent", _POINTER, releases=True)
_function(
    "rt.synchronize_event_with_timeout", "aclrtSynchronizeEventWithTimeout", _POINTER, _INT, releases=True
)
_function("rt.query_event_status", "aclrtQueryEventStatus", _POINTER, _Out(_INT))
_function("rt.event_elapsed_time", "aclrtEventElapsedTime", _Out(_ct.c_float), _POINTER, _POINTER)
_function("rt.event_get_timestamp", "aclrtEventGetTimestamp", _POINTER, _Out(_ULONG))
_function("rt.set_sys_param_opt", "aclrtSetSysParamOpt", _INT, _LONG)
_function("rt.ctx_set_sys_param_opt", "aclrtCtxSetSysParamOpt", _INT, _LONG)
_function("rt.set_op_execute_time_out", "aclrtSetOpExecuteTimeOut", _UINT)
_function("rt.peek_at_last_error", "aclrtPeekAtLastError", _INT)
_function("rt.get_last_error", "aclrtGetLastError", _INT)


# --- kernels by their type: a library that is opened when it is first used

_late = {}
_ARRAYS = {"D": _LONG, "F": _ct.c_float, "B": _ct.c_uint8}


def _by_type(path, c_name, *parameters, result=_INT):
    """Binds acl.`path`: handles come back bare, as do codes; `result` None gives None. "L" is a list of handles
    without its length, "N" one with it in front, "D", "F" and "B" are lists of numbers with theirs in front."""
    name = f"acl.{path}"

    def call(*args):
        if len(args) != len(parameters):
            raise TypeError(f"{name} args parse failed")
        converted = []
        for kind, value in zip(parameters, args, strict=True):
            if kind in ("L", "N", *_ARRAYS):
                if not isinstance(value, list):
                    raise TypeError("argument is not list")
                if kind in _ARRAYS and not value and path.startswith("op."):
                    raise ValueError(f"{name}: an empty list has no address")
                array = (_ARRAYS.get(kind, _POINTER) * max(len(value), 1))(*value)
                converted += [array] if kind == "L" else [_INT(len(value)), array]
            elif kind is _ct.c_float:
                if not isinstance(value, (int, float)):
                    raise TypeError(f"{name} args parse failed")
                converted.append(kind(value))
            else:
                converted.append(_convert(kind, value, name))
        if "library" not in _late:
            _late["library"] = _ct.PyDLL("libacl_op_executor.so", mode=_ct.RTLD_GLOBAL)
        raw = getattr(_late["library"], c_name)
        raw.restype = result
        made = raw(*converted)
        return made or 0 if result is not None else None

    _bind(path, call)


_by_type("create_tensor_desc", "aclCreateTensorDesc", _INT, "D", _INT, result=_POINTER)
_by_type("destroy_tensor_desc", "aclDestroyTensorDesc", _POINTER, result=None)
_by_type("set_tensor_desc_name", "aclSetTensorDescName", _POINTER, _TEXT, result=None)
_by_type("create_data_buffer", "aclCreateDataBuffer", _POINTER, _SIZE, result=_POINTER)
_by_type("destroy_data_buffer", "aclDestroyDataBuffer", _POINTER)
_by_type("op.create_attr", "aclopCreateAttr", result=_POINTER)
_by_type("op.destroy_attr", "aclopDestroyAttr", _POINTER, result=None)
_by_type("op.set_attr_bool", "aclopSetAttrBool", _POINTER, _TEXT, _ct.c_uint8)
_by_type("op.set_attr_int", "aclopSetAttrInt", _POINTER, _TEXT, _LONG)
_by_type("op.set_attr_float", "aclopSetAttrFloat", _POINTER, _TEXT, _ct.c_float)
_by_type("op.set_attr_string", "aclopSetAttrString", _POINTER, _TEXT, _TEXT)
_by_type("op.set_attr_list_bool", "aclopSetAttrListBool", _POINTER, _TEXT, "B")
_by_type("op.set_attr_list_int", "aclopSetAttrListInt", _POINTER, _TEXT, "D")
_by_type("op.set_attr_list_float", "aclopSetAttrListFloat", _POINTER, _TEXT, "F")
_by_type("op.set_model_dir", "aclopSetModelDir", _TEXT)
_by_type("op.execute_v2", "aclopExecuteV2", _TEXT, "N", "L", "N", "L", _POINTER, _POINTER)


def _nothing(args, name):
    if args:
        raise TypeError(f"acl.{name} args parse failed")


def _text_of(c_name):
    raw = getattr(_locked, c_name)
    raw.restype = _TEXT
    value = raw()
    return None if value is None else value.decode(errors="replace")


def _get_soc_name(*args):
    _nothing(args, "get_soc_name")
    return _text_of("aclrtGetSocName")


def _get_recent_err_msg(*args):
    _nothing(args, "get_recent_err_msg")
    return _text_of("aclGetRecentErrMsg")


class _PackageVersion(_ct.Structure):
    _fields_ = (
        ("version", _ct.c_char * 128),
        ("majorVersion", _ct.c_char * 64),
        ("minorVersion", _ct.c_char * 64),
        ("releaseVersion", _ct.c_char * 64),
        ("patchVersion", _ct.c_char * 64),
        ("reserved", _ct.c_char * 128),
    )


def _get_cann_version(*args):
    if len(args) != 1 or not isinstance(args[0], int):
        raise TypeError("acl.get_cann_version args parse failed")
    found = _PackageVersion()
    code = _locked.aclsysGetCANNVersion(args[0], _ct.byref(found))
    return {name: getattr(found, name).decode() for name, _ in _PackageVersion._fields_[:-1]}, code


def _get_version_str(*args):
    if len(args) != 1 or not isinstance(args[0], str):
        raise TypeError("acl.get_version_str args parse failed")
    text = _ct.create_string_buffer(128)
    code = _locked.aclsysGetVersionStr(args[0].encode(), text)
    return text.value.decode(), code


def _data_type_size(*args):
    if len(args) != 1 or not isinstance(args[0], int):
        raise TypeError("acl.data_type_size args parse failed")
    _locked.aclDataTypeSize.restype = _SIZE
    return _locked.aclDataTypeSize(_INT(args[0]))


def _float16_to_float(*args):
    if len(args) != 1 or not isinstance(args[0], int):
        raise TypeError("acl.float16_to_float args parse failed")
    _locked.aclFloat16ToFloat.restype = _ct.c_float
    return _locked.aclFloat16ToFloat(_ct.c_uint16(args[0]))


def _float_to_float16(*args):
    if len(args) != 1 or not isinstance(args[0], (int, float)):
        raise TypeError("acl.float_to_float16 args parse failed")
    _locked.aclFloatToFloat16.restype = _ct.c_uint16
    return _locked.aclFloatToFloat16(_ct.c_float(args[0]))


def _numpy_to_ptr(*args):
    import warnings

    if len(args) != 1 or not hasattr(args[0], "ctypes"):
        raise TypeError("acl.util.numpy_to_ptr args parse failed")
    warnings.warn("numpy_to_ptr is deprecated, use bytes_to_ptr", Warning, stacklevel=2)
    return args[0].ctypes.data


def _numpy_contiguous_to_ptr(*args):
    import numpy

    if len(args) != 1 or not hasattr(args[0], "ctypes"):
        raise TypeError("acl.util.numpy_contiguous_to_ptr args parse failed")
    array = numpy.ascontiguousarray(args[0])
    return array.ctypes.data, array


def _ptr_to_numpy(*args):
    import warnings

    import numpy

    if len(args) != 3 or not isinstance(args[0], int) or not isinstance(args[1], tuple):
        raise TypeError("acl.util.ptr_to_numpy args parse failed")
    warnings.warn("ptr_to_numpy is deprecated, use ptr_to_bytes", Warning, stacklevel=2)
    pointer, shape, number = args
    dtype = next(numpy.dtype(code) for code in numpy.typecodes["All"] if numpy.dtype(code).num == number)
    count = 1
    for extent in shape:
        count *= extent
    memory = (_ct.c_char * (count * dtype.itemsize)).from_address(pointer)
    return numpy.frombuffer(memory, dtype).reshape(shape)


def _bytes_to_ptr(*args):
    if len(args) != 1:
        raise TypeError("acl.util.bytes_to_ptr args parse failed")
    if not isinstance(args[0], bytes):
        raise ValueError("acl.util.bytes_to_ptr takes bytes")
    return _ct.cast(_TEXT(args[0]), _POINTER).value


def _ptr_to_bytes(*args):
    if len(args) != 2 or not all(isinstance(value, int) for value in args):
        raise TypeError("acl.util.ptr_to_bytes args parse failed")
    return _ct.string_at(args[0], args[1])


for _path, _call in {
    "get_soc_name": _get_soc_name,
    "get_recent_err_msg": _get_recent_err_msg,
    "get_cann_version": _get_cann_version,
    "get_version_str": _get_version_str,
    "data_type_size": _data_type_size,
    "float16_to_float": _float16_to_float,
    "float_to_float16": _float_to_float16,
    "util.numpy_to_ptr": _numpy_to_ptr,
    "util.numpy_contiguous_to_ptr": _numpy_contiguous_to_ptr,
    "util.ptr_to_numpy": _ptr_to_numpy,
    "util.bytes_to_ptr": _bytes_to_ptr,
    "util.ptr_to_bytes": _ptr_to_bytes,
}.items():
    _bind(_path, _call)
del _path, _call
