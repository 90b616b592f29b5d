// SPDX-License-Identifier: MIT
// main.cpp: parses the command line of cke.
#include <arpa/inet.h>
#include <fcntl.h>
#include <CLI/CLI.hpp>

#include <csignal>
#include <functional>
#include <iostream>

#include "commands.hpp"
#include "dump_options.hpp"
#include "number_list.hpp"
#include "option_table.hpp"
#include "options.hpp"
#include "report_options.hpp"
#include "rooms.hpp"
#include "terminal.hpp"
#include "training_options.hpp"
#include "tune_options.hpp"

namespace cke::tool {
namespace {

const CLI::Validator ip_address(
    [](const std::string& text) {
      unsigned char bytes[16];
      const bool right = inet_pton(AF_INET, text.c_str(), bytes) == 1 || inet_pton(AF_INET6, text.c_str(), bytes) == 1;
      return right ? std::string() : '"' + text + "\" is no IP address";
    },
    "");

// Every command: its name, description, options and function.
class commands {
 public:
  explicit commands(CLI::App& app) : app_(app) {
    CLI::App& r = add("run", "continue a text", [this] { run(run_); });
    running_options_of(r, run_.model);
    auto* prompt = r.add_option("-p,--prompt", run_.prompt, "the text");
    auto* ids = r.add_option("--tokens", run_.tokens, "its ids, between commas")->excludes(prompt);
    image_options_of(r, run_.shown);
    mmproj_option_of(r, run_.model.mmproj);
    r.add_option("-n,--max-tokens", run_.answer.max_tokens, "most new tokens (256)")->check(any_count());
    r.add_flag("--ids", run_.ids, "print a JSON array of the new ids");
    const std::vector<CLI::Option*> changing = answer_options_of(r, run_.answer);
    sliding_option_of(r, run_.slide);
    r.add_option("--system", run_.system, "the system message; the prompt is then a message in the model's chat form")
        ->type_name("TEXT")
        ->excludes(ids);
    thinking_option_of(r, run_.thinking,
                       "whether a model that can think may; the prompt is then a message in the model's chat form")
        ->excludes(ids);
    auto* ahead =
        r.add_option(
             "--draft", run_.draft,
             "guess up to N ids ahead, from what the text repeats, and check them in one pass: the same answer, sooner")
            ->type_name("N")
            ->check(number(0u, 64u))
            ->capture_default_str();
    r.add_option("--draft-model", run_.draft_model,
                 "a smaller model with the same vocabulary, which guesses them instead")
        ->type_name("MODEL")
        ->needs(ahead);
    auto* beams = r.add_option("--beams", run_.beams,
                               "beam search: the likeliest answer that N beams find, as transformers' num_beams")
                      ->type_name("N")
                      ->check(number(1u, 256u))
                      ->excludes(ahead);
    for (CLI::Option* option : changing) beams->excludes(option);
    r.add_option("--answers", run_.answers, "so many of the best, with their scores")
        ->type_name("N")
        ->needs(beams)
        ->check(number(1u, 256u));
    r.add_option("--length-penalty", run_.length_penalty,
                 "an answer's score is its log-probability over its length to this power")
        ->type_name("X")
        ->needs(beams)
        ->check(number(-100.f, 100.f))
        ->capture_default_str();
    r.add_option(
         "--early-stopping", run_.early_stopping,
         "stop once as many answers ended as there are beams (yes), could hardly become better (no), or cannot (never)")
        ->needs(beams)
        ->check(CLI::IsMember({"no", "yes", "never"}))
        ->capture_default_str();
    r.add_option("--load-session", run_.load_session,
                 "go on where the session in FILE ended; the prompt, if any, is what comes next")
        ->type_name("FILE")
        ->excludes("--system")
        ->excludes("--think");
    r.add_option("--save-session", run_.save_session, "keep the session in FILE, prompt and answer")
        ->type_name("FILE")
        ->excludes(beams);
    auto* grammar = r.add_option("--grammar", run_.grammar, "a GBNF file: the answer is a text of that grammar")
                        ->type_name("FILE")
                        ->excludes(beams);
    r.add_option("--json-schema", run_.json_schema, "a JSON Schema: the answer is a document of it")
        ->type_name("FILE")
        ->excludes(grammar)
        ->excludes(beams);

    CLI::App& c = add("chat", "talk with a model in its own chat form", [this] { chat(chat_); });
    running_options_of(c, chat_.model);
    c.add_option("--system", chat_.system, "the system message")->type_name("TEXT");
    c.add_option("-n,--max-tokens", chat_.answer.max_tokens, "most tokens of an answer (what the context leaves)")
        ->check(any_count());
    c.add_option("--draft", chat_.draft,
                 "guess up to N ids ahead, from what the conversation repeats: the same answers, sooner")
        ->type_name("N")
        ->check(number(0u, 64u))
        ->capture_default_str();
    thinking_option_of(c, chat_.thinking, "whether a model that can think may (it may)");
    image_options_of(c, chat_.shown);
    mmproj_option_of(c, chat_.model.mmproj);
    answer_options_of(c, chat_.answer);
    sliding_option_of(c, chat_.slide);

    CLI::App& l = add("logits", "write the logits of ids to a .npy file", [this] { logits(logits_); });
    running_options_of(l, logits_.model);
    l.add_option("--tokens", logits_.tokens, "ids, between commas")->required();
    l.add_option("-o,--output", logits_.output, "the file: float32 [ids, vocab]")->type_name("FILE")->required();
    l.add_flag("--last", logits_.last, "only after the last id: [1, vocab]");
    image_options_of(l, logits_.shown);
    mmproj_option_of(l, logits_.model.mmproj);

    dump_options_of(add("dump", "what each step of a model writes, to a directory", [this] { dump(dump_); }), dump_);
    compare_options_of(add("compare", "how far two dumps are apart, and where first", [this] { compare(compare_); }),
                       compare_);
    bisect_options_of(
        add("bisect", "the first step of a model that is not what a reference says", [this] { bisect(bisect_); }),
        bisect_);

    CLI::App& see = add("vision", "the features of images, as a text model reads them, to a .npy file",
                        [this] { vision(vision_); });
    running_options_of(see, vision_.model);
    const auto [pictures, clips] = image_options_of(see, vision_.shown);
    see.add_option("--pixels", vision_.pixels, "a .npy file with what a processor made of an image")
        ->type_name("FILE")
        ->excludes(pictures)
        ->excludes(clips);
    see.add_option("--grid", vision_.grid, "its frames, and rows and columns of patches")->type_name("T,H,W");
    mmproj_option_of(see, vision_.model.mmproj);
    see.add_flag("--pooled", vision_.pooled, "one row for an image, which SigLIP compares with texts");
    auto* file = see.add_option("-o,--output", vision_.output, "the file: float32 [rows, width]");
    auto* texts =
        see.add_option("--text", vision_.texts, "of SigLIP: print how well it fits each image; may be repeated")
            ->excludes(file)
            ->needs(pictures);
    see.add_flag("--json", vision_.json, "scores as JSON")->needs(texts);

    CLI::App& x = add("perplexity", "how well a model foresees a text, and how far it is from another model",
                      [this] { perplexity(perplexity_); });
    running_options_of(x, perplexity_.model);
    x.add_option("-f,--file", perplexity_.file, "the text")->type_name("FILE")->required();
    x.add_option(
         "--against", perplexity_.against,
         "a reference with the same vocabulary: KL divergence from it to MODEL, top-1 agreement, and the largest "
         "difference")
        ->type_name("MODEL2");
    x.add_option("--stride", perplexity_.stride, "tokens from one window to the next (half of the context)")
        ->type_name("N")
        ->check(number(1u, 1u << 24));
    x.add_flag("--json", perplexity_.json, "as one JSON object");
    x.footer("A window is a context (-c). Each token after the first is scored once, in the first window that has it.");

    CLI::App& e = add("embed", "texts to vectors of length 1", [this] { embed(embed_); });
    running_options_of(e, embed_.model);
    e.add_option("-p,--prompt", embed_.prompts, "the texts")->type_name("TEXT")->required();
    pooling_option_of(e, embed_.pooling);
    e.add_option("--dimensions", embed_.dimensions, "only the first N, for models that were trained for it")
        ->type_name("N")
        ->check(number(1u, 1u << 20));
    e.add_flag("--json", embed_.json, "as OpenAI's interface answers");

    CLI::App& t = add("tokenize", "text to a JSON array of ids", [this] { tokenize(tokenize_); });
    text_model(t, tokenize_.path);
    auto* text = t.add_option("-p,--prompt", tokenize_.prompt, "the text (standard input)");
    t.add_option("-f,--file", tokenize_.file, "a file with the text")->type_name("FILE")->excludes(text);
    t.add_flag("!--no-special", tokenize_.special, "without the tokens that begin and end a text");

    CLI::App& d = add("detokenize", "ids to text", [this] { detokenize(detokenize_); });
    text_model(d, detokenize_.path);
    d.add_option("--tokens", detokenize_.tokens, "ids, between commas")->required();

    CLI::App& m = add("template", "a conversation in the model's chat form", [this] { render_template(template_); });
    m.add_option("MODEL", template_.path, "a Hugging Face directory, a .gguf file or a .jinja file")->required();
    m.add_option("--messages", template_.messages, "a JSON file: [{\"role\": ..., \"content\": ...}, ...]")
        ->type_name("FILE")
        ->required();
    m.add_option("--tools", template_.tools, "a JSON file: a list of tools")->type_name("FILE");
    m.add_option("--set", template_.set, "further variables of the template: a JSON object");
    m.add_flag("--ids", template_.ids, "print a JSON array of the ids, not the text");
    mmproj_option_of(m, template_.mmproj);
    m.add_flag("!--no-generation-prompt", template_.generation, "without the beginning of the answer");
    m.add_flag("--think,!--no-think", template_.thinking, "whether a model that can think may (it may)");

    CLI::App& i = add("inspect", "what a checkpoint is", [this] { inspect(inspect_); });
    model_options_of(i, inspect_.model);
    size_options_of(i, inspect_.model);
    auto* plan = i.add_flag("--plan", inspect_.plan, "also the program and its memory plan");
    i.add_flag("--train", inspect_.train, "also the memory that training all weights takes, in passes of 512 ids")
        ->needs(plan);
    i.add_flag("--explain", inspect_.explain, "also each knob that changes speed alone, its value, and who said so");
    i.add_option("--ranks", inspect_.ranks, "also what each of so many ranks holds, and sends for a token")
        ->check(number(1u, 65536u));
    i.add_option("-t,--threads", inspect_.model.threads, thread_help)->check(number(0u, team::max_threads));
    i.add_flag("--json", inspect_.json, "as one JSON object");

    CLI::App& f = add("families", "the families of models that it knows, and what tests established of each",
                      [this] { families(families_); });
    f.add_flag("--json", families_.json, "as one JSON array");
    f.add_option("--status", families_.status,
                 "what tests wrote, a folder or a file (that of this build, or of the one that was installed)")
        ->type_name("FILE");

    CLI::App& k = add("kernels", "the kernels of this build: operations, number formats, instruction sets",
                      [this] { kernels(kernels_); });
    k.add_flag("--json", kernels_.json, "as one JSON object");

    CLI::App& q = add("quantize", "write a GGUF file, which llama.cpp reads too", [this] { quantize(quantize_); });
    q.add_option("IN", quantize_.input,
                 "a Hugging Face directory, or a .gguf file whose matrices are not quantised yet")
        ->required();
    q.add_option("OUT", quantize_.output, "the file: one that is not there yet")->required();
    q.add_option("--to", quantize_.type,
                 "f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q2_k, q3_k_s, q3_k_m, q3_k_l, q4_k_s, q4_k_m, q5_k_s,\n"
                 "q5_k_m, q6_k, iq4_nl, iq4_xs, mxfp4: of most matrices; some get more bits, as in llama.cpp")
        ->required();
    q.add_option("-t,--threads", quantize_.threads, thread_help)->check(number(0u, team::max_threads));

    CLI::App& o = add("convert", "write a checkpoint in another file format", [this] { convert(convert_); });
    o.add_option("MODEL", convert_.input, "a Hugging Face directory or a .gguf file")->required();
    o.add_option("-o,--output", convert_.output,
                 "a name that is free: of a .gguf file, or of a directory with safetensors")
        ->type_name("FILE")
        ->required();
    o.add_option("--to", convert_.type, "f32 or bf16, of all matrices (each as it is stored)")
        ->check(CLI::IsMember({"f32", "bf16"}));
    o.add_option("-t,--threads", convert_.threads, thread_help)->check(number(0u, team::max_threads));

    grad_options_of(add("grad", "the gradients of a batch, to a safetensors file", [this] { grad(grad_); }), grad_);
    train_options_of(
        add("train", "train a model: all weights, or additions of low rank (LoRA)", [this] { train(train_); }), train_);

    merge_options_of(add("merge", "write a checkpoint with low-rank additions in it", [this] { merge(merge_); }),
                     merge_);

    CLI::App& b = add("bench", "tokens per second, in the columns of llama-bench", [this] { bench(bench_); });
    model_options_of(b, bench_.model);
    size_options_of(b, bench_.model);
    b.footer("LIST: numbers between commas; also ranges: 1-4, 8-32+8 or 1-16*2. Each value makes a test.");
    list(b, "-p,--n-prompt", bench_.prompt, "prompt lengths (512)", {0, 1 << 22});
    list(b, "-n,--n-gen", bench_.generate, "tokens to generate (128)", {0, 1 << 22});
    list(b, "-d,--n-depth", bench_.depth, "tokens that are there before (0)", {0, 1 << 22});
    list(b, "-b,--n-sequences", bench_.sequences, "sequences that generate together (1)", {1, 1024});
    list(b, "-t,--threads", bench_.threads, thread_help, {0, team::max_threads});
    auto* peaks =
        b.add_flag("--peaks", bench_.peaks, "also what the machine reads and computes at most, and the share of that");
    b.add_option("--profile", bench_.profile,
                 "instead: where the time of one prompt and one token goes, and a Chrome trace in FILE")
        ->type_name("FILE")
        ->excludes(peaks);
    b.add_option(
         "--baseline", bench_.baseline,
         "what -o json or jsonl wrote before: if a median, a 95th percentile or the peak of memory is beyond it, "
         "print those and exit with 1")
        ->type_name("FILE")
        ->excludes("--profile");
    b.add_option_function<std::string>(
         "--tolerance", [this](const std::string& share) { bench_.tolerance = share_of(share).value(); },
         "how far beyond it a figure may be (3%)")
        ->type_name("X%")
        ->needs("--baseline")
        ->check(CLI::Validator(
            [](const std::string& word) {
              return share_of(word) ? std::string()
                                    : concat({"expected a percentage such as 3%, found \"", word, "\""});
            },
            ""));
    b.add_option("-r,--repetitions", bench_.repetitions, "repetitions")
        ->check(number(1u, 1u << 16))
        ->capture_default_str();
    b.add_option("-o,--output", bench_.output,
                 "md, csv, json, jsonl, or html: one page with rounds, roofline and growth")
        ->check(CLI::IsMember({"md", "csv", "json", "jsonl", "html"}))
        ->capture_default_str();

    report_options_of(
        add("report", "where a model's time and memory go, as one HTML page", [this] { report(report_); }), report_);
    tune_options_of(
        add("tune", "find the hints with which a model is fastest here; others then use them", [this] { tune(tune_); }),
        tune_);

    CLI::App& v = add("serve", "answer HTTP requests, in OpenAI's form", [this] { serve_model(serve_); });
    running_options_of(v, serve_.model);
    v.add_option("--host", serve_.host, "the IP address to listen at; 0.0.0.0: all that this machine has")
        ->type_name("ADDRESS")
        ->check(ip_address)
        ->capture_default_str();
    v.add_option("--port", serve_.port, "the port; 0: any that is free")->capture_default_str();
    v.add_option("--parallel", serve_.slots,
                 "answers at the same time; each has a cache that grows up to the whole context")
        ->check(number(1u, 256u))
        ->capture_default_str();
    sliding_option_of(v, serve_.slide);
    mmproj_option_of(v, serve_.model.mmproj);
    v.add_option("--queue", serve_.queue, "answers that may wait for one of those to end")
        ->check(number(1u, 1u << 16))
        ->capture_default_str();
    auto* guessed = v.add_option("--draft", serve_.draft,
                                 "guess up to N ids ahead in each step, shared among the answers that are under way: "
                                 "the same answers, sooner")
                        ->type_name("N")
                        ->check(number(0u, 64u))
                        ->capture_default_str();
    v.add_option("--draft-model", serve_.draft_model,
                 "a smaller model with the same vocabulary, which guesses them instead of what texts repeat")
        ->type_name("MODEL")
        ->needs(guessed);
    v.add_option("--id", serve_.id, "the model's name in requests and answers (its file's)")->type_name("NAME");
    v.add_option("--api-key-file", serve_.api_key_file, "a file with the keys that clients must have, one a line")
        ->type_name("FILE");
    v.add_option("--allow-host", serve_.allowed_hosts,
                 "a name that the server goes by, besides localhost; may be given again")
        ->type_name("NAME")
        ->allow_extra_args(false);
    v.add_option("--cors-origin", serve_.cors_origin,
                 "an origin whose pages may read answers, such as https://chat.example")
        ->type_name("ORIGIN");
    v.add_option("--drain", serve_.drain, "seconds that running answers may go on after SIGTERM")
        ->check(number(0u, 3600u))
        ->capture_default_str();
    pooling_option_of(v, serve_.pooling);
    v.add_option("--max-body", serve_.body_mebibytes, "MiB of a request (4; 32 for a model that sees images)")
        ->type_name("N")
        ->check(number(1u, 1024u));
    v.add_option("--max-images", serve_.images, "images of a request")->check(number(1u, 4096u))->capture_default_str();
    v.add_option("--max-image-pixels", serve_.image_pixels, "pixels of one image, looked at before it is decoded")
        ->check(number(u64{1}, u64{1} << 30))
        ->capture_default_str();
    v.add_flag("--allow-image-urls", serve_.fetch_images,
               "fetch images from http and https addresses that requests name, on the public network alone");
    v.add_option("--trace", serve_.trace, "writes what each pass held and what each request waited for, for Perfetto")
        ->type_name("FILE");
    v.add_flag("--insecure", serve_.insecure, "listen where others can reach it, without keys");
    v.footer(
        "Without other options it answers this machine alone, at http://127.0.0.1:8080: /v1/chat/completions, "
        "/v1/completions,\n"
        "/v1/embeddings, /v1/models, /tokenize, /detokenize, /apply-template, /health, /metrics, /slots, "
        "/openapi.json. SIGTERM ends it in good order.");

    CLI::App& p =
        add("pack", "write a bundle: a file with a model's weights as they lie in memory, which loads at once",
            [this] { pack(pack_); });
    model_options_of(p, pack_.model);
    p.add_option("-o,--output", pack_.output, "the file, such as model.cke")->type_name("FILE")->required();
    p.add_flag("--replace", pack_.replace, "in place of a file of that name, once the new one is whole");
    p.add_option("-t,--threads", pack_.model.threads, thread_help)->check(number(0u, team::max_threads));
    p.add_option("--hints", pack_.model.profile,
                 "a profile whose hints the bundle carries (the one that cke tune wrote, if any)")
        ->type_name("FILE")
        ->check(some_text("a file"));
    p.footer(
        "run, chat, serve, bench and the other commands that read a MODEL's weights take FILE as one. MODEL may be a "
        "bundle too:\nit is then packed anew from what it was packed from.");

    CLI::App& u =
        add("build", "compile a model ahead of its first use; prints where it lies", [this] { build(build_); });
    model_options_of(u, build_.model);
    mmproj_option_of(u, build_.model.mmproj);
    auto* print = u.add_flag("--print-unit", build_.print_unit, "print the source, and compile nothing");
    auto* standalone =
        u.add_option("--standalone", build_.standalone,
                     "instead make a folder with a program of this model alone, which needs neither cke nor a compiler")
            ->type_name("DIR")
            ->excludes(print)
            ->excludes("--mmproj");
    auto* embed = u.add_flag("--embed", build_.embed, "write the model as C++: a header and what it is linked with");
    embed->excludes(print)->excludes(standalone);
    u.add_option("-o,--output", build_.output, "the header: NAME.hpp, beside NAME.S and NAME.bin")
        ->type_name("FILE")
        ->needs(embed);
    u.add_option("-c,--context", build_.model.context, "positions (the model's, up to 256)")
        ->check(number(1u, 1u << 24))
        ->needs(embed);
    u.add_option("--isa", build_.isa, "the instruction set that it is packed for: scalar, or native (scalar)")
        ->check(CLI::IsMember({"scalar", "native"}))
        ->needs(embed);
    u.add_option("-t,--threads", build_.model.threads, thread_help)->check(number(0u, team::max_threads));

    CLI::App& h = add("help", "this help, that of a command, or a manual page", [this] { help(); });
    h.add_option("COMMAND", help_of_, "a command");
    h.add_flag("--man", manual_, "a manual page of all commands: cke help --man | man -l -")->excludes("COMMAND");

    CLI::App& s = add("completion", "a script that completes commands and options in a shell",
                      [this] { put(completion_script(table_of(app_), shell_)); });
    s.add_option("SHELL", shell_, "the shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
    s.footer(
        "bash: source <(cke completion bash). zsh: cke completion zsh > DIR/_cke, with DIR in $fpath. fish: cke "
        "completion fish | source.");
  }

  void execute() const { chosen_(); }

 private:
  CLI::App& add(const char* name, const char* what, std::function<void()> f) {
    CLI::App* app = app_.add_subcommand(name, what);
    app->final_callback([this, f = std::move(f)] { chosen_ = f; });
    return *app;
  }
  static void text_model(CLI::App& app, std::string& path) {
    model_of(app, path, "a Hugging Face directory or a .gguf file");
  }
  void help() const {
    if (manual_) return put(manual_page(table_of(app_), CKE_VERSION));
    // App::help() would be that of the command that runs, which is this one.
    if (help_of_.empty())
      return put(app_.get_formatter()->make_help(&app_, app_.get_name(), CLI::AppFormatMode::Normal));
    const auto named = app_.get_subcommands([this](CLI::App* c) { return c->get_name() == help_of_; });
    if (named.empty()) throw Error(errc::usage, {}, "COMMAND", "one of those that cke help lists", help_of_);
    put(named[0]->help(app_.get_name()));
  }
  // "3%" as 0.03.
  static std::optional<double> share_of(std::string_view text) {
    if (text.ends_with('%')) text.remove_suffix(1);
    double x{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), x);
    if (error != std::errc{} || end != text.data() + text.size() || !(x >= 0 && x <= 1e6)) return std::nullopt;
    return x / 100;
  }
  // Numbers and ranges in llama-bench's syntax; the option may be repeated.
  static void list(CLI::App& app, const char* name, std::vector<u32>& to, const char* what, number_range allowed) {
    auto* option = app.add_option_function<std::vector<std::string>>(
        name,
        [&to, name, allowed](const auto& words) {
          to.clear();
          for (const std::string& word : words)
            if (!add_numbers(word, allowed, to))
              throw CLI::ValidationError(name,
                                         "\"" + word + "\" is no list of numbers from " +
                                             std::to_string(allowed.least) + " to " + std::to_string(allowed.most));
        },
        what);
    option->type_name("LIST")->allow_extra_args(false);
  }

  CLI::App& app_;
  std::function<void()> chosen_;
  run_args run_;
  chat_args chat_;
  logits_args logits_;
  dump_args dump_;
  compare_args compare_;
  bisect_args bisect_;
  vision_args vision_;
  perplexity_args perplexity_;
  embed_args embed_;
  text_args tokenize_, detokenize_;
  template_args template_;
  inspect_args inspect_;
  families_args families_;
  kernels_args kernels_;
  quantize_args quantize_;
  convert_args convert_;
  grad_args grad_;
  train_args train_;
  merge_args merge_;
  bench_args bench_;
  report_args report_;
  tune_args tune_;
  serve_args serve_;
  build_args build_;
  pack_args pack_;
  std::string help_of_, shell_;
  bool manual_ = false;
};

int fail(const std::string& what) {
  std::string line = what;
  for (char& c : line) c = static_cast<unsigned char>(c) < 32 || c == 127 ? '?' : c;
  std::fprintf(stderr, "cke: error: %s\n", line.c_str());
  return 1;
}

int main_of(int argc, char** argv) {
  CLI::App app("cke runs language models that are compiled for the machine they run on.", "cke");
  app.set_version_flag("--version", "cke " CKE_VERSION);
  app.require_subcommand(0, 1);
  try {
    own_bundle();  // damaged, it is refused here
  } catch (const Error& e) { return fail(e.what()); }
  commands all(app);
  try {
    app.parse(argc, argv);
    if (app.get_subcommands().empty()) throw CLI::RequiredError("A command (run, chat, logits, ...; see cke --help)");
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) {  // --help, --version
      app.exit(e);
      return std::cout.flush() ? 0 : fail("standard output: " + std::string(std::strerror(errno)));
    }
    fail(e.what());
    return 2;
  }
  try {
    all.execute();
    return 0;
  } catch (const Error& e) {
    fail(e.what());
    return e.code == errc::usage ? 2 : 1;
  } catch (const std::bad_alloc&) { return fail("out of memory"); } catch (const std::exception& e) {
    return fail(e.what());
  }
}

}  // namespace
}  // namespace cke::tool

int main(int argc, char** argv) {
  // A closed pipe or a file size limit becomes an error of the write, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // If the caller closed a standard stream, no file that we open may take its place.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDONLY);
  return cke::tool::main_of(argc, argv);
}
