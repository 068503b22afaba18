"""Code that runs inside what it confines: the standard library alone, since it must start in milliseconds and the rest
of xkg is not to be had in there."""
