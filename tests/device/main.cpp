// SPDX-License-Identifier: MIT
// main.cpp: ./dev device-check: what a GPU is claimed to do, done on one. A table to stderr, JSON to stdout. With --toy
// the toy models alone, for who watches them.
#include <filesystem>
#include <string_view>

#include "check.hpp"
#include "limits.hpp"

using namespace device_check;

namespace {

int check_all() {
  report r;
  double peak = 0;
  if (!r.part("machine", limits::machine, [&] { peak = check_machine(r); })) return r.end();
  r.part("toy", limits::toy, [&] { r.check("toy_models", toy_holds()); });
  r.text("cpu", cpu_name());
  const std::vector<u32> prompt = random_model::ids(40, program<M, F32>::vocab);
  random_model::tensors t;
  answer q8_0, bf16;
  const bool answered = r.part("answers_of_the_cpu", limits::answers_of_the_cpu, [&] {
    t = random_weights();
    q8_0 = cpu_answer_q8_0(t, prompt, 64), bf16 = cpu_answer_bf16(t, prompt, 64);
  });
  if (!answered) return r.end();
  r.part("q8_0", limits::format, [&] { check_q8_0(r, t, q8_0, prompt, peak); });
  r.part("bf16", limits::format, [&] { check_bf16(r, t, bf16, prompt, peak); });
  r.part("jitter", limits::jitter, [&] { check_jitter(r, t, prompt); });
  check_sanitizers(r, std::filesystem::read_symlink("/proc/self/exe").string());
  check_peer(r);
  return r.end();
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count > 1 && std::string_view(words[1]) == "--toy") return toy_holds() ? 0 : 1;
    return check_all();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "device-check: %s\n", e.what());
    return 1;
  }
}
