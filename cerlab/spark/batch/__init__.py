"""A DataFrame of events to a DataFrame of answers."""
