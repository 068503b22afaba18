<?php
namespace Ripple;

use Other\Tool;

/** Draws points. */
abstract class Sampler extends Base
{
    const MAX_STEPS = 3;

    public function step(float $x): float
    {
        return $this->gate($x);
    }

    private function gate($x) { return $x * 2; }
}

function scale($x)
{
    return $x;
}
