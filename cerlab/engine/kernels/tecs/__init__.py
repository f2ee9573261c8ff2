"""The tECS over flat arrays, with the operations of `engine.reference.tecs` (CORE Sec. 4.1)."""
