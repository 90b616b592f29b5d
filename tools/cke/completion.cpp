// SPDX-License-Identifier: MIT
// completion.cpp: completion scripts for bash, zsh and fish, made from the table of commands.
#include <cke/core/concat.hpp>

#include "option_table.hpp"
#include "rooms.hpp"

namespace cke::tool {
namespace {

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string all;
  for (const std::string& w : words) all += concat({all.empty() ? "" : between, w});
  return all;
}
// As one word for a shell.
std::string single_quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') out += "'\\''";
    else out += c == '\n' ? ' ' : c;
  }
  out += '\'';
  return out;
}

std::string bash(const std::vector<command_words>& all) {
  std::vector<std::string> first;
  for (const command_words& c : all)
    if (&c != all.data()) first.push_back(c.name);
  for (const option_words& o : all[0].options) first.insert(first.end(), o.names.begin(), o.names.end());
  std::string cases;
  for (const command_words& c : all) {
    if (&c == all.data()) continue;
    std::string values;
    std::vector<std::string> options, words;  // words: of positional arguments
    for (const option_words& o : c.options) {
      if (o.positional) {
        words.insert(words.end(), o.choices.begin(), o.choices.end());
        continue;
      }
      options.insert(options.end(), o.names.begin(), o.names.end());
      if (o.value.empty()) continue;
      values += concat({"        ", joined(o.names, "|"), ") "});
      values += o.is_file     ? "_cke_files"
          : o.choices.empty() ? ":"
                              : concat({"_cke_words '", joined(o.choices, " "), "'"});
      values += "; return ;;\n";
    }
    cases += concat({"    ", c.name, ")\n      case $before in\n", values, "      esac\n",
                     "      if [[ $word == -* ]]; then _cke_words '", joined(options, " "), "'; else ",
                     words.empty() ? std::string("_cke_files") : concat({"_cke_words '", joined(words, " "), "'"}),
                     "; fi ;;\n"});
  }
  return concat({R"(# Completion of cke for bash, made by `cke completion bash`.
_cke_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$word"); }
_cke_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$word"); }
_cke() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then command=${COMP_WORDS[i]}; break; fi
  done
  COMPREPLY=()
  case $command in
    '') _cke_words ')",
                 joined(first, " "), "' ;;\n", cases, "  esac\n}\ncomplete -F _cke cke\n"});
}

// An argument of zsh's _arguments.
std::string zsh_option(const option_words& o) {
  std::string about, action;
  for (const char c : o.about) {
    if (c == '[' || c == ']' || c == '\\') about += '\\';
    about += c;
  }
  if (!o.value.empty())
    action = concat({":", o.value, ":",
                     o.is_file               ? std::string("_files")
                         : o.choices.empty() ? std::string(" ")
                                             : concat({"(", joined(o.choices, " "), ")"})});
  if (o.positional) return concat({" ", single_quoted(concat({"1", action}))});
  std::string all;
  for (const std::string& name : o.names)
    all += concat({" ", single_quoted(concat({"*", name, "[", about, "]", action}))});
  return all;
}
std::string zsh(const std::vector<command_words>& all) {
  std::string names, cases;
  for (const command_words& c : all) {
    if (&c == all.data()) continue;
    names += concat({"    ", single_quoted(concat({c.name, ":", c.about})), "\n"});
    std::string options;
    bool files = false;
    for (const option_words& o : c.options)
      if (o.positional && o.is_file) files = true;
      else options += concat({" \\\n     ", zsh_option(o)});
    cases += concat({"    ", c.name, ") _arguments", options, files ? " \\\n      '*:file:_files'" : "", " ;;\n"});
  }
  std::string own;
  for (const option_words& o : all[0].options) own += zsh_option(o);
  return concat(
      {R"(#compdef cke
# Completion of cke for zsh, made by `cke completion zsh`.
_cke() {
  local -a commands=(
)",
       names, "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    _arguments", own,
       "\n    return\n  fi\n  local command=${words[2]}\n  shift words\n  ((--CURRENT))\n  case $command in\n", cases,
       R"(  esac
}
if [[ ${funcstack[1]} == _cke ]]; then _cke "$@"; else compdef _cke cke; fi
)"});
}

std::string fish(const std::vector<command_words>& all) {
  std::string text = "# Completion of cke for fish, made by `cke completion fish`.\ncomplete -c cke -f\n";
  for (const command_words& c : all) {
    const bool program = &c == all.data();
    const std::string when = program ? "__fish_use_subcommand" : concat({"'__fish_seen_subcommand_from ", c.name, "'"});
    if (!program)
      text += concat({"complete -c cke -n __fish_use_subcommand -a ", c.name, " -d ", single_quoted(c.about), "\n"});
    for (const option_words& o : c.options) {
      text += concat({"complete -c cke -n ", when});
      if (o.positional) {
        text += o.is_file ? std::string(" -F\n") : concat({" -a ", single_quoted(joined(o.choices, " ")), "\n"});
        continue;
      }
      for (const std::string_view name : o.names)
        text += name.starts_with("--") ? concat({" -l ", name.substr(2)}) : concat({" -s ", name.substr(1)});
      if (o.is_file) text += " -rF";
      else if (!o.choices.empty()) text += concat({" -xa ", single_quoted(joined(o.choices, " "))});
      else if (!o.value.empty()) text += " -x";
      text += concat({" -d ", single_quoted(o.about), "\n"});
    }
  }
  return text;
}

}  // namespace

std::string completion_script(const std::vector<command_words>& all, const std::string& shell) {
  return shell == "bash" ? bash(all) : shell == "zsh" ? zsh(all) : fish(all);
}

}  // namespace cke::tool
