"""The benchmark: the stock market queries of CORE, measured as ratios in one run."""
