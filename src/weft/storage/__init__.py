"""Caches: files kept between processes, and caches in memory."""
