"""Present an answer: one summary; renderers for terminal, page and studio."""
