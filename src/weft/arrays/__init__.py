"""Arrays on hosts and devices: where they live, how they are filled and reduced."""
