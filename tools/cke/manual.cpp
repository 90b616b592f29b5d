// SPDX-License-Identifier: MIT
// manual.cpp: the manual page, made from the table of commands.
#include <cke/core/concat.hpp>

#include "option_table.hpp"
#include "rooms.hpp"

namespace cke::tool {
namespace {

// Text of man(7): what would be a request or an escape is neither.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((out.empty() || out.back() == '\n') && (c == '.' || c == '\'')) out += "\\&";
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  return out;
}

std::string synopsis(const std::string& program, const command_words& c) {
  std::string line = concat({"\\fB", escaped(program), " ", escaped(c.name), "\\fR [\\fIOPTION\\fR]..."});
  for (const option_words& o : c.options)
    if (o.positional) line += concat({" \\fI", escaped(o.names[0]), "\\fR"});
  return line + '\n';
}
std::string manual_entry(const option_words& o) {
  std::string names;
  for (const std::string& name : o.names)
    names += concat({names.empty() ? "" : ", ", o.positional ? "\\fI" : "\\fB", escaped(name), "\\fR"});
  if (!o.value.empty() && !o.positional) names += concat({" \\fI", escaped(o.value), "\\fR"});
  std::string text = concat({".TP\n", names, "\n", escaped(o.about), "\n"});
  std::string choices;
  for (const std::string& word : o.choices) choices += concat({choices.empty() ? "" : ", ", escaped(word)});
  if (!choices.empty()) text += concat({"One of ", choices, ".\n"});
  return text;
}

}  // namespace

std::string manual_page(const std::vector<command_words>& all, const std::string& version) {
  const command_words& program = all[0];
  std::string text =
      concat({".TH CKE 1 \"\" \"cke ", version, "\" \"User Commands\"\n.SH NAME\n", program.name,
              " \\- runs language models that are compiled for the machine they run on\n.SH SYNOPSIS\n"});
  for (const command_words& c : all)
    if (&c != &program) text += concat({synopsis(program.name, c), &c == &all.back() ? "" : ".br\n"});
  text += concat({".SH DESCRIPTION\n", escaped(program.about),
                  "\nResults go to standard output, everything else to standard error.\n.SH OPTIONS\n"});
  for (const option_words& o : program.options) text += manual_entry(o);
  text += ".SH COMMANDS\n";
  for (const command_words& c : all) {
    if (&c == &program) continue;
    text += concat({".SS ", program.name, " ", escaped(c.name), "\n", escaped(c.about), "\n"});
    for (const option_words& o : c.options)
      if (o.names.back() != "--help") text += manual_entry(o);
    if (!c.footer.empty()) text += concat({".PP\n", escaped(c.footer), "\n"});
  }
  text +=
      ".SH EXIT STATUS\n0; 1 with one line that says what was expected and what was found; 2 for wrong usage.\n"
      ".SH ENVIRONMENT\n.TP\n\\fBCKE_CACHE\\fR\nThe folder of compiled models. Else \\fBXDG_CACHE_HOME\\fR/cke, or "
      ".cache/cke in \\fBHOME\\fR.\n";
  return text;
}

}  // namespace cke::tool
