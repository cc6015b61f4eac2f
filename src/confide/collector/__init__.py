"""Collector: from devices to counts, each report exactly once; see docs/collector.md.

>>> from confide.collector import Client
>>> Client("http://127.0.0.1:8000")
Client(url='http://127.0.0.1:8000', patience=60.0)
"""

from confide.collector.client import Client, CollectorError, Receipt, to_counts_file, write_message
