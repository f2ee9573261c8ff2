"""A stream of events to a stream of answers, by Structured Streaming."""
