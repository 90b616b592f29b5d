// expect: cke: model: no stack of layers; write stack<N, block<...>>
#include <cke/graph/program.hpp>
using namespace cke;
using namespace cke::graph;
using wrong = network<embedding<512, 64>, block<residual<rms_norm<64, 1e-5>, gated_mlp<64, 172, activation::silu>>>,
                      head<64, 512, true>>;
constexpr u32 n = program<wrong, F32>::layers;
