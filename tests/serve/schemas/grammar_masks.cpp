// SPDX-License-Identifier: MIT
// grammar_masks.cpp: grammar_masks TOKENIZER.json: a dialogue on standard input and output, a line each, for masks.py:
// "pieces" -> the bytes of each token; "schema JSON" -> its grammar and first mask; "token ID" -> the mask behind it.
#include <cke/io/hf_tokenizer.hpp>
#include <cke/io/json_schema.hpp>
#include <cke/io/pattern_splitter.hpp>
#include <cke/text/grammar/gbnf.hpp>
#include <cke/text/grammar/token_grammar.hpp>

#include <fstream>
#include <iostream>
#include <iterator>

namespace {

using namespace cke;
using namespace cke::io;
using namespace cke::text;
using document = nlohmann::ordered_json;

std::string hex(std::string_view bytes) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes) (out += digits[static_cast<u8>(c) >> 4]) += digits[static_cast<u8>(c) & 15];
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const tokenizer tokens(
      with_patterns(parse_hf_tokenizer(std::string(std::istreambuf_iterator<char>(file), {})), argv[1]));
  const auto trie = std::make_shared<token_trie>(tokens);
  std::unique_ptr<token_grammar> of;
  token_grammar::state at{};
  const auto mask = [&] {
    const auto words = of->allowed(at);
    return std::string(of->accepts(at) ? "1 " : "0 ") +
        hex({reinterpret_cast<const char*>(words.data()), words.size_bytes()});
  };
  for (std::string line; std::getline(std::cin, line);) {
    if (line == "pieces") {
      for (u32 id = 0; id < tokens.vocab_size(); ++id)
        std::cout << (tokens.is_special(id) ? "-" : hex(tokens.piece(id))) << ' ';
      std::cout << std::endl;
    } else if (line.starts_with("schema ")) {
      try {
        const std::string text = json_schema_gbnf(document::parse(line.substr(7)), "schema");
        of = std::make_unique<token_grammar>(std::make_shared<grammar>(parse_gbnf(text, "grammar")), trie);
        at = of->start();
        std::cout << document(text).dump() << std::endl << mask() << std::endl;
      } catch (const Error& e) { std::cout << document{{"error", e.what()}}.dump() << std::endl; }
    } else {
      at = of->next(at, tokens.piece(static_cast<u32>(std::stoul(line.substr(6)))));
      std::cout << mask() << std::endl;
    }
  }
}
