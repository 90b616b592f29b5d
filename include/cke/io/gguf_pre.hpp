// SPDX-License-Identifier: MIT
// gguf_pre.hpp: llama.cpp's names for pre-tokenizers, which GGUF files use.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "../core/error.hpp"
#include "../text/tokenizer/vocabulary.hpp"

CKE_COLD_BEGIN
namespace cke::io::detail {

// The patterns as in the model's tokenizer.json if that is known, else as in llama.cpp.
namespace patterns {
inline constexpr std::string_view gpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view qwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
inline constexpr std::string_view digit = R"(\p{N})", digits = R"(\p{N}+)", three_digits = R"(\p{N}{1,3})",
                                  lines = R"([^\n]+|[\n]+)";

// Words in capitals, lower case or both. AFTER is the suffix for apostrophes, if any.
#define CKE_CASED(AFTER)                                                                  \
  R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)" AFTER \
  R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)" AFTER
#define CKE_SHORT "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
#define CKE_REST R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
inline constexpr std::string_view gpt4o = CKE_CASED(CKE_SHORT) R"(|\p{N}{1,3})" CKE_REST,
                                  tekken = CKE_CASED("") R"(|\p{N})" CKE_REST,
                                  youtu_words = CKE_CASED(CKE_SHORT) R"(|\p{N})" CKE_REST;
#undef CKE_CASED
#undef CKE_SHORT
#undef CKE_REST
inline constexpr std::string_view deepseek_words =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
    "?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";

inline constexpr std::string_view
    afmoe
        [] = {R"(\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N})))",
              "[一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-"
              "ᇿ]"
              "+",
              deepseek_words},
   chameleon[] = {"<sentinel:[0-9]+>",       "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
                  R"(([\t\n]|    |  ))",     digit,
                  R"([\p{P}!-/:-@\[-`{-~])", gpt2},
   cohere2[] = {R"(\d{1,3}(?=(?:\d{3})*\b))", gpt4o},
   deepseek_coder[] = {"[\r\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)", "[一-龥ࠀ-一가-퟿]+", digit},
   deepseek_llm[] = {"[\r\n]",
                     "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-"
                     "ὗὙὛὝὟ-ώᾀ-ᾴᾶ-ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤΩℨK-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-"
                     "ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+",
                     "\\s?[!-/:-~！-／：-～‘-‟　-。]+",
                     R"(\s+$)",
                     "[一-龥ࠀ-一가-퟿]+",
                     digits},
   deepseek3[] = {three_digits, "[一-龥぀-ゟ゠-ヿ]+", deepseek_words},
   exaone_moe[] =
       {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"},
   falcon[] = {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2, "[0-9][0-9][0-9]"}, gpt4o_alone[] = {gpt4o},
   granite_embed[] =
       {R"([^\r\n\p{L}\p{N}]?((?=[\p{L}\p{M}])([^a-z]))*((?=[\p{L}\p{M}])([^A-Z]))+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
        R"(|[^\r\n\p{L}\p{N}]?((?=[\p{L}\p{M}])([^a-z]))+((?=[\p{L}\p{M}])([^A-Z]))*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
        R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
   jais2[] =
       {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S))"
        R"(|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"},
   kimi[] =
       {R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
        R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
        R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
   laguna[] = {lines, qwen2},
   ling[] =
       {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"},
   minicpm5[] =
       {three_digits,
        R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
   old_default[] = {R"([\p{P}\$\+<=>\^~\|]+)", gpt2, digits, "[0-9][0-9][0-9]"},
   poro[] = {" ?[^(\\s|.,!?…。，、।۔،)]+"},
   qwen35[] =
       {R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
   seed[] =
       {"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1}| "
        "?[^\\s\\p{L}\\p{N}\r\n]+|\\s*[\r\n]+|\\s+(?!\\S)|\\s+"},
   spark[] = {three_digits, "[一-龥぀-ゟ゠-ヿ]+",
              "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
              "?[\\p{P}\\p{S}]+|[\r\n]|\\s+(?!\\S)|\\s+",
              digit},
   superbpe[] = {digits, R"((?=(\d{3})+(?!\d)))"}, tekken_alone[] = {tekken},
   ufakzeka[] = {R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"},
   viking[] = {" ?[^(\\s|.,!?…。，、।۔،)]+", digit},
   youtu[] = {"[가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+",
              youtu_words};
}  // namespace patterns

// What a name stands for: a built-in splitter or patterns, and the settings that the family's tokenizer.json adds.
struct gguf_pre {
  std::string_view name;
  pre_tokenizer kind;
  bool nfc = false, ignore_merges = false, add_bos = false;
  std::span<const std::string_view> patterns{};

  constexpr gguf_pre(std::string_view n, pre_tokenizer k, bool form_c = false, bool whole = false, bool begins = false)
      : name(n), kind(k), nfc(form_c), ignore_merges(whole), add_bos(begins) {}
  constexpr gguf_pre(std::string_view n, std::span<const std::string_view> p, bool form_c = false, bool whole = false,
                     bool begins = false)
      : name(n), kind(pre_tokenizer::patterns), nfc(form_c), ignore_merges(whole), add_bos(begins), patterns(p) {}
};

// If several names have the same rules, the writer uses the first.
inline constexpr gguf_pre gguf_pres[] = {
    {"gpt-2", pre_tokenizer::gpt2},
    {"olmo", pre_tokenizer::gpt2, true},
    {"phi-2", pre_tokenizer::gpt2},
    {"mpt", pre_tokenizer::gpt2},
    {"jais", pre_tokenizer::gpt2},
    {"trillion", pre_tokenizer::gpt2},
    {"granite-docling", pre_tokenizer::gpt2},
    {"exaone4", pre_tokenizer::gpt2},
    {"jina-es", pre_tokenizer::gpt2},
    {"jina-de", pre_tokenizer::gpt2},
    {"jina-v2-es", pre_tokenizer::gpt2},
    {"jina-v2-de", pre_tokenizer::gpt2},
    {"jina-v1-en", pre_tokenizer::gpt2},
    {"jina-v2-code", pre_tokenizer::gpt2},
    {"roberta-bpe", pre_tokenizer::gpt2},
    {"gigachat", pre_tokenizer::gpt2},
    {"a.x-4.0", pre_tokenizer::gpt2},
    {"mellum", pre_tokenizer::gpt2},
    {"modern-bert", pre_tokenizer::gpt2},
    {"smollm", pre_tokenizer::smollm},
    {"starcoder", pre_tokenizer::smollm},
    {"refact", pre_tokenizer::smollm},
    {"command-r", pre_tokenizer::smollm},
    {"codeshell", pre_tokenizer::smollm},
    {"exaone", pre_tokenizer::smollm},
    {"minerva-7b", pre_tokenizer::smollm},
    {"mellum2", pre_tokenizer::smollm},
    {"llama-bpe", pre_tokenizer::llama3, false, true, true},
    {"llama3", pre_tokenizer::llama3, false, true, true},
    {"llama-v3", pre_tokenizer::llama3, false, true, true},
    {"lfm2", pre_tokenizer::llama3, false, true, true},
    {"falcon3", pre_tokenizer::llama3, false, true, true},
    {"falcon-h1", pre_tokenizer::llama3, false, true, true},
    {"pixtral", pre_tokenizer::llama3, false, true, true},
    {"midm-2.0", pre_tokenizer::llama3, false, true, true},
    {"jina-v5-nano", pre_tokenizer::llama3, false, true, true},
    {"glm4", pre_tokenizer::llama3, false, true},
    {"glm5", pre_tokenizer::llama3, false, true},
    {"chatglm-bpe", pre_tokenizer::llama3},
    {"dbrx", pre_tokenizer::llama3},
    {"smaug-bpe", pre_tokenizer::llama3},
    {"qwen2", pre_tokenizer::qwen2, true},
    {"deepseek-r1-qwen", pre_tokenizer::qwen2, true},
    {"stablelm2", pre_tokenizer::qwen2},
    {"kormo", pre_tokenizer::qwen2},
    {"f2llmv2", pre_tokenizer::qwen2},
    {"megrez", pre_tokenizer::qwen2},
    {"hunyuan", pre_tokenizer::qwen2},
    {"solar-open", pre_tokenizer::qwen2},
    {"grok-2", pre_tokenizer::qwen2},
    {"qwen35", patterns::qwen35},
    {"gpt-4o", patterns::gpt4o_alone},
    {"llama4", patterns::gpt4o_alone},
    {"kanana2", patterns::gpt4o_alone},
    {"talkie", patterns::gpt4o_alone},
    {"minimax-m2", patterns::gpt4o_alone},
    {"tekken", patterns::tekken_alone, false, true, true},
    {"deepseek-v3", patterns::deepseek3},
    {"hunyuan-dense", patterns::deepseek3},
    {"joyai-llm", patterns::deepseek3},
    {"hy_v4", patterns::deepseek3},
    {"deepseek-llm", patterns::deepseek_llm},
    {"deepseek-coder", patterns::deepseek_coder},
    {"falcon", patterns::falcon},
    {"afmoe", patterns::afmoe},
    {"bailingmoe", patterns::ling},
    {"bailingmoe2", patterns::ling},
    {"llada-moe", patterns::ling},
    {"bloom", patterns::poro},
    {"poro-chat", patterns::poro},
    {"gpt3-finnish", patterns::poro},
    {"viking", patterns::viking},
    {"chameleon", patterns::chameleon, false, false, true},
    {"default", patterns::old_default},
    {"exaone-moe", patterns::exaone_moe},
    {"granite-embed-multi-97m", patterns::granite_embed, false, true},
    {"jais-2", patterns::jais2},
    {"kimi-k2", patterns::kimi},
    {"laguna", patterns::laguna},
    {"minicpm5", patterns::minicpm5, false, true},
    {"seed-coder", patterns::seed},
    {"spark2_5", patterns::spark},
    {"superbpe", patterns::superbpe},
    {"tiny_aya", patterns::cohere2},
    {"cohere2moe", patterns::cohere2},
    {"ufakzeka", patterns::ufakzeka},
    {"youtu", patterns::youtu, false, true},
};

inline const gguf_pre& gguf_pre_named(std::string_view name, const std::string& file) {
  for (const gguf_pre& row : gguf_pres)
    if (row.name == name) return row;
  throw Error(errc::unsupported, file, "tokenizer.ggml.pre", "a name of llama.cpp's, such as gpt-2, llama-bpe or qwen2",
              name);
}

// llama.cpp ignores the normalisation that a name implies, so a name with another one is used if none fits better.
inline std::string_view gguf_pre_of(const vocabulary& v, const std::string& file) {
  // A pattern with this ending matches everything, so drops_rest makes no difference.
  const auto same = [](const split_rule& rule, std::string_view pattern) {
    return rule.pattern == pattern && (!rule.drops_rest || pattern.ends_with(R"(|\s+)"));
  };
  for (const bool exact : {true, false})
    for (const gguf_pre& row : gguf_pres)
      if (row.kind == v.pre && std::ranges::equal(v.patterns, row.patterns, same) &&
          row.ignore_merges == v.ignore_merges && (row.nfc == v.nfc || !exact))
        return row.name;
  throw Error(errc::unsupported, file, "tokenizer", "rules that GGUF has a name for", "others");
}

}  // namespace cke::io::detail
CKE_COLD_END
