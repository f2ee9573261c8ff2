"""Why positions are what a stream shows of a SREMO, and why not (SRT Def. 17; SRT Def. 32).

`explain` asks the question, `search` has one arm per rule of the relation, `chains` what stands one
after another, `leaves` single events, `negation` what must not be there, `windows` the windows, and
`guards` says why a guard fails. `confirm` runs a transducer, and nothing else here knows of one.
"""
