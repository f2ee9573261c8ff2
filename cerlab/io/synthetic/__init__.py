"""Seeded streams with the schemas of the CORE paper's data sets (CORE App. D).

`stocks`, `homes` and `taxis` make events one by one, for any length, the same for the same seed on
every machine; `event_batches` makes Arrow columns of any of them. `stock_batches` draws the stock
stream by columns, which is how a hundred million events are made.

>>> next(stocks()).attributes["name"]
'RIMM'
>>> next(event_batches(homes(1000), HOMES_SCHEMA)).num_rows
1000
"""

from cerlab.io.synthetic.columns import event_batches, stock_batches
from cerlab.io.synthetic.smart_homes import HOMES_SCHEMA, homes
from cerlab.io.synthetic.stock_market import STOCK_SCHEMA, stocks
from cerlab.io.synthetic.taxi_trips import TAXI_SCHEMA, taxis

__all__ = [
    "HOMES_SCHEMA",
    "STOCK_SCHEMA",
    "TAXI_SCHEMA",
    "event_batches",
    "homes",
    "stock_batches",
    "stocks",
    "taxis",
]
