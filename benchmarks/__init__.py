"""Measurements of weft beside other graph libraries, each result checked."""
