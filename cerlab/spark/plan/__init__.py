"""What the driver decides before a row moves: modes, order, runs, cuts; without Spark."""
