"""Tracing: user functions are called with proxies and become typed IR."""
