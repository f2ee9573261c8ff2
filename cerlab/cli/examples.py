"""What stands at the end of ``--help``: examples of each command."""

from __future__ import annotations

EXAMPLES = {
    "run": """
  cerlab run "BUY ; SELL" trades.csv
  cerlab run "SELECT * WHERE BUY AS b ; SELL AS s WITHIN 10 SECONDS" trades.csv --time t:s \\
      --columns b.price,s.price --format csv
  cerlab run "SELECT COUNT(*), MAX(s.price) WHERE BUY ; SELL AS s GROUP BY end" trades.csv
  tail -f trades.ndjson | cerlab run "BUY ; SELL" -
""",
    "check": """
  cerlab check "BUY ; SELL FILTER SELL[price > 3 AND price < 2]"
""",
    "show": """
  cerlab show "BUY ; SELL" --what cea
  cerlab show "BUY+ ; SELL" --what det --format svg -o machine.svg
  cerlab show "BUY ; SELL" trades.csv
""",
    "equivalent": """
  cerlab equivalent "(A ; B) ; C" "A ; (B ; C)"
""",
    "contained": """
  cerlab contained "A : B" "A ; B"
""",
    "why": """
  cerlab why "BUY ; SELL" trades.csv
  cerlab why "BUY ; SELL" trades.csv --positions 0,1
""",
    "convert": """
  cerlab convert trades.csv trades.parquet
  cerlab convert trades.csv - --to ndjson
""",
    "explain": """
  cerlab explain CER0802
""",
    "lab": """
  cerlab lab --no-browser
""",
    "fmt": """
  cerlab fmt "select * where A as x within 3 events"
""",
    "demo": """
  cerlab demo
""",
    "completion": """
  eval "$(cerlab completion bash)"
  cerlab completion zsh > ~/.zsh/completions/_cerlab
""",
}
"""By command; those that are not here have theirs among their own words."""
