"""Collector: from devices to counts, each report exactly once; see docs/collector.md."""
