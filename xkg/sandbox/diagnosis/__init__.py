"""What a failed command lacked, from what it printed and tried: a package, a GPU, data from the network.

May import: the other rooms of sandbox, and what lies below.
"""
