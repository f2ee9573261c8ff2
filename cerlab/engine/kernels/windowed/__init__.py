"""Finding the events that end an answer, and the answers there, without a tECS."""
