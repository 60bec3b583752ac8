"""The device backend: pyACL for the runtime, ctypes for every aclnn operator, a child process around both."""
