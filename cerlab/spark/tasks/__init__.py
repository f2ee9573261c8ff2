"""What runs inside a task, over Arrow: engines on ranges and on keys; without Spark."""
