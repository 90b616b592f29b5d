// SPDX-License-Identifier: MIT
// unit_compiler.hpp: how a unit is compiled here: by which program, with which options, against which headers.
#pragma once

#include <string>
#include <vector>

#include "process.hpp"
#include "rooms.hpp"
#include "unit.hpp"

namespace cke::tool {

// Whom a unit is for. One for this command leaves to it the reading of files and all that is in its compiled part
// (compiled/), where there is one that was made from these headers, by this compiler, for this machine; it opens here
// only. It has no kernels, or those that the part lacks. A standalone one links libc alone.
enum class made_for { this_command, this_command_with_kernels, any_program, standalone };

struct compile_command {
  std::vector<std::string> words;  // without input and output
  std::string key;                 // a hash of all that shapes what it makes
};

// The compiler and the headers that CKE_CXX, CKE_MARCH and CKE_INCLUDE name, else those found. Throws Error: compile,
// file, usage.
class unit_compiler {
 public:
  unit_compiler();
  compile_command command_for(const unit& u, made_for whom) const;

  // The features that units' code may use: see feature_names.hpp. Throws Error{compile}.
  std::string features() const;
  // Throws Error{usage} where CKE_MARCH names a machine whose code this one cannot run.
  void check_machine() const;

  // Whether the compiled part was made from these headers and with this name of the machine.
  bool has_part() const;
  // And whether that name and that compiler mean the same here as where it was made: all that the compiler predefines.
  bool has_part_of_target() const;

 private:
  process_result compiler_says(std::initializer_list<std::string> words) const;
  process_result predefined() const;  // the macros of its code

  std::vector<std::string> compiler_;
  std::string march_;
  std::vector<std::string> includes_;
  std::string headers_;
  std::string version_;
};

// The first complaint among a compiler's lines, after "; ", or nothing.
std::string complaint(const std::string& output);

// Makes the object file of an assembler file, with the compiler of units. The files that it includes are in its folder.
// Throws Error: compile.
void assemble(const std::string& source, const std::string& object);

}  // namespace cke::tool
