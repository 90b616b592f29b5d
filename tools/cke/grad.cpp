// SPDX-License-Identifier: MIT
// grad.cpp: cke grad: the loss of a batch, and the gradients of all weights, to a safetensors file.
#include <nlohmann/json.hpp>

#include "batch_file.hpp"
#include "commands.hpp"
#include "rooms.hpp"
#include "terminal.hpp"
#include "training.hpp"

namespace cke::tool {

void grad(const grad_args& args) {
  const batch b = read_batch(args.batch);
  const opened_trainer t = open_trainer(args.model,
                                        {.threads = args.threads,
                                         .context = b.longest,
                                         .rows = args.rows,
                                         .gradients_only = 1,
                                         .pads = 0,
                                         .padding = 0,
                                         .recompute = 0,
                                         .bf16 = args.precision == "bf16",
                                         .in_f32 = args.in_f32.c_str(),
                                         .label_smoothing = args.label_smoothing,
                                         .z_loss = args.z_loss,
                                         .balance_loss = args.balance_loss,
                                         .rank = 0,
                                         .alpha = 0,
                                         .seed = 0,
                                         .targets = nullptr});
  b.check_ids(t.model->facts().vocab);
  const double loss = t.model->add_gradients(b.examples()), norm = t.model->gradient_norm();
  write_parts(t, {{CKE_PART_GRADIENTS, ""}}, args.output);
  put(nlohmann::ordered_json{{"loss", loss}, {"tokens", b.labels}, {"grad_norm", norm}}.dump() + '\n');
}

}  // namespace cke::tool
