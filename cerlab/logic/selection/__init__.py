"""Selection strategies as operators on sets of answers (FOUND Sec. 4)."""
