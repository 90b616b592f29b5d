// SPDX-License-Identifier: MIT
// words.cpp: completion scripts and the manual page hold every word that --help has, and shells take them.
#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>

#include "command.hpp"

namespace words_test {

using namespace command;

namespace {

using names = std::set<std::string>;

// The commands that `cke --help` lists.
names commands() {
  const std::string help = run_cke({"--help"}).out;
  names all;
  std::istringstream lines(help.substr(help.find("Subcommands:")));
  std::string line;
  for (std::getline(lines, line); std::getline(lines, line);)
    if (line.starts_with("  ") && line[2] != ' ') all.insert(line.substr(2, line.find(' ', 2) - 2));
  CHECK(all.size() > 15);
  return all;
}
// The options that `cke COMMAND --help` lists: -p, --prompt and the like.
names options(const std::string& command) {
  static const std::regex form("(^|,)(--?[A-Za-z][a-z0-9-]*)");
  names all;
  std::istringstream lines(run_cke({command, "--help"}).out);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    const std::string words = line.substr(2, line.find(' ', 2) - 2);
    for (auto at = std::sregex_iterator(words.begin(), words.end(), form); at != std::sregex_iterator(); ++at)
      all.insert((*at)[2]);
  }
  CHECK(all.contains("--help"));
  return all;
}

struct shell_result {
  int status;
  std::string out;
};
// What a shell prints, errors too.
shell_result shell(const std::string& command) {
  FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::string out;
  char part[4096];
  for (std::size_t n; (n = std::fread(part, 1, sizeof part, pipe)) > 0;) out.append(part, n);
  return {pclose(pipe), out};
}
// Before main too, where nothing can be checked yet.
bool there(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}
names lines(const std::string& text) {
  names all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) all.insert(line.substr(0, line.find('\t')));
  return all;
}

// The script, in a file.
struct script {
  scratch dir;
  std::string path;
  explicit script(const std::string& of) : path(dir / "script") {
    const result r = run_cke({"completion", of});
    CHECK_SUCCESS(r);
    write(path, r.out);
  }
  // What bash offers for the last word.
  names bash(const std::string& words) const {
    const shell_result r =
        shell("bash -c 'source " + path + "; COMP_WORDS=(" + words +
              "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _cke; printf \"%s\\n\" \"${COMPREPLY[@]}\"'");
    CHECK_MESSAGE(r.status == 0, r.out);
    return lines(r.out);
  }
  names fish(const std::string& words) const {
    return lines(shell("HOME=" + (dir / "").string() + " fish --no-config -c 'source " + path + "; complete -C \"" +
                       words + "\"'")
                     .out);
  }
};

}  // namespace

TEST_CASE("completion: bash offers every command, every option, and the values of an option") {
  const script s("bash");
  names first = commands();
  first.insert({"-h", "--help", "--version"});
  CHECK(s.bash("cke \"\"") == first);
  CHECK(s.bash("cke t") == names{"template", "tokenize", "train", "tune"});
  for (const std::string& c : commands()) {
    CAPTURE(c);
    CHECK(s.bash("cke " + c + " -") == options(c));
  }
  CHECK(s.bash("cke run MODEL --early") == names{"--early-stopping"});
  CHECK(s.bash("cke run MODEL --early-stopping \"\"") == names{"no", "yes", "never"});
  CHECK(s.bash("cke chat --kv b") == names{"bf16"});
  CHECK(s.bash("cke completion \"\"") == names{"bash", "zsh", "fish"});
  CHECK(s.bash("cke run --temp \"\"").empty());  // a number
  write(s.dir / "a model.gguf", "x");
  for (const std::string words : {"cke run ", "cke run MODEL --grammar ", "cke run MODEL --draft-model "})
    CHECK(s.bash(words + (s.dir / "a\\ m").string()) == names{s.dir / "a model.gguf"});
}

TEST_CASE("completion: fish offers the same" * doctest::skip(!there("fish"))) {
  const script s("fish");
  CHECK(s.fish("cke ") == commands());
  for (const std::string& c : commands()) {
    CAPTURE(c);
    names long_ones;
    for (const std::string& o : options(c))
      if (o.starts_with("--")) long_ones.insert(o);
    CHECK(s.fish("cke " + c + " --") == long_ones);
  }
  CHECK(s.fish("cke run MODEL --early-stopping ") == names{"no", "yes", "never"});
}

TEST_CASE("completion: zsh takes the script" * doctest::skip(!there("zsh"))) {
  const script s("zsh");
  const shell_result syntax = shell("zsh -n " + s.path);
  CHECK_MESSAGE((syntax.status == 0 && syntax.out.empty()), syntax.out);
  const shell_result taken =
      shell("zsh -f -c 'autoload -Uz compinit; compinit -D -u; source " + s.path + "; print $_comps[cke]'");
  CHECK(taken.out == "_cke\n");
  const std::string text = content(s.path);
  for (const std::string& c : commands()) {
    CHECK(text.find("    '" + c + ":") != text.npos);
    CHECK(text.find("    " + c + ") _arguments") != text.npos);
    for (const std::string& o : options(c)) CHECK(text.find("'*" + o + "[") != text.npos);
  }
}

TEST_CASE("help: of the program, of a command, and a manual page of all of them") {
  CHECK(run_cke({"help"}).out == run_cke({"--help"}).out);
  CHECK(run_cke({"help", "run"}).out == run_cke({"run", "--help"}).out);
  const result none = run_cke({"help", "walk"});
  CHECK(is_refusal(none, 2));
  CHECK(none.err == "cke: error: COMMAND: expected one of those that cke help lists, found walk\n");
  CHECK(run_cke({"help", "run", "--man"}).status == 2);
  CHECK(run_cke({"completion"}).status == 2);
  CHECK(run_cke({"completion", "tcsh"}).status == 2);

  const result page = run_cke({"help", "--man"});
  CHECK_SUCCESS(page);
  CHECK(page.out.starts_with(".TH CKE 1 "));
  static const std::regex dash("-");
  for (const std::string& c : commands()) {
    const std::size_t at = page.out.find(".SS cke " + c + "\n");
    REQUIRE_MESSAGE(at != page.out.npos, c);
    const std::string part = page.out.substr(at, page.out.find("\n.S", at + 1) - at);
    for (const std::string& o : options(c))
      if (o != "-h" && o != "--help")
        CHECK_MESSAGE(part.find("\\fB" + std::regex_replace(o, dash, "\\-") + "\\fR") != part.npos,
                      std::string(c + ' ' + o));
  }
  // Each line is text or one of the requests.
  static const std::regex request("\\.(TH|SH|SS|TP|PP|br)( .*)?");
  for (std::size_t at = 0, end; (end = page.out.find('\n', at)) != page.out.npos; at = end + 1)
    if (page.out[at] == '.' || page.out[at] == '\'')
      CHECK_MESSAGE(std::regex_match(page.out.substr(at, end - at), request), page.out.substr(at, end - at));
}

TEST_CASE("help --man: groff sets it without a warning" * doctest::skip(!there("groff"))) {
  const scratch dir;
  write(dir / "cke.1", run_cke({"help", "--man"}).out);
  const shell_result warnings = shell("groff -man -ww -Tascii -z " + (dir / "cke.1").string());
  CHECK_MESSAGE((warnings.status == 0 && warnings.out.empty()), warnings.out);
  const shell_result text = shell("groff -man -Tascii -P-c -P-b -P-u -P-o " + (dir / "cke.1").string());
  CHECK(text.out.find("cke quantize") != text.out.npos);
  CHECK(text.out.find("--repeat-penalty") != text.out.npos);
}

}  // namespace words_test
