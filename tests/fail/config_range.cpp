// expect: cke: config: the key of a number says its range\(\)
#include <cke/from_config.hpp>
#include <cke/models/qwen3.hpp>
using namespace cke;
struct unlimited : family<"qwen3"> {
  static constexpr config_key<config> keys[] = {
      key::vocab,          key::dim,   key::hidden,
      key::layers,         key::heads, bind<&config::kv_heads>("num_key_value_heads"),
      key::head_dim,       key::eps,   key::tied,
      key::attention_bias, key::rope};
};
constexpr bool b = read_config<unlimited>(json{"{}"}, naming::hf, nullptr).bad.what == trouble::none;
