#ifndef RING_H
#define RING_H

/* Adds one value; the oldest falls out. */
int ring_push(struct ring *r, double value);

typedef struct {
    double *values;
    int head;
} cursor_t;

#endif
