// expect: cke: net::weights: an array or a span of as many floats as the net has parameters
// expect: numbers_suit<4000.*, 4097
#include <cke/net.hpp>
namespace net = cke::net;
using amp = cke::chain<net::conv1d<1, 8, 3>, net::tanh<8>, net::gru<8, 32>, net::dense<32, 1>>;
const std::array<float, 4000> numbers{};
const net::weights<amp> weights(numbers);
