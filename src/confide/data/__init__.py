"""Data: values, reports and counts in files, frames and databases."""
