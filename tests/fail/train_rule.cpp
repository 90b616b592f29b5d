// expect: cke: train: this operation has no gradient; see trains<opcode, ...>
// expect: trains<.*layer_norm
#include <cke/train/learner.hpp>

using namespace cke;
using layers = block<residual<layer_norm<32, 1e-5>, gated_mlp<32, 64, activation::silu>>>;
using model = network<embedding<64, 32>, stack<1, layers>, rms_norm<32, 1e-5>, head<32, 64, true>>;
constexpr auto tapes = train::taped_program::of<graph::program<model, graph::F32, false>>();
