#pragma once
#include <cstddef>

#define BLOCK_SIZE 256
#define LAUNCH_GRID(n) (((n) + BLOCK_SIZE - 1) / BLOCK_SIZE)

namespace stein {

/// Bandwidth of the kernel by the median heuristic.
float median_bandwidth(const float* distances, size_t count);

/**
 * An ensemble of particles on the device.
 */
class STEIN_API Ensemble : public Base<float> {
 public:
  explicit Ensemble(size_t count) : count_(count) {}
  ~Ensemble() { release(); }

  /// Moves all particles along the Stein direction.
  void step(float rate);

  size_t count() const { return count_; }
  Ensemble& operator+=(const Ensemble& other) { return merge(other); }

 private:
  void release();
  Ensemble& merge(const Ensemble& other);
  size_t count_;
};

template <typename T, int Width = 4>
struct Tile {
  T values[Width];
  __device__ T sum() const {
    T total = 0;
    for (int i = 0; i < Width; ++i) total += values[i];
    return total;
  }
};

}  // namespace stein
