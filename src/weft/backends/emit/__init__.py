"""emit: what the generators of all backends share."""
