"""From languages to machines."""
