"""FlinkCEP's pattern sequences: its builder, and what they mean (documentation of FlinkCEP).

Reading order: `syntax` (the parts of a sequence), `pattern` (FlinkCEP's words that make them),
`semantics` (its partial matches as one relation). Which are CEL says `cerlab.compile`.
"""

from cerlab.logic.flinkcep.pattern import FlinkPattern, begin
from cerlab.logic.flinkcep.semantics import check_ending, flink_matches

__all__ = ["FlinkPattern", "begin", "check_ending", "flink_matches"]
