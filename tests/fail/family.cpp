// expect: cke: family: no model family for this model_type; specialise cke::family
// expect: family<.*gpt9
#include <cke/from_config.hpp>
using namespace cke;
constexpr char config_json[] = R"({"model_type": "gpt9", "vocab_size": 384})";
constexpr u32 n = from_config<config_json>::in;
