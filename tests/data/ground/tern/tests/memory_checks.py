from tern.memory import EchoMemory


def check_echo_memory_overwrites_oldest_slot():
    """The echo memory overwrites its oldest slot with past spectra."""
    memory = EchoMemory(2, 3)
    memory.write([1, 2, 3])
    assert memory.ages[0] == 0
