// expect: cke: model: after the stacks comes rms_norm<dim, eps>, whose output embeddings are
#include <cke/model.hpp>
using namespace cke;
using layer = block<residual<rms_norm<64, 1e-6>, gated_mlp<64, 128, activation::silu>>>;
using headless = network<embedding<512, 64>, stack<2, layer>, head<64, 512, false>>;
using of = graph::program<headless, F32>;
constexpr auto& tables = runtime::step_tables<of, dtype::f32, isa::native>::all;
