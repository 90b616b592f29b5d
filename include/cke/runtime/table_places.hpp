// SPDX-License-Identifier: MIT
// table_places.hpp: which rows of a learned table of positions the patches of an image take, with which weights.
#pragma once

#include <cmath>
#include <vector>

#include "image_rows.hpp"

CKE_COLD_BEGIN
namespace cke::runtime {

// What the n places of an axis take of a table of `side`: `taps` rows each.
class axis_places {
 public:
  struct tap {
    u32 row{};
    float weight{};
  };
  axis_places(position_rule rule, u32 side, u32 n) {
    if (rule == position_rule::bilinear) between(side, n);
    else if (rule == position_rule::resized) resized(side, n);
    else if (rule == position_rule::bucketed) bucketed(side, n);
    else
      for (u32 i = 0; i < n; ++i) all_.push_back({i, 1.f});
  }
  u32 taps() const { return taps_; }
  const tap& at(u32 i, u32 k) const { return all_[u64{i} * taps_ + k]; }

 private:
  // The ends of the axis are those of the table: torch.linspace(0, side - 1, n), in f32. Its ends are exact, and the
  // second half is counted from the end.
  void between(u32 side, u32 n) {
    taps_ = 2;
    const float last = static_cast<float>(side - 1), step = n > 1 ? last / static_cast<float>(n - 1) : 0;
    for (u32 i = 0; i < n; ++i) {
      const float x = i < n / 2 || n == 1 ? step * static_cast<float>(i) : last - step * static_cast<float>(n - 1 - i);
      const u32 low = static_cast<u32>(x);
      const float rest = x - static_cast<float>(low);
      all_.push_back({low, 1 - rest}), all_.push_back({std::min(low + 1, side - 1), rest});
    }
  }
  // The table resized to n by triangles, as torch's interpolate does with antialias and without align_corners.
  void resized(u32 side, u32 n) {
    const float scale = static_cast<float>(side) / static_cast<float>(n), reach = std::max(scale, 1.f);
    taps_ = std::min(side, 2 * static_cast<u32>(std::ceil(reach)) + 1);
    for (u32 i = 0; i < n; ++i) {
      const float centre = scale * (static_cast<float>(i) + 0.5f);
      const u32 first = static_cast<u32>(std::max(centre - reach + 0.5f, 0.f));
      const u32 end = std::min(static_cast<u32>(centre + reach + 0.5f), side);
      float sum = 0;
      for (u32 k = 0; k < taps_; ++k) {
        const float away = std::abs((static_cast<float>(first + k) - centre + 0.5f) / reach);
        const bool in = first + k < end;
        all_.push_back({in ? first + k : first, in && away < 1 ? 1 - away : 0.f});
        sum += all_.back().weight;
      }
      for (u32 k = 0; k < taps_; ++k) all_[u64{i} * taps_ + k].weight /= sum;
    }
  }
  // The bucket of i / n among `side` equal ones, with the roundings of torch.arange and torch.bucketize.
  void bucketed(u32 side, u32 n) {
    const double width = 1. / side;
    const u32 bounds = static_cast<u32>(std::ceil((1 - width) / width));
    for (u32 i = 0; i < n; ++i) {
      const float x = std::min(static_cast<float>(i) * static_cast<float>(1. / n), static_cast<float>(1 - 1e-6));
      u32 bucket = 0;
      while (bucket < bounds && static_cast<float>(width + bucket * width) <= x) ++bucket;
      all_.push_back({std::min(bucket, side - 1), 1.f});
    }
  }

  u32 taps_ = 1;
  std::vector<tap> all_;
};

// The places of an image's patches in a learned table.
class table_places {
 public:
  table_rows of(const positions_params& p, patch_grid g, patch_order order) {
    const bool by_axis = p.rule == position_rule::by_axis;
    const u32 side = by_axis ? p.rows / 2 : p.rule == position_rule::sequence ? p.rows : whole_root(p.rows);
    const axis_places ys(p.rule, side, g.height), xs(p.rule, side, g.width);
    const u32 taps = by_axis ? 2 : ys.taps() * xs.taps();
    index_.resize(u64{taps} * g.patches()), weight_.resize(index_.size());
    for (u32 t = 0; t < g.patches(); ++t) {
      const patch_place at = order.place_of(g, t);
      u32* index = &index_[u64{taps} * t];
      float* weight = &weight_[u64{taps} * t];
      if (by_axis) {
        index[0] = at.x, index[1] = side + at.y, weight[0] = weight[1] = 1;
        continue;
      }
      for (u32 i = 0; i < ys.taps(); ++i)
        for (u32 k = 0; k < xs.taps(); ++k) {
          const auto y = ys.at(at.y, i), x = xs.at(at.x, k);
          *index++ = y.row * side + x.row, *weight++ = y.weight * x.weight;
        }
    }
    return {index_.data(), weight_.data(), taps};
  }

 private:
  plain_list<u32> index_;
  plain_list<float> weight_;
};

}  // namespace cke::runtime
CKE_COLD_END
