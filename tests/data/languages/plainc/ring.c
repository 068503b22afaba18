#include "ring.h"
#include <stdlib.h>

struct ring {
    double values[16];
    int head;
};

static int wrap(int at) { return at % 16; }

int ring_push(struct ring *r, double value)
{
    r->values[wrap(r->head++)] = value;
    return 0;
}

double *ring_data(struct ring *r) { return r->values; }
