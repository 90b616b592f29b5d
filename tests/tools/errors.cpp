// SPDX-License-Identifier: MIT
// errors.cpp: what cannot be done ends in status 1 (2: the command line itself) and one line that says why.
#include "fake_compiler.hpp"

namespace errors_test {

using namespace command;

namespace {

const std::string llama = models + "llama_untied";

std::vector<std::string> with(std::vector<std::string> words, std::initializer_list<std::string> more) {
  words.insert(words.end(), more);
  return words;
}

void check_usage(const std::vector<std::string>& words, const char* text) {
  const result r = run_cke(words);
  CHECK_MESSAGE((is_refusal(r, 2) && r.err.find(text) != r.err.npos), show(r));
}

}  // namespace

TEST_CASE("wrong words on the command line: status 2") {
  check_usage({}, "command");
  check_usage({"frob"}, "frob");
  check_usage({"run"}, "MODEL");
  check_usage({"run", tiny, "extra"}, "extra");
  check_usage({"run", tiny, "--frob"}, "--frob");
  check_usage({"run", tiny, "-p"}, "--prompt");
  check_usage({"run", tiny, "-p", "x", "--tokens", "1"}, "--tokens");
  check_usage({"run", tiny, "-p", "x", "--draft", "65"}, "--draft");
  check_usage({"run", tiny, "-p", "x", "--draft-model", tiny}, "--draft");
  check_usage({"run", tiny, "-p", "x", "--grammar", "x", "--json-schema", "y"}, "--json-schema");
  check_usage({"run", tiny, "--frob\n\x1b[2J"}, "?");
  check_usage({"logits", tiny, "--tokens", "1"}, "--output");
  check_usage({"logits", tiny, "-o", "x.npy"}, "--tokens");
  check_usage({"detokenize", tiny}, "--tokens");
  check_usage({"template", tiny}, "--messages");
  const std::vector<std::string> run{"run", llama, "--tokens", "1"};
  for (const char* value : {"-1", "x", "1.5", "", "99999999999999999999", "1 2"}) {
    for (const char* option : {"-n", "-t", "-c", "--chunk", "--top-k"})
      check_usage(with(run, {option, value}), option + 1 + (option[1] == '-'));
  }
  for (const char* value : {"-0.5", "x", "", "1e30"})
    for (const char* option : {"--temp", "--top-p", "--min-p"}) check_usage(with(run, {option, value}), option);
  check_usage(with(run, {"-t", "1025"}), "--threads");
  check_usage(with(run, {"-c", "0"}), "--context");
  check_usage(with(run, {"--chunk", "0"}), "--chunk");
  check_usage(with(run, {"--format", "q4"}), "q8_0");
  check_usage(with(run, {"--kv", "q4_0"}), "--kv");
  check_usage({"bench", llama, "-p", "0", "-n", "0"}, "measure");
  check_usage({"bench", llama, "-r", "0"}, "--repetitions");
  check_usage({"bench", llama, "-o", "xml"}, "jsonl");
  for (const char* value : {"", "x", "-1", "1,", ",1", "1,,2", "1.5", "5-1", "1-", "1-4*0", "1-4*1", "1-4+0", "1-4/2",
                            "1-9999999", "99999999999999999999"})
    for (const char* option : {"-p", "-n", "-d", "-b", "-t"}) check_usage({"bench", llama, option, value}, option);
  check_usage({"bench", llama, "-b", "1025"}, "1 to 1024");
  check_usage({"bench", llama, "--profile", "x", "--peaks"}, "--peaks");
  check_usage({"bench", llama, "-t", "1025"}, "1024");
  for (const char* list : {"1,", ",1", "1,,2", "1 2", "x", "-1", "0x1", "1.0", "1;2"})
    for (const char* command : {"run", "detokenize"}) check_usage({command, tiny, "--tokens", list}, "--tokens");
}

TEST_CASE("models that are not there, or not whole") {
  const scratch dir;
  for (const char* command : {"run", "chat", "inspect", "bench", "build", "tokenize"}) {
    CHECK_REFUSED(run_cke({command, dir / "nothing"}), "nothing");
    CHECK_REFUSED(run_cke({command, "/dev/null"}), "/dev/null");
    CHECK_REFUSED(run_cke({command, ""}), "");
  }
  fs::create_directory(dir / "empty");
  CHECK_REFUSED(run_cke({"inspect", dir / "empty"}), "config.json");
  CHECK_REFUSED(run_cke({"tokenize", dir / "empty", "-p", "x"}), "tokenizer.json");
  CHECK_REFUSED(run_cke({"run", llama, "-p", "x"}), "tokenizer");
  CHECK_REFUSED(run_cke({"chat", llama}), "tokenizer");
  CHECK_REFUSED(run_cke({"chat", models + "qwen3_tied"}), "chat_template");
  CHECK_REFUSED(run_cke({"tokenize", llama, "-p", "x"}), "tokenizer.json");
  const fs::path model = dir.copy(llama);
  fs::remove(model / "model.safetensors");
  CHECK_REFUSED(run_cke({"inspect", model}), "model.safetensors");
  fs::create_directory(model / "model.safetensors");
  CHECK_REFUSED(run_cke({"inspect", model}), "a directory");
}

TEST_CASE("configs of other models, or of none, are refused before anything is compiled") {
  const scratch dir;
  const fake_compiler compiler(dir);
  const fs::path model = dir.copy(llama);
  const std::string config = content(model / "config.json");
  const auto refused = [&](const std::string& key, const std::string& value, const char* text) {
    const std::size_t at = config.find('"' + key + "\": ") + key.size() + 4, end = config.find_first_of(",\n", at);
    write(model / "config.json", std::string(config).replace(at, end - at, value));
    CHECK_REFUSED(run_cke({"run", model, "--tokens", "1"}, compiler.use()), text);
  };
  refused("model_type", "\"gpt9\"",
          "one of deepseek_v2, deepseek_v3, gemma2, gemma3_text, gemma4_text, glm4, glm4_moe, granite, granitemoe, "
          "granitemoehybrid, lfm2, lfm2_moe, llama, mamba2, mistral, mixtral, nemotron_h, olmo2, olmoe, phi3, qwen2, "
          "qwen2_5_vl_text, qwen2_moe, qwen3, qwen3_5_text, qwen3_5_moe_text, qwen3_moe, qwen3_next, qwen3_vl_text, "
          "qwen3_vl_moe_text, smollm3, found gpt9");
  refused("hidden_act", "\"gelu\"", "hidden_act");
  refused("hidden_size", "0", "hidden_size");
  refused("hidden_size", "1048576", "model.embed_tokens.weight");
  refused("hidden_size", "\"64\"", "hidden_size");
  refused("vocab_size", "16777216", "model.embed_tokens.weight");
  refused("vocab_size", "1.5", "vocab_size");
  refused("num_hidden_layers", "1024", "model.layers.1.");
  refused("num_hidden_layers", "-1", "num_hidden_layers");
  refused("intermediate_size", "4194304", "gate_proj");
  refused("num_attention_heads", "3", "_proj");
  refused("num_attention_heads", "4096", "q_proj");
  refused("num_key_value_heads", "0", "num_key_value_heads");
  refused("num_key_value_heads", "3", "a multiple of num_key_value_heads");
  refused("head_dim", "7", "head_dim");
  refused("rms_norm_eps", "-1", "rms_norm_eps");
  refused("rms_norm_eps", "1e999", "config.json");
  refused("tie_word_embeddings", "\"no\"", "tie_word_embeddings");
  CHECK(compiler.calls() == 0);
}

TEST_CASE("ids and lengths that do not fit the model") {
  const scratch dir;
  const fs::path out = dir / "out.npy";
  for (const std::string& id : {std::string("100000"), std::string("4294967295"), std::string("4294967296")}) {
    CHECK_REFUSED(run_cke({"run", llama, "--tokens", "1," + id}), "token id");
    CHECK_REFUSED(run_cke({"logits", llama, "--tokens", "1," + id, "-o", out}), "token id");
    CHECK_REFUSED(run_cke({"detokenize", tiny, "--tokens", "1," + id}), "token id");
  }
  CHECK_REFUSED(run_cke({"run", llama, "--tokens", "1,2,3", "-c", "2"}), "context");
  CHECK_REFUSED(run_cke({"logits", llama, "--tokens", "1,2,3", "-c", "2", "-o", out}), "context");
  CHECK_REFUSED(run_cke({"run", llama, "--tokens", "1,2", "-c", "4", "-n", "4", "--ids"}), "context");
  CHECK(run_cke({"run", llama, "--tokens", "1,2", "-c", "4", "-n", "3", "--ids"}).status == 0);
  const result empty = run_cke({"run", llama, "--tokens", ""});
  CHECK_MESSAGE(is_refusal(empty, 2), show(empty));
  CHECK(!fs::exists(out));
  CHECK_REFUSED(run_cke({"logits", llama, "--tokens", "1", "-o", dir / "no/such.npy"}), "no/such.npy");
  CHECK_REFUSED(run_cke({"logits", llama, "--tokens", "1", "-o", "/dev/full"}), "/dev/full");
}

}  // namespace errors_test
