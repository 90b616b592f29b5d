// SPDX-License-Identifier: MIT
// net.hpp: small nets over frames of floats, for sound, sensors and control. net_file.hpp reads their weights.
#pragma once

#include "net/runner.hpp"
