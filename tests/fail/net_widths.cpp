// expect: cke: layers: a letter's input is not its predecessor's output
// expect: layers_fit<.*2, 32, 31
#include <cke/net.hpp>
namespace net = cke::net;
using wrong = cke::chain<net::conv1d<1, 8, 3>, net::gru<8, 32>, net::dense<31, 1>>;
constexpr cke::u32 n = wrong::in;
