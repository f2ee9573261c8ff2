"""Configurations of a transducer: followed, merged, listed and counted (SRT Alg. 1)."""
