"""Compilation of languages to machines."""

__all__ = ["cel_to_vcea", "pattern", "sremo_to_srt"]
