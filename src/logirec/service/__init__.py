"""Recommendations over HTTP."""
