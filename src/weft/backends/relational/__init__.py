"""Runs programs as SQL, where the tables are: in DuckDB or in Spark SQL."""
