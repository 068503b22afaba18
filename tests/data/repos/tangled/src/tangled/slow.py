def kernel(x):
    return even(x) + 10 * odd(x)


def even(n):
    return 1 if n == 0 else odd(n - 1)


def odd(n):
    return 0 if n == 0 else even(n - 1)
