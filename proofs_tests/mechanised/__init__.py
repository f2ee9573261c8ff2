"""The development in Coq, its extracted evaluator, and what breaks its proofs."""
