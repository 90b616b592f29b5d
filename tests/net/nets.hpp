// SPDX-License-Identifier: MIT
// nets.hpp: the nets of tests/data/net/make.py as types.
#pragma once

#include <cke/net.hpp>

namespace nets {

namespace net = cke::net;

using amp = cke::chain<net::conv1d<1, 8, 3>, net::tanh<8>, net::gru<8, 32>, net::dense<32, 1>>;
using odd = cke::chain<net::conv1d<3, 7, 3, 4>, net::batch_norm<7>, net::prelu<7, 7>,
                       cke::residual<net::conv1d<7, 7, 2, 3, false>, net::relu<7>>, net::lstm<7, 5>, net::gru<5, 11>,
                       net::sigmoid<11>, net::batch_norm<11, 0.01>, net::prelu<11>,
                       cke::sum<net::dense<11, 4>, net::dense<11, 4, false>>>;
using wide = cke::chain<net::dense<5, 150>, net::tanh<150>, net::dense<150, 17>, net::gru<17, 50>, net::lstm<50, 20>,
                        net::dense<20, 2>>;
using named = cke::chain<net::gru<2, 9>, net::gru<9, 9>, net::lstm<9, 6>, net::lstm<6, 6>, net::dense<6, 1>>;

}  // namespace nets
