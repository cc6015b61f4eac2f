"""The command line: parse, call the library, show what it returns. One command a file, joined in main."""
