"""The error catalogue."""
