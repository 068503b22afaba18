cimport numpy as np
from libc.math cimport exp

cdef double EPS = 1e-8

cdef inline double gate(double x, double[:, :] z=None) nogil:
    """Opens where x is small."""
    cdef double s = <double> 0
    return s + exp(x)

cpdef np.ndarray[double, ndim=2] draw(np.ndarray[double, ndim=2] a not None,
                                      int n=3) except *:
    return gate(a[0, 0])

cdef class Sampler(Base):
    cdef public int steps

    def __init__(self, int steps):
        self.steps = steps

    cdef double step(self, double x) except -1:
        return gate(x)
