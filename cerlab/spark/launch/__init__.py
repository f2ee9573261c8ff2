"""A session of Spark, and a Java for it."""
