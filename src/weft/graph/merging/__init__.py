"""Unions and intersections of sorted rows with a traced operator."""
