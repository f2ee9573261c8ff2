"""Plans with a window: the events that end an answer come first, then answers enumerated.

`scan` reads a stream by batches, each with the window before it; `program` is the machine as flat
arrays; `evaluation` lists answers, `chains` where runs only gather; `counts` counts them; `ranges`
puts several threads to one stream.
"""
