#include <cke/net.hpp>
#include <chrono>
#include <cstdio>
#include <vector>
#include <array>
#include <algorithm>
namespace net = cke::net;
using amp = cke::chain<net::conv1d<1, 8, 3>, net::tanh<8>, net::gru<8, 32>, net::dense<32, 1>>;
int main() {
  std::vector<float> n(net::parameters<amp>); unsigned s=1; for (auto& v: n) { s = s*1664525+1013904223; v = ((s>>8)/16777216.f-0.5f)*0.4f; }
  static const net::weights<amp> w{std::span<const float, net::parameters<amp>>(n)};
  static net::runner<amp> run(w);
  std::array<float,64> x, y; for (int i=0;i<64;i++) x[i]=(i%7)*0.1f;
  std::vector<float> t;
  for (int i=0;i<200000;i++){ auto a=std::chrono::steady_clock::now(); run.block(x.data(), y.data(), 64); auto b=std::chrono::steady_clock::now(); t.push_back(std::chrono::duration<float,std::micro>(b-a).count()); }
  std::sort(t.begin(),t.end()); printf("%g %g %g %g  sizeof %zu %zu\n", t[0], t[t.size()/2], t.back(), y[5], sizeof run, sizeof w);
}
