// SPDX-License-Identifier: MIT
// main.cpp: ./dev device-check: what a GPU is claimed to do, done on one. A table to stderr, JSON to stdout; the exit
// status is 1 when a claim does not hold, and 3, with one line, where there is no device. With --toy the toy models
// alone, for those who watch them.
#include <fcntl.h>
#include <sys/mman.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "check.hpp"
#include "driver.hpp"
#include "limits.hpp"
#include "part.hpp"

using namespace device_check;

namespace {

constexpr int no_device = 3;

// In memory that processes share.
template <class T> T& shared() {
  void* const p = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) throw std::runtime_error("no memory for the CPU's answers");
  return *static_cast<T*>(p);
}
struct reason {
  bool asked;
  char text[256];
};
// Why there is nothing to check; "" if there is a device. All that is printed is that.
std::string ask_for_device() {
  reason& why = shared<reason>();
  report unseen;
  unseen.to_pipe(::open("/dev/null", O_WRONLY));
  parts(unseen, limits::machine).run("driver", limits::machine, [&](report&) {
    const std::string text = why_no_device(cuda_of_kernels());
    text.copy(why.text, sizeof why.text - 1), why.asked = true;
  });
  return why.asked ? why.text : "the driver does not answer";
}
std::filesystem::path program_path() { return std::filesystem::read_symlink("/proc/self/exe"); }

template <class Formats> void check_format(report& r, parts& all, const std::string& name,
                                           const random_model::tensors& t, const answer& cpu, double peak) {
  const bool same_bits = std::is_same_v<Formats, Q8_0> && cpu.asked && this_cpu()->has_the_order;
  if (!cpu.asked) r.absent(name + "_logits", "the CPU has no answers to compare with");
  all.run(name + "_answers", limits::answers,
          [&](report& rows) { check_answers<Formats>(rows, name, t, cpu, same_bits); });
  all.run(name + "_speed", limits::speed, [&](report& rows) { check_speed<Formats>(rows, name, t, peak); });
  all.run(name + "_time", limits::time, [&](report& rows) { check_time<Formats>(rows, name, t, peak); });
}

int check_all() {
  if (const std::string why = ask_for_device(); !why.empty()) {
    std::fprintf(stderr, "device-check: no device: %s\n", why.c_str());
    return no_device;
  }
  report r;
  parts all(r, limits::all);
  std::string commit = "unknown";
  std::ifstream(program_path().replace_filename("commit")) >> commit;
  r.text("commit", commit);
  all.run("device", limits::machine, describe_device);
  all.run("read_peak", limits::machine, check_read_peak);
  all.run("launches", limits::machine, check_launches);
  all.run("exchanges", limits::machine, check_exchanges);
  const double peak = r.value("read_peak_gb_per_s");
  all.run("toy", limits::toy, [](report& rows) { rows.check("toy_models", toy_holds()); });
  all.run("lane_copies", limits::lane_copies, check_lane_copies);

  const cpu_half* const half = this_cpu();
  r.text("cpu", half ? half->isa : "neither AVX-512 with VNNI and BF16 nor AVX2");
  const random_model::tensors t = random_weights();
  answer &q8_0 = shared<answer>(), &bf16 = shared<answer>();
  if (half)
    all.run("answers_of_the_cpu", limits::answers_of_the_cpu,
            [&](report&) { half->q8_0(t, q8_0), half->bf16(t, bf16); });
  check_format<Q8_0>(r, all, "q8_0", t, q8_0, peak);
  check_format<BF16>(r, all, "bf16", t, bf16, peak);
  all.run("jitter", limits::jitter, [&](report& rows) { check_jitter(rows, t); });
  all.run("sanitizers", limits::sanitizers * (limits::sanitizer + 3),
          [](report& rows) { check_sanitizers(rows, program_path().string()); });
  all.run("peer", limits::formats * (limits::peer + 3), check_peer);
  std::printf("%s\n", r.json().c_str());
  return r.good() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 1) return check_all();
    if (count == 2 && std::string_view(words[1]) == "--toy") return toy_holds() ? 0 : 1;
    std::fprintf(stderr, "usage: device_check [--toy]\n");
    return 2;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "device-check: %s\n", e.what());
    return 1;
  }
}
