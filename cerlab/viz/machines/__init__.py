"""Pictures of automata: as graphs, text, tables over minterms and TikZ."""
