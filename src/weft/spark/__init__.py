"""Graphs on Apache Spark: blocks of arcs in a cluster's tasks, vertex state in the driver.

Needs pyspark (``pip install 'weft[spark]'``) and Java 17 or newer.
"""

from weft.spark.building import frame, graph

__all__ = ["frame", "graph"]
