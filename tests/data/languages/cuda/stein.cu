// Copyright (c) The fixture's authors. Licensed under nothing.
// All rights reserved.
#include "stein.cuh"
#include <cuda_runtime.h>

namespace stein {
namespace detail {

// Squared distance of two particles.
template <typename T>
__device__ __forceinline__ T squared_distance(const T* a, const T* b, int width) {
  T total = 0;
  for (int k = 0; k < width; ++k) {
    total += (a[k] - b[k]) * (a[k] - b[k]);  // one coordinate
  }
  return total;
}

__global__ void repulsion_kernel(const float* x, float* out, int n, int width, float h) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (int j = 0; j < n; ++j) {
    out[i] += expf(-squared_distance<float>(x + i * width, x + j * width, width) / h);
  }
}

}  // namespace detail

namespace {
int unnamed_helper(int n) { return LAUNCH_GRID(n); }
}

float median_bandwidth(const float* distances, size_t count) {
  return distances[count / 2];
}

void Ensemble::step(float rate) {
  const float h = median_bandwidth(nullptr, count());
  detail::repulsion_kernel<<<unnamed_helper(3), BLOCK_SIZE>>>(nullptr, nullptr, 3, 2, h);
  release();
}

void Ensemble::release() {}

}  // namespace stein

extern "C" float* stein_create(int n) {
  return reinterpret_cast<float*>(new stein::Ensemble(n));
}
