import argparse


def parse_echo_memory_settings():
    """Settings of the echo memory: slots of past spectra."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--slots", type=int, default=64)
    return parser.parse_args()
