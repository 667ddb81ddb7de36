"""The reference backend: the interpreter as a device, slow and by definition right."""
