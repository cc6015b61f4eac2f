"""Limits that several modules share, each with its reason."""

LARGEST_INTEGER = 2**53 - 1
"""Largest value, and most of them: beyond it neighbouring integers are one and the same float64, so distances would be
wrong, and a device whose numbers are doubles takes none."""

MOST_BITS_SENT = 2**20
"""Values of a unary encoding up to which a device takes a survey: a report has a bit for each, here 1 MB of text."""

COUNT_LIMIT = 2**53
"""Counts in files lie below it: from here on a float64, which counts are added up in, skips numbers."""

MOST_REPORTS = 2**63
"""All reports together lie below it, which whole numbers of 64 bits can count; far more would overflow to infinity."""

MOST_PEOPLE = 10**9
"""People of one survey. Their reports take some gigabytes and minutes; a count beyond it is an error in a file more
often than a population, and would fill the disk before anybody looks."""

MOST_STORED = 20_000_000
"""Entries of a matrix, values times different reports, that are stored where it can be had in pieces too: 160 MB."""

LARGEST_SQUARE = 4096
"""Values up to which a matrix of all against all is made: 128 MB."""
