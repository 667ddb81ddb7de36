"""What several algorithms share, and parts of algorithms with files of their own."""
