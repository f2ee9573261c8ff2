"""Any answer by its number, without listing those before it.

`ends` finds the end of an answer by counting, `weights` the answer among those of its end by going
down the tECS, which `dag` describes. `by_number` puts them together, one way for each way in which
answers are iterated.
"""
