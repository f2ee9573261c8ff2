"""The session of Spark, for examples that need one."""

from proofs_tests.spark.conftest import spark as spark
