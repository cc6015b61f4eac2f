"""Theory of what can be known, from a mechanism alone and from the reports at hand; one noun a file."""
