"""What can be asked of events: predicates, their truth, their text, their minterms."""
