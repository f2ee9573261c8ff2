"""The exit statuses (DESIGN 2.2)."""

OK, NO, BAD, UNDECIDED, INTERRUPTED, INTERNAL = 0, 1, 2, 3, 130, 70
