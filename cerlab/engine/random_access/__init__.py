"""Any answer by its number, without listing those before it.

`by_number` finds the end of an answer by counting, one way for each way in which answers are
iterated; `weights` the answer among those of its end by going down the tECS, which `dag` describes.
"""
