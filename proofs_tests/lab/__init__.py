"""The lab: what its page asks is answered as everywhere else, here and in a browser."""
