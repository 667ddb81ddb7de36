"""HTML pages and charts."""
