"""Evidence: reports as they were counted, laid against a channel, and certificates of how near the maximum is."""
