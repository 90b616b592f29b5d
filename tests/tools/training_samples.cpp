// SPDX-License-Identifier: MIT
// training_samples.cpp: cke train --sample says what cke run says, and the loss options reach grad and train.
#include <cmath>

#include "training.hpp"

using namespace command;

namespace {

const std::string prompt = "Once upon a time";

std::vector<std::string> words_of(const scratch& dir, const char* to, std::vector<std::string> more) {
  std::vector<std::string> words{"train", tiny, "--data", dir / "a.txt", "-c", "48", "-o", dir / to};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

TEST_CASE("train --sample: the text of cke run with the same weights and seed, for all weights and for additions") {
  const scratch dir;
  write(dir / "a.txt", "There was a little girl who liked to sing.");
  const result known =
      command::run_cke({"run",    tiny,  "-p",      prompt, "-n",      "20",   "--format", "f32", "--kv",   "f32",
                        "--temp", "0.8", "--top-k", "0",    "--top-p", "0.95", "--min-p",  "0",   "--seed", "5"});
  CHECK_SUCCESS(known);
  const auto check = [&](const char* to, std::vector<std::string> more) {
    more.insert(more.end(),
                {"--steps", "2", "--lr", "0", "--seed", "5", "--sample", prompt, "--sample-length", "20", "--log",
                 dir / (std::string(to) + ".log")});
    const result r = command::run_cke(words_of(dir, to, more));
    CHECK_SUCCESS(r);
    CHECK_MESSAGE(r.out.find(": " + prompt + known.out) != r.out.npos, show(r));
    return lines_of(dir / (std::string(to) + ".log"));
  };
  const std::vector<json> each = check("each", {"--evaluate-every", "1"}), last = check("last", {"--lora-rank", "2"});
  REQUIRE((each.size() == 2 && last.size() == 2));
  CHECK(each[0]["sample"].get<std::string>() + '\n' == known.out);
  CHECK(each[1]["sample"] == each[0]["sample"]);
  CHECK_FALSE(last[0].contains("sample"));
  CHECK(last[1]["sample"] == each[0]["sample"]);
}

TEST_CASE("train --sample: begins with the token that the tokenizer puts first") {
  const scratch dir;
  const std::string gemma = CKE_TEST_DATA "/vision/gemma3";
  write(dir / "a.txt", "There was a little girl who liked to sing.");
  const result known =
      command::run_cke({"run",    gemma, "-p",      "a b", "-n",      "6",    "--format", "f32", "--kv",   "f32",
                        "--temp", "0.8", "--top-k", "0",   "--top-p", "0.95", "--min-p",  "0",   "--seed", "5"});
  CHECK_SUCCESS(known);
  const result r = command::run_cke({"train", gemma, "--data", dir / "a.txt", "-c", "24", "-o", dir / "x", "--steps",
                                     "1", "--lr", "0", "--seed", "5", "--sample", "a b", "--sample-length", "6"});
  CHECK_SUCCESS(r);
  const std::string text = known.out.substr(0, known.out.size() - 1);  // without the line's end
  REQUIRE(text.size() > 4);
  CHECK_MESSAGE(r.out.find(": a b" + text) != r.out.npos, show(r), text);
}

TEST_CASE("train --sample: what is refused") {
  const scratch dir;
  write(dir / "a.txt", "There was a little girl who liked to sing.");
  check_refused(words_of(dir, "x", {"--steps", "1", "--evaluate-every", "1"}),
                "--evaluate-every: expected --held-out or --sample beside it");
  std::string text;
  for (int i = 0; i < 60; ++i) text += " a";
  check_refused(words_of(dir, "x", {"--steps", "1", "--sample", text}), "--sample: expected 1 to 47 ids (--context)");
  write(dir / "b.json", R"({"batches": [{"ids": [[1, 2, 3]], "labels": [[1, 2, 3]]}]})");
  check_refused({"train", CKE_TEST_DATA "/families/qwen2", "--batches", dir / "b.json", "--steps", "1", "--sample", "a",
                 "-o", dir / "x"},
                "--sample: expected a model with a tokenizer, found none");
  CHECK_FALSE(fs::exists(dir / "x"));
}

TEST_CASE("train and grad: label smoothing, the z-loss and bf16 change loss and gradients; wrong ones are refused") {
  const scratch dir;
  write(dir / "b.json", R"({"ids": [[5, 6, 7, 8]], "labels": [[5, 6, 7, 8]]})");
  const auto grad = [&](const char* to, std::vector<std::string> more) {
    more.insert(more.begin(), {"grad", tiny, "--batch", dir / "b.json", "-o", dir / to});
    const result r = command::run_cke(more);
    CHECK_SUCCESS(r);
    return json::parse(r.out);
  };
  const json plain = grad("plain", {}), zero = grad("zero", {"--label-smoothing", "0", "--z-loss", "0"}),
             smooth = grad("smooth", {"--label-smoothing", "0.1"}), z = grad("z", {"--z-loss", "0.01"});
  CHECK(zero == plain);
  CHECK(z["loss"].get<double>() > plain["loss"].get<double>());
  CHECK(smooth["loss"] != plain["loss"]);
  CHECK(content(dir / "plain") == content(dir / "zero"));
  CHECK(content(dir / "plain") != content(dir / "smooth"));
  CHECK(content(dir / "plain") != content(dir / "z"));
  check_refused({"grad", tiny, "--batch", dir / "b.json", "-o", dir / "x", "--label-smoothing", "1.5"},
                "--label-smoothing");
  check_refused({"grad", tiny, "--batch", dir / "b.json", "-o", dir / "x", "--z-loss", "-1"}, "--z-loss");

  check_refused({"grad", tiny, "--batch", dir / "b.json", "-o", dir / "x", "--balance-loss", "0.1"},
                "--balance-loss: expected a model with experts");
  const json rounded = grad("rounded", {"--precision", "bf16"});
  CHECK(rounded["loss"].get<double>() == doctest::Approx(plain["loss"].get<double>()).epsilon(1e-2));
  CHECK(content(dir / "rounded") != content(dir / "plain"));
  const auto kept = grad("kept", {"--precision", "bf16", "--in-f32", "down_proj"});
  CHECK(content(dir / "kept") != content(dir / "rounded"));
  check_refused({"grad", tiny, "--batch", dir / "b.json", "-o", dir / "x", "--precision", "bf16", "--in-f32", "x_proj"},
                "--in-f32: expected ends of names of matrices, such as q_proj, found x_proj");
  check_refused({"grad", tiny, "--batch", dir / "b.json", "-o", dir / "x", "--precision", "f16"}, "--precision");
}
