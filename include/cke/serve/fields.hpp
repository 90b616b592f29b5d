// SPDX-License-Identifier: MIT
// fields.hpp: every field of every request, with its type and range.
#pragma once

#include "field.hpp"

namespace cke::serve::fields {

inline constexpr double any = 9007199254740992;  // 2^53: readers of JSON disagree beyond it
inline constexpr double body = 1 << 30;          // no bound except the body's limit

inline constexpr std::array<std::string_view, 5> roles{"system", "developer", "user", "assistant", "tool"};
inline constexpr std::array<std::string_view, 1> function{"function"};
// The last two are the names that OpenAI's Responses API has for the first two.
inline constexpr std::array<std::string_view, 4> part_types{"text", "image_url", "input_text", "input_image"};
inline constexpr std::array<std::string_view, 3> details{"auto", "low", "high"};
inline constexpr std::array<std::string_view, 3> tool_choices{"none", "auto", "required"},
    formats{"text", "json_object", "json_schema"};

// ---- how to choose tokens: both of the generating endpoints ----------------------------------------
inline constexpr std::array sampling{
    field{.name = "model", .is = kind::text, .most = 512, .about = "The served model's id; absent: that one."},
    field{.name = "temperature", .is = kind::number, .most = 100, .about = "0: always the likeliest token. Default 1."},
    field{.name = "top_p",
          .is = kind::number,
          .most = 1,
          .about = "The likeliest tokens whose probabilities reach it. Default 1."},
    field{.name = "top_k", .is = kind::integer, .most = any, .about = "The k likeliest tokens; 0, the default: all."},
    field{.name = "min_p",
          .is = kind::number,
          .most = 1,
          .about = "Tokens of at least this share of the likeliest one's probability. Default 0."},
    field{.name = "typical_p",
          .is = kind::number,
          .least = 1e-6,
          .most = 1,
          .about = "The most typical tokens whose probabilities reach it. Default 1: off."},
    field{.name = "frequency_penalty",
          .is = kind::number,
          .least = -2,
          .most = 2,
          .about = "Off a token's logit for each time it occurred. Default 0."},
    field{.name = "presence_penalty",
          .is = kind::number,
          .least = -2,
          .most = 2,
          .about = "Off a token's logit once it occurred. Default 0."},
    field{.name = "repetition_penalty",
          .is = kind::number,
          .least = 0.01,
          .most = 100,
          .about = "Divides (negative: multiplies) the logit of what occurred. Default 1."},
    field{.name = "repeat_penalty",
          .is = kind::number,
          .least = 0.01,
          .most = 100,
          .about = "llama.cpp's name of repetition_penalty."},
    field{.name = "repeat_last_n",
          .is = kind::integer,
          .most = 4294967295,
          .about = "Tokens, of the prompt too, that the penalties look at. Default: all."},
    field{.name = "logit_bias",
          .is = kind::biases,
          .least = -100,
          .most = 100,
          .about = "Added to the logits of tokens, by id."},
    field{.name = "seed",
          .is = kind::integer,
          .least = -9223372036854775808.0,
          .most = 9223372036854775807.0,
          .about = "The same seed gives the same answer. Default: a random one."},
    field{.name = "n",
          .is = kind::integer,
          .least = 1,
          .most = 16,
          .about = "Answers; the i-th has the seed seed + i. Default 1."},
    field{.name = "grammar",
          .is = kind::text,
          .least = 1,
          .most = body,
          .about = "The answer is a text of this grammar, in llama.cpp's notation (GBNF)."},
    field{.name = "stop",
          .is = kind::texts,
          .least = 1,
          .most = 16,
          .about = "Texts that end the answer and are no part of it."},
    field{.name = "stream",
          .is = kind::boolean,
          .about = "Whether the answer comes as server-sent events. Default false."},
    field{.name = "min_tokens",
          .is = kind::integer,
          .most = any,
          .about = "The model's own end may not come before so many new tokens. Default 0."},
    field{.name = "ignore_eos", .is = kind::boolean, .about = "Go on after the model's own end. Default false."},
    field{.name = "user", .is = kind::text, .most = body, .about = "A label; has no effect."},
    field{.name = "service_tier", .is = kind::word, .neutral = R"(["auto","default"])"},
};
inline constexpr std::array stream_options{
    field{.name = "include_usage",
          .is = kind::boolean,
          .about = "A last event with the usage and no choices. Default false."},
    field{.name = "include_obfuscation", .is = kind::boolean, .neutral = "[false]"},
};
inline constexpr std::array streaming{
    field{
        .name = "stream_options", .is = kind::object, .fields = stream_options, .about = "Only where stream is true."},
};

// ---- POST /v1/completions -------------------------------------------------------------------------
inline constexpr auto completion = together(
    std::array{
        field{.name = "prompt",
              .is = kind::prompt,
              .most = 64,
              .required = true,
              .about = "A text, token ids, or up to 64 of either."},
        field{.name = "max_tokens",
              .is = kind::integer,
              .most = any,
              .about = "Default 16; 0 with echo: the prompt alone."},
        field{.name = "logprobs",
              .is = kind::integer,
              .most = 20,
              .about = "So many of the likeliest tokens for each, with their log-probabilities."},
        field{.name = "echo", .is = kind::boolean, .about = "The prompt comes before the answer. Default false."},
        field{.name = "best_of",
              .is = kind::integer,
              .least = 1,
              .most = 16,
              .about = "So many answers are made, and those n given whose tokens are likeliest on average. Default: n; "
                       "with stream only that."},
        field{.name = "suffix", .is = kind::text, .neutral = R"([""])"},
    },
    sampling, streaming);

// ---- POST /v1/embeddings --------------------------------------------------------------------------
inline constexpr std::array<std::string_view, 2> encodings{"float", "base64"};
inline constexpr std::array embeddings{
    field{.name = "input",
          .is = kind::prompt,
          .most = 2048,
          .required = true,
          .about = "A text, token ids, or up to 2048 of either."},
    field{.name = "model", .is = kind::text, .most = 512, .about = "The served model's id; absent: that one."},
    field{.name = "encoding_format",
          .is = kind::word,
          .words = encodings,
          .about = "Numbers, the default; or their bytes as little-endian float32, in base64."},
    field{.name = "dimensions",
          .is = kind::integer,
          .least = 1,
          .most = any,
          .about = "The first so many, of length 1 again: for models that were trained for it. Default: all."},
    field{.name = "user", .is = kind::text, .most = body, .about = "A label; has no effect."},
};

// ---- POST /v1/chat/completions --------------------------------------------------------------------
inline constexpr std::array called_function{
    field{.name = "name", .is = kind::text, .least = 1, .most = 256, .required = true},
    field{.name = "arguments", .is = kind::text, .most = body, .required = true, .about = "A JSON object, as text."},
};
inline constexpr std::array tool_call{
    field{.name = "id", .is = kind::text, .most = 256},
    field{.name = "type", .is = kind::word, .words = function},
    field{.name = "index", .is = kind::integer, .most = any},
    field{.name = "function", .is = kind::object, .fields = called_function, .required = true},
};
inline constexpr field image_detail{
    .name = "detail",
    .is = kind::word,
    .words = details,
    .about =
        "low: an image whose longer side has more than 512 pixels is made smaller first. "
        "auto, the default, and high: it is not."};
inline constexpr std::array image_url{
    field{.name = "url",
          .is = kind::text,
          .least = 1,
          .most = body,
          .required = true,
          .about = "data:TYPE;base64,BYTES of an image file. http and https: where the server fetches images."},
    image_detail,
};
inline constexpr std::array content_part{
    field{.name = "type", .is = kind::word, .words = part_types, .required = true},
    field{.name = "text", .is = kind::text, .most = body, .about = "Of a part of type text or input_text."},
    field{.name = "image_url",
          .is = kind::reference,
          .least = 1,
          .most = body,
          .fields = image_url,
          .about = "Of a part of type image_url or input_image: an object, or its url alone."},
    image_detail,
};
inline constexpr std::array message{
    field{.name = "role", .is = kind::word, .words = roles, .required = true},
    field{.name = "content", .is = kind::content, .most = 256, .fields = content_part},
    field{.name = "name", .is = kind::text, .most = 256},
    field{.name = "reasoning_content",
          .is = kind::text,
          .most = body,
          .about = "The thought before an assistant's content."},
    field{.name = "tool_calls", .is = kind::list, .most = 128, .fields = tool_call},
    field{.name = "tool_call_id", .is = kind::text, .most = 256},
    field{.name = "refusal", .is = kind::text, .neutral = R"([""])"},
    field{.name = "annotations", .is = kind::list, .neutral = "[[]]"},
    field{.name = "audio", .is = kind::anything, .neutral = "[null]"},
    field{.name = "function_call", .is = kind::anything, .neutral = "[null]"},
};
inline constexpr std::array tool_function{
    field{.name = "name", .is = kind::text, .least = 1, .most = 256, .required = true},
    field{.name = "description", .is = kind::text, .most = body},
    field{.name = "parameters", .is = kind::anything, .about = "A JSON Schema; the template shows it to the model."},
    field{.name = "strict",
          .is = kind::boolean,
          .about = "The arguments of a call fit `parameters`, whatever the model would write. Default false."},
};
inline constexpr std::array tool{
    field{.name = "type", .is = kind::word, .words = function, .required = true},
    field{.name = "function", .is = kind::object, .fields = tool_function, .required = true},
};
// What a template is rendered from.
inline constexpr std::array conversation{
    field{.name = "messages", .is = kind::list, .least = 1, .most = 4096, .fields = message, .required = true},
    field{.name = "tools", .is = kind::list, .most = 128, .fields = tool},
    field{.name = "chat_template_kwargs",
          .is = kind::anything,
          .about = "Further variables of the template, such as enable_thinking."},
};
inline constexpr std::array chosen_function{
    field{.name = "name", .is = kind::text, .least = 1, .most = 256, .required = true},
};
inline constexpr std::array tool_choice{
    field{.name = "type", .is = kind::word, .words = function, .required = true},
    field{.name = "function", .is = kind::object, .fields = chosen_function, .required = true},
};
inline constexpr std::array json_schema{
    field{.name = "name", .is = kind::text, .least = 1, .most = 256, .required = true},
    field{.name = "description", .is = kind::text, .most = body},
    field{.name = "schema",
          .is = kind::anything,
          .about = "What docs/serve.md lists of JSON Schema; default: any object."},
    field{.name = "strict", .is = kind::boolean, .about = "Has no effect: the schema always holds."},
};
inline constexpr std::array response_format{
    field{.name = "type", .is = kind::word, .words = formats, .required = true},
    field{.name = "json_schema", .is = kind::object, .fields = json_schema, .about = "Where type is json_schema."},
};
inline constexpr auto chat = together(
    conversation,
    std::array{
        field{.name = "max_completion_tokens",
              .is = kind::integer,
              .least = 1,
              .most = any,
              .about = "Default: what the context leaves."},
        field{.name = "max_tokens",
              .is = kind::integer,
              .least = 1,
              .most = any,
              .about = "The older name of max_completion_tokens."},
        field{.name = "logprobs",
              .is = kind::boolean,
              .about = "Log-probabilities of the answer's tokens. Default false."},
        field{.name = "top_logprobs",
              .is = kind::integer,
              .most = 20,
              .about = "And so many of the likeliest. Needs logprobs."},
        field{.name = "tool_choice",
              .is = kind::word,
              .words = tool_choices,
              .fields = tool_choice,
              .about = "auto, the default; none; required: calls and nothing else; or the one function to call."},
        field{.name = "parallel_tool_calls",
              .is = kind::boolean,
              .about = "false: at most one call, with which the answer ends. Default true."},
        field{.name = "metadata", .is = kind::anything, .about = "Labels; have no effect."},
        field{.name = "safety_identifier", .is = kind::text, .most = body, .about = "A label; has no effect."},
        field{.name = "prompt_cache_key", .is = kind::text, .most = body, .about = "A label; has no effect."},
        field{.name = "response_format",
              .is = kind::object,
              .fields = response_format,
              .about = "Any text, the default; a JSON object; or JSON of a schema."},
        field{.name = "reasoning_effort", .is = kind::word, .neutral = "[null]"},
        field{.name = "verbosity", .is = kind::word, .neutral = R"(["medium"])"},
        field{.name = "modalities", .is = kind::anything, .neutral = R"([["text"]])"},
        field{.name = "audio", .is = kind::anything, .neutral = "[null]"},
        field{.name = "prediction", .is = kind::anything, .neutral = "[null]"},
        field{.name = "store", .is = kind::boolean, .neutral = "[false]"},
        field{.name = "web_search_options", .is = kind::anything, .neutral = "[null]"},
        field{.name = "functions", .is = kind::list, .neutral = "[[]]"},
        field{.name = "function_call", .is = kind::word, .neutral = R"(["none","auto"])"},
    },
    sampling, streaming);

// ---- text without the model -----------------------------------------------------------------------
inline constexpr std::array tokenize{
    field{.name = "content", .is = kind::text, .most = body, .required = true},
    field{.name = "add_special",
          .is = kind::boolean,
          .about = "With the tokens that begin and end a text. Default false."},
    field{.name = "parse_special",
          .is = kind::boolean,
          .about = "Control tokens in the text become those tokens. Default true."},
};
inline constexpr std::array detokenize{
    field{.name = "tokens", .is = kind::ids, .required = true},
};
inline constexpr auto apply_template =
    together(conversation,
             std::array{
                 field{.name = "add_generation_prompt",
                       .is = kind::boolean,
                       .about = "Whether it ends with the beginning of an answer. Default true."},
             });

}  // namespace cke::serve::fields
