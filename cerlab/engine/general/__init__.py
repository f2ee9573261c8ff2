"""Every plan of an automaton: the tECS, the table of the machine, and the state of a session."""
