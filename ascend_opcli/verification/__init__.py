"""Judging an output against its golden: standards, one streaming pass of statistics, reports, trust."""
