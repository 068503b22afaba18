package ripple

import "math"

// Sampler draws points.
type Sampler struct {
	steps int
}

type Gate interface {
	Opens(x float64) bool
}

// Step is one step.
func (s *Sampler) Step(x float64) float64 {
	return gate(x) + s.scale(x)
}

func (s Sampler) scale(x float64) float64 { return math.Abs(x) }

func gate(x float64) float64 {
	return x * 2
}
