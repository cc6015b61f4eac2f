"""Present an answer: a summary says it once, and renderers show it on a terminal, on a page and in the studio."""
