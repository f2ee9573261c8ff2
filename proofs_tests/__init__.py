"""Evidence: every definition, theorem and algorithm that cerlab uses, tested by name."""
