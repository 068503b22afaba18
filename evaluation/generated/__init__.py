"""Generated inputs of benchmarks: a paper with its repository, graphs of any size, graphs perturbed from real ones."""
