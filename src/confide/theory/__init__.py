"""What can be known: from a mechanism alone, and from the reports at hand. The paper's theory, one noun a file."""
