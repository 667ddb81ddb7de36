"""What a program, a graph or a machine is made of: explain, memory estimates, doctor."""
