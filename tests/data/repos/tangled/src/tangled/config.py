import os
import random as rnd

debug = False
depth = 3
depth += 1
_count = 0


def compute(n):
    return sum(range(n))


TABLE = [compute(i) for i in range(depth)]
LIMIT = compute(depth) + len(TABLE)
SEEDED = rnd.Random(LIMIT).random()


def tick():
    global _count
    _count += 1
    return _count


def set_debug(value):
    global debug
    debug = value


print_path = os.sep
if os.sep == "/":

    def separator():
        return print_path
else:

    def separator():
        return "back" + print_path
