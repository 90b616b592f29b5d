// SPDX-License-Identifier: MIT
// peer.cpp: llama.cpp's CUDA build on the same device, where somebody has put one: nothing is fetched or built here.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "check.hpp"
#include "command.hpp"
#include "limits.hpp"

namespace device_check {

namespace {

// What llama-bench says of a model, row by row; why there is nothing to be said, otherwise.
std::string ask_peer(report& r, const std::string& bench, const std::string& name, const std::string& model) {
  if (bench.empty()) return "no llama-bench: it is looked for in CKE_LLAMA_BENCH and PATH";
  if (!std::filesystem::exists(model)) return "no " + model + ": ./dev bench --peers makes it";
  const outcome o =
      run_for(limits::peer,
              quoted(bench) + " -m " + quoted(model) + " -ngl 99 -fa 1 -p 512,4096 -n 64 -r 3 -o json 2>/dev/null");
  if (o.late()) return "llama-bench was not done after " + std::to_string(limits::peer) + " s";
  const nlohmann::json rows = nlohmann::json::parse(o.out, nullptr, false);
  if (o.code != 0 || !rows.is_array() || rows.empty())
    return "llama-bench ended with " + std::to_string(o.code) + " and no table";
  if (rows[0].value("backends", "").find("CUDA") == std::string::npos) return "llama-bench was not built with CUDA";
  for (const auto& row : rows) {
    const unsigned prompt = row.value("n_prompt", 0u), generated = row.value("n_gen", 0u);
    r.number(name + (prompt ? "_pp" + std::to_string(prompt) : "_tg" + std::to_string(generated)) + "_tokens_per_s",
             row.value("avg_ts", 0.), "tokens/s");
  }
  return {};
}

}  // namespace

void check_peer(report& r) {
  const char* const asked = std::getenv("CKE_LLAMA_BENCH");
  const std::string bench = asked ? asked : path_of("llama-bench");
  for (const std::string format : {"q8_0", "bf16"}) {
    const std::string name = "llama_cpp_" + format,
                      why = ask_peer(r, bench, name, "build/models/qwen3-0.6b-" + format + ".gguf");
    if (!why.empty()) r.absent(name, why);
  }
}

}  // namespace device_check
