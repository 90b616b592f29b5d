// expect: cke: layers: a letter's input is not its predecessor's output
// expect: layers_fit<.*link\{2, 48, 64\}
#include <cke/layers.hpp>
using namespace cke;
template <u32 In, u32 Out> struct squeeze : maps<In, Out> {};
using wrong = residual<rms_norm<64, 1e-5>, squeeze<64, 48>>;  // x + g(f(x)) of two widths
constexpr u32 n = wrong::in;
