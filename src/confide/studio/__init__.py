"""Studio: design a survey, take part in it, and look at what comes in, in a browser; see docs/studio.md.

The pages are static files, built from ``web/``; what they ask is answered here, beside a collector, by its server.
"""
