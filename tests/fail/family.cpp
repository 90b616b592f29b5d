// expect: cke: family: no model family for this model_type; specialise cke::family
// expect: family<.*gpt9
#include <cke/from_config.hpp>
using namespace cke;
using namespace cke::graph;
using namespace cke::io;
using namespace cke::runtime;
using namespace cke::text;
constexpr char text[] = R"({"model_type": "gpt9", "vocab_size": 384})";
constexpr u32 n = from_config<text>::in;
