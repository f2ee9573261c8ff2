"""Other engines against the reference, and cases made smaller."""
