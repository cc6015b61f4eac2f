"""What can be known from a mechanism and its reports, by the paper's theorems."""
