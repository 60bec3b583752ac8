"""A CANN in C for the device path of opcli; see README.md in this folder."""
