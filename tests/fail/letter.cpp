// expect: cke: lowering: no lower<Letter> for this letter; specialise cke::graph::lower
// expect: lower<.*shift<64>
#include <cke/graph/program.hpp>
using namespace cke;
using namespace cke::graph;
template <u32 Dim> struct shift : keeps<Dim> {};
using unknown = network<embedding<512, 64>, stack<2, block<residual<shift<64>>>>, head<64, 512, true>>;
constexpr u32 n = program<unknown, F32>::count();
