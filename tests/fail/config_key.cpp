// expect: cke: config: config.json does not describe a model of this family
// expect: config_is_good<.*trouble::missing.*hidden_size
#include <cke/from_config.hpp>
#include <cke/models/qwen3.hpp>
using namespace cke;
constexpr char config_json[] = R"({"model_type": "qwen3", "vocab_size": 384, "hiden_size": 96, "intermediate_size": 160,
  "num_hidden_layers": 2, "num_attention_heads": 6, "head_dim": 24})";
constexpr u32 n = from_config<config_json>::in;
