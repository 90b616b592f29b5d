// SPDX-License-Identifier: MIT
// kernels.cpp: cke kernels: the registry of kernels as a table.
#include <algorithm>
#include <cke/kernels/registry.hpp>
#include <nlohmann/json.hpp>
#include <vector>

#include "commands.hpp"
#include "kernel_facts.hpp"
#include "rooms.hpp"
#include "terminal.hpp"

namespace cke::tool {
namespace {

namespace hana = boost::hana;

using kernel_names = std::vector<std::string_view>;

template <opcode Op> kernel_facts row_of() {
  const registry::summary* const s = registry::summary_of(Op);
  kernel_facts r{name(Op), s->computes, {}, s->matrices > 1};
  hana::for_each(registry::formats_of<Op>, [&](auto format) { r.formats.push_back(info(format()).name); });
  return r;
}
kernel_names isas_of_build() {
  kernel_names all;
  hana::for_each(registry::isas, [&]<class Isa>(hana::basic_type<Isa>) { all.push_back(Isa::name); });
  return all;
}
kernel_names matrix_formats() {
  kernel_names all;
  for (const dtype t : weight_types) all.push_back(info(t).name);
  return all;
}

std::string joined(const kernel_names& all) {
  std::string out;
  for (const std::string_view name : all) {
    if (!out.empty()) out += ' ';
    out += name;
  }
  return out;
}

}  // namespace

std::vector<kernel_facts> all_kernels() {
  std::vector<kernel_facts> all;
  hana::for_each(registry::operations,
                 [&]<opcode Op>(hana::integral_constant<opcode, Op>) { all.push_back(row_of<Op>()); });
  return all;
}

// The conditions of core/isa.hpp, asked of the processor.
std::string_view isa_of_machine() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#define CKE_CPU(feature) __builtin_cpu_supports(feature)
  const bool avx2 = CKE_CPU("avx2") && CKE_CPU("fma") && CKE_CPU("f16c");
  const bool avx512 = avx2 && CKE_CPU("avx512f") && CKE_CPU("avx512bw") && CKE_CPU("avx512dq") && CKE_CPU("avx512vl");
  const bool vnni = avx512 && CKE_CPU("avx512vnni") && CKE_CPU("avx512bf16") && CKE_CPU("avx512vbmi") &&
      CKE_CPU("avx512vbmi2") && CKE_CPU("gfni");
  if (vnni && CKE_CPU("avx512fp16")) return isa::avx512_fp16::name;
  if (vnni) return isa::avx512_vnni::name;
  if (avx512) return isa::avx512::name;
  if (avx2 && CKE_CPU("avxvnni")) return isa::avx2_vnni::name;
  return avx2 ? isa::avx2::name : isa::scalar::name;
#undef CKE_CPU
#elif defined(CKE_HAS_NEON)
  return isa::neon::name;
#else
  return isa::scalar::name;
#endif
}

void kernels(const kernels_args& args) {
  const std::vector<kernel_facts> rows = all_kernels();
  const kernel_names isas = isas_of_build(), matrices = matrix_formats();
  if (args.json) {
    nlohmann::ordered_json out{
        {"instruction_sets", isas}, {"machine", isa_of_machine()}, {"kernels", nlohmann::ordered_json::array()}};
    for (const kernel_facts& r : rows)
      out["kernels"].push_back({{"operation", r.operation},
                                {"computes", r.computes},
                                {"formats", r.formats},
                                {"mixed", r.mixed},
                                {"instruction_sets", isas}});
    return put(out.dump(2) + '\n');
  }
  std::string out = "instruction sets   " + joined(isas) + "\nthis machine       " + std::string(isa_of_machine()) +
      "\nmatrices           " + joined(matrices) +
      "\n\nEvery operation has a kernel for each of its formats on each of these instruction sets.\n"
      "mixed: the matrices of one step may have different formats.\n\n";
  const auto line = [&](std::string_view operation, std::string_view formats, std::string_view computes) {
    out += std::string(operation) + std::string(21 - operation.size(), ' ') + std::string(formats) +
        std::string(20 - formats.size(), ' ') + std::string(computes) + '\n';
  };
  line("operation", "formats", "computes");
  for (const kernel_facts& r : rows)
    line(r.operation,
         std::ranges::equal(r.formats, matrices) ? r.mixed ? "matrices, mixed" : "matrices" : joined(r.formats),
         r.computes);
  put(out);
}

}  // namespace cke::tool
