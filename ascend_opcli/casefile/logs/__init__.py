"""Calls found in logs of op-plugin and CANN."""
