// expect: cke: letter: a number is out of range; see in_range<field, value, least, most>
// expect: in_range<.*taps.*0.*, 1, 4096>
#include <cke/net.hpp>
constexpr cke::u32 n = cke::net::conv1d<1, 8, 0>::in;
