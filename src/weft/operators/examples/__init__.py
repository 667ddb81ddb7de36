"""Ten graph algorithms written with frontier operators, each in fewer than thirty lines."""
