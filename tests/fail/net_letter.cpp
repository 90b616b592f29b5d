// expect: cke: net: this letter has no step from frame to frame; see stage<letter, isa>
// expect: stage<.*rms_norm<8
#include <cke/net.hpp>
using wrong = cke::chain<cke::net::dense<1, 8>, cke::rms_norm<8, 1e-6>>;
cke::net::runner<wrong>* runner;
constexpr auto n = sizeof *runner;
