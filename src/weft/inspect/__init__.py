"""Reports on programs, graphs and machines: explain, memory estimates, doctor."""
