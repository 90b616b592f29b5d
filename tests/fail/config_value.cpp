// clang-format off
// expect: cke: config: config.json does not describe a model of this family
// expect: config_is_good<.*trouble::out_of_range.*num_hidden_layers.*"2000".*1\.0+e.*1\.0240*e|config_is_good<.*trouble::out_of_range.*num_hidden_layers.*50, 48, 48, 48
// clang-format on
#include <cke/from_config.hpp>
#include <cke/models/qwen3.hpp>
using namespace cke;
constexpr char config_json[] =
    R"({"model_type": "qwen3", "vocab_size": 384, "hidden_size": 96, "intermediate_size": 160,
  "num_hidden_layers": 2000, "num_attention_heads": 6, "head_dim": 24})";
constexpr u32 n = from_config<config_json>::in;
