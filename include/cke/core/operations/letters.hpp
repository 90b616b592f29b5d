// SPDX-License-Identifier: MIT
// letters.hpp: the letters that are not steps: opcodes that instructions name as the letter they belong to.
#pragma once

#include "../opcode.hpp"

namespace cke {

template <> struct operation<opcode::multihead_attention> : no_step {
  static constexpr op_facts facts{"multihead_attention"};
};
template <> struct operation<opcode::mla_attention> : no_step {
  static constexpr op_facts facts{"mla_attention"};
};
template <> struct operation<opcode::swiglu> : no_step {
  static constexpr op_facts facts{"swiglu"};
};
template <> struct operation<opcode::moe> : no_step {
  static constexpr op_facts facts{"moe"};
};
template <> struct operation<opcode::mamba_mixer> : no_step {
  static constexpr op_facts facts{"mamba_mixer"};
};
template <> struct operation<opcode::shortconv> : no_step {
  static constexpr op_facts facts{"shortconv"};
};
template <> struct operation<opcode::layer_embedding> : no_step {
  static constexpr op_facts facts{"layer_embedding"};
};
template <> struct operation<opcode::layer_input> : no_step {
  static constexpr op_facts facts{"layer_input"};
};
template <> struct operation<opcode::gated_delta_net> : no_step {
  static constexpr op_facts facts{"gated_delta_net"};
};
template <> struct operation<opcode::plain_mlp> : no_step {
  static constexpr op_facts facts{"plain_mlp"};
};

}  // namespace cke
