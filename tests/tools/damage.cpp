// SPDX-License-Identifier: MIT
// damage.cpp: checkpoints cut short and with flipped bits: a refusal or a run, never a signal or a hang.
#include "fake_compiler.hpp"

using namespace command;

namespace {

// `use` sees the file as it is cut at `cuts` places, and with one flipped bit at `flips` places of its beginning.
template <class Use> void damage(const fs::path& file, std::size_t cuts, std::size_t flips, Use use) {
  const std::string whole = content(file);
  REQUIRE(!whole.empty());
  const auto attempt = [&](const std::string& text, const std::string& what) {
    write(file, text);
    const result r = use();
    CHECK_MESSAGE(is_orderly(r), file.filename() << ' ' << what << '\n' << show(r));
    return r;
  };
  for (std::size_t i = 0; i < cuts; ++i) {
    const std::size_t length = whole.size() * i / cuts;
    attempt(whole.substr(0, length), "cut at " + std::to_string(length));
  }
  const std::size_t bits = std::min<std::size_t>(whole.size(), 4096) * 8;
  for (std::size_t i = 0; i < flips; ++i) {
    const std::size_t bit = i * 40503 % bits;  // odd steps: all kinds of bytes, all bits of a byte
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
    attempt(flipped, "bit " + std::to_string(bit));
  }
  const result r = attempt(whole, "as it was");
  CHECK(r.status == 0);
}

}  // namespace

TEST_CASE("a Hugging Face directory") {
  const scratch dir;
  const fake_compiler compiler(dir);
  const fs::path model = dir.copy(compiler.model);
  setting s = compiler.use();
  s.seconds = 20;
  const auto run = [&] { return run_cke({"run", model, "--tokens", "1,2", "-n", "2", "--ids"}, s); };
  damage(model / "config.json", 40, 120, run);
  damage(model / "model.safetensors", 25, 120, run);
  damage(model / "generation_config.json", 15, 40, run);
}

TEST_CASE("an index of sharded weights") {
  const scratch dir;
  const fs::path model = dir.copy(models + "llama_sharded");
  damage(model / "model.safetensors.index.json", 25, 80, [&] { return run_cke({"inspect", model}, {.seconds = 20}); });
}

TEST_CASE("a GGUF file") {
  const scratch dir;
  const fake_compiler compiler(dir);
  fs::copy(models + "gguf/llama_untied-F32.gguf", dir / "model.gguf");
  setting s = compiler.use();
  s.seconds = 20;
  // What it describes as a whole is the model that the fake compiler knows.
  damage(dir / "model.gguf", 25, 200,
         [&] { return run_cke({"run", dir / "model.gguf", "--tokens", "1,2", "-n", "2", "--ids"}, s); });
}

TEST_CASE("files beside the weights") {
  const scratch dir;
  const fs::path model = dir.copy(tiny);
  const auto words = [&] { return run_cke({"tokenize", model, "-p", "Once upon a time"}, {.seconds = 20}); };
  damage(model / "tokenizer.json", 25, 80, words);
  damage(model / "tokenizer_config.json", 15, 40, words);
  write(dir / "messages.json", R"([{"role": "user", "content": "Hi"}])");
  const auto form = [&] { return run_cke({"template", model, "--messages", dir / "messages.json"}, {.seconds = 20}); };
  damage(model / "chat_template.jinja", 15, 40, form);
  damage(dir / "messages.json", 35, 60, form);
}
