using System.Linq;

namespace Ripple.Core
{
    /// <summary>Draws points.</summary>
    [Serializable]
    public class Sampler<T> : Base
    {
        const int MAX_STEPS = 3;

        public Sampler(int steps) : base(steps) { }

        public int Steps { get; set; }

        public double Step(double x) => Gate(x);

        private double Gate(double x)
        {
            return x * 2;
        }
    }

    public struct Point { }
}
