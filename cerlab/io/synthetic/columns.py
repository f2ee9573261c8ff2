"""Synthetic streams as Arrow record batches, drawn or collected batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from cerlab.io.synthetic.stock_market import LONGEST_GAP_MS, OPENING_MS, STOCKS, TIES
from cerlab.model.event import Event
from cerlab.model.schema import AttributeType, Schema

_LOTS = (
    *(100, 100, 100, 100, 100, 100, 150, 200, 200, 300, 300, 400, 500, 500),
    *(600, 800, 1000, 1000, 2000, 4000),
)
"""Volumes, each as often as it is listed."""

BATCH = 1 << 17
"""How many events a record batch has, by default."""


def event_batches(events: Iterable[Event], schema: Schema, *, batch: int = BATCH) -> Iterator[Any]:
    """The events as pyarrow RecordBatches of at most `batch` rows, made as they are asked for.

    Columns: ``type`` and the attributes that `schema` declares, texts as dictionaries; what an
    event lacks is NULL. Memory is that of one batch.
    """
    import pyarrow as pa

    arrow_types = {AttributeType.INT: pa.int64(), AttributeType.DOUBLE: pa.float64()}
    arrow_types |= {AttributeType.BOOLEAN: pa.bool_(), AttributeType.TIMESTAMP: pa.timestamp("ns")}
    types = {attribute.name: attribute.type for attribute in schema.attributes()}
    rows = iter(events)
    while chunk := tuple(islice(rows, batch)):
        columns = {"type": _texts([event.type for event in chunk])}
        for name, kind in types.items():
            values = [event.attributes.get(name) for event in chunk]
            text = kind is AttributeType.STRING
            columns[name] = _texts(values) if text else pa.array(values, arrow_types[kind])
        yield pa.record_batch(columns)


def _texts(values: list[Any]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.string()).dictionary_encode()


def stock_batches(count: int, *, batch: int = BATCH, seed: int = 7) -> Iterator[Any]:
    """BUY and SELL events of ten stocks as pyarrow RecordBatches of at most `batch` rows.

    The schema and the habits of `stocks`, drawn by NumPy: some millions of events a second, memory
    that of one batch, so a hundred million pass in bounded memory. The same for the same seed
    whatever the batch, but other events than those of `stocks`: there are larger lots (Q7 of the
    CORE paper asks for one of 4000), and prices walk between reflecting walls five per cent around
    the opening price, so that filters on them hold as often at the end of a long stream.
    """
    import numpy as np
    import pyarrow as pa

    rng = np.random.Generator(np.random.PCG64(seed))
    shares = np.cumsum([share for share, _ in STOCKS.values()])
    types, names = pa.array(["BUY", "SELL"]), pa.array(list(STOCKS))
    walks = [_Walk(price) for _, price in STOCKS.values()]
    lots = np.array(_LOTS, np.int64)
    identity, time = 0, OPENING_MS
    for start in range(0, count, batch):
        rows = rng.random((min(batch, count - start), 7))  # row by row, so no batch can tell
        kind, stock, lot, gap, tie, skip, step = rows.T
        stocks = np.searchsorted(shares[:-1], stock, side="right").astype(np.int8)
        ids = identity + np.cumsum(1 + (skip * 4).astype(np.int64))
        gaps = np.where(tie >= TIES, 1 + (gap * LONGEST_GAP_MS).astype(np.int64), 0)
        times = time + np.cumsum(gaps)
        prices = np.empty(len(rows))
        for k, walk in enumerate(walks):
            here = np.flatnonzero(stocks == k)
            prices[here] = walk.prices(step[here])
        identity, time = int(ids[-1]), int(times[-1])
        yield pa.record_batch(
            {
                "type": pa.DictionaryArray.from_arrays((kind >= 0.5).astype(np.int8), types),
                "id": ids,
                "name": pa.DictionaryArray.from_arrays(stocks, names),
                "volume": lots[(lot * len(_LOTS)).astype(np.int64)],
                "price": prices,
                "stock_time": times,
            }
        )


class _Walk:
    """The price of one stock: a walk in steps of whole ticks between two reflecting walls.

    Integers, because their sums are the same however a stream is cut into batches.
    """

    _TICKS_PER_DOLLAR = 10_000

    def __init__(self, opening: float) -> None:
        ticks = round(opening * self._TICKS_PER_DOLLAR)
        self._longest = ticks // 1000
        self._low = ticks - ticks // 20
        self._width = 2 * (ticks // 20)
        self._at = ticks // 20

    def prices(self, draws: Any) -> Any:
        """Dollars after each step; `draws` are uniform in [0, 1)."""
        import numpy as np

        steps = (draws * (2 * self._longest + 1)).astype(np.int64) - self._longest
        walk = self._at + np.cumsum(steps)
        if len(walk):
            self._at = int(walk[-1])
        offsets = np.abs((walk + self._width) % (2 * self._width) - self._width)
        return (self._low + offsets) / self._TICKS_PER_DOLLAR
