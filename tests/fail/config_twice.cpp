// expect: cke: config: a family's keys bind every member of its config, and none twice
#include <cke/from_config.hpp>
#include <cke/models/qwen3.hpp>
using namespace cke;
struct twice : family<"qwen3"> {
  static constexpr config_key<config> keys[] = {key::vocab,
                                                key::dim,
                                                key::hidden,
                                                key::layers,
                                                key::heads,
                                                key::kv_heads,
                                                key::head_dim,
                                                key::eps,
                                                key::tied,
                                                key::rope,
                                                bind<&config::heads>("num_key_value_heads").range(1, 4096)};
};
constexpr bool b = read_config<twice>(json{"{}"}, naming::hf, nullptr).bad.what == trouble::none;
