"""The manual: it builds without a warning, is complete, and answers questions."""
