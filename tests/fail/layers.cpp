// expect: cke: layers: a letter's input is not its predecessor's output
// expect: layers_fit<.*link\{1, 64, 32\}
#include <cke/layers.hpp>
using namespace cke;
using wrong = network<embedding<512, 64>, stack<4, block<residual<rms_norm<64, 1e-5>, gated_mlp<32, 172, activation::silu>>>>, rms_norm<64, 1e-5>, head<64, 512, true>>;
constexpr u32 n = wrong::in;
