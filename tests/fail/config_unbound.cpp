// expect: cke: config: a family's keys bind every member of its config, and none twice
#include <cke/from_config.hpp>
#include <cke/models/qwen3.hpp>
using namespace cke;
struct unbound : family<"qwen3"> {
  static constexpr config_key<config> keys[] = {key::vocab,    key::dim,      key::hidden, key::layers, key::heads,
                                                key::kv_heads, key::head_dim, key::eps,    key::tied,   key::rope};
};
constexpr bool b = read_config<unbound>(json{"{}"}, naming::hf, nullptr).bad.what == trouble::none;
