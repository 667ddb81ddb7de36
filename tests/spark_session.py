"""Spark sessions of this machine, for tests and the drivers that they start."""

import os
import sys
import warnings
from pathlib import Path

SOURCE = str(Path(__file__).parents[1] / "src")


def session_on(master: str):
    """Return a session; workers use this Python and this source tree."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYTHONPATH"] = SOURCE
    from pyspark.sql import SparkSession

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return (
            SparkSession.builder.master(master)
            .config("spark.ui.enabled", "false")
            .config("spark.sql.shuffle.partitions", "2")
            .config("spark.executorEnv.PYTHONPATH", SOURCE)
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.log.level", "ERROR")
            .getOrCreate()
        )
