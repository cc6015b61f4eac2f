"""One file a figure of the paper: each declares an EXPERIMENT."""
