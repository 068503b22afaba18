package ripple;

import java.util.List;

/** Draws points. */
public class Sampler<T> extends Base {
    static final int MAX_STEPS = 3;

    Sampler(int steps) {
        this.steps = steps;
    }

    /** One step. */
    @Override
    public double step(double x) {
        return gate(x) + Tools.scale(x);
    }

    private double gate(double x) {
        return x * 2;
    }

    interface Gate {
        boolean opens(double x);
    }
}

record Point(double x, double y) {}
