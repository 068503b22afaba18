"""What a repair may not do: weaken a test, hollow out code, look where the answer stands.

May import: what lies below build.
"""
