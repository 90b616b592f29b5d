// expect: cke: config: config.json does not describe a model of this family
// expect: config_is_good<.*trouble::unsupported.*num_attention_heads
#include <cke/from_config.hpp>
#include <cke/models/llama.hpp>
using namespace cke;
constexpr char config_json[] =
    R"({"model_type": "llama", "vocab_size": 384, "hidden_size": 96, "intermediate_size": 160,
  "num_hidden_layers": 2, "num_attention_heads": 6, "num_key_value_heads": 4, "head_dim": 16})";
constexpr u32 n = from_config<config_json>::in;
