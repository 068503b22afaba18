def plot_echo_memory(memory):
    """Plot the echo memory: slots of past spectra, the oldest slot first."""
    import matplotlib.pyplot as plt

    plt.imshow(memory.keys)
    return plt.gcf()
