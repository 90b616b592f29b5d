// SPDX-License-Identifier: MIT
// without_kernels.cpp: the program without what nvcc compiles, to test what it does on a machine without a device.
#include "check.hpp"
#include "driver.hpp"

namespace device_check {

namespace {

[[noreturn]] void none() { throw std::runtime_error("this program was made without kernels"); }

}  // namespace

int cuda_of_kernels() { return 0; }
void describe_device(report&) { none(); }
void check_read_peak(report&) { none(); }
void check_launches(report&) { none(); }
void check_exchanges(report&) { none(); }
void check_jitter(report&, const random_model::tensors&) { none(); }
bool toy_holds() { none(); }
void check_lane_copies(report&) { none(); }
const cpu_half* this_cpu() { return nullptr; }
random_model::tensors random_weights() { return {}; }
template <class Formats> void check_answers(report&, const std::string&, const random_model::tensors&, const answer&,
                                            bool) {
  none();
}
template <class Formats> void check_speed(report&, const std::string&, const random_model::tensors&, double) { none(); }
template <class Formats> void check_time(report&, const std::string&, const random_model::tensors&, double) { none(); }
template void check_answers<Q8_0>(report&, const std::string&, const random_model::tensors&, const answer&, bool);
template void check_answers<BF16>(report&, const std::string&, const random_model::tensors&, const answer&, bool);
template void check_speed<Q8_0>(report&, const std::string&, const random_model::tensors&, double);
template void check_speed<BF16>(report&, const std::string&, const random_model::tensors&, double);
template void check_time<Q8_0>(report&, const std::string&, const random_model::tensors&, double);
template void check_time<BF16>(report&, const std::string&, const random_model::tensors&, double);

}  // namespace device_check
