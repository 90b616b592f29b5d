// expect: cke: net::prelu: slopes must be 1 or dim
// expect: slopes_suit<8, 3>
#include <cke/net.hpp>
constexpr cke::u32 n = cke::net::prelu<8, 3>::in;
