"""Studio: design surveys and watch results in a browser; see docs/studio.md.

The pages are static files, built from ``web/``. A collector's server answers their requests with this package.
"""
