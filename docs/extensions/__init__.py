"""Directives of the manual."""
