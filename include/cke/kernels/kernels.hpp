// SPDX-License-Identifier: MIT
// kernels.hpp: the kernels of all operations.
#pragma once

#include "attention/attention_steps.hpp"
#include "attention/latent.hpp"
#include "experts.hpp"
#include "gated_delta.hpp"
#include "linear.hpp"
#include "rows.hpp"
#include "short_conv.hpp"
#include "state_scan.hpp"
#include "towers.hpp"
