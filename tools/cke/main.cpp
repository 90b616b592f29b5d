// SPDX-License-Identifier: MIT
// main.cpp: parses the command line of cke.
#include <fcntl.h>
#include <CLI/CLI.hpp>

#include <csignal>
#include <functional>
#include <iostream>

#include "bench_options.hpp"
#include "commands.hpp"
#include "dump_options.hpp"
#include "manifest.hpp"
#include "option_table.hpp"
#include "options.hpp"
#include "rank_roll.hpp"
#include "report_options.hpp"
#include "rooms.hpp"
#include "run_options.hpp"
#include "serve_options.hpp"
#include "terminal.hpp"
#include "training_options.hpp"
#include "tune_options.hpp"

namespace cke::tool {
namespace {

// Every command: its name, description, options and function.
class commands {
 public:
  explicit commands(CLI::App& app) : app_(app) {
    run_options_of(add("run", "continue a text", [this] { run(run_); }), run_);

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
    running_options_of(see, vision_.model, checkpoint_help);
    const auto [pictures, clips] = image_options_of(see, vision_.shown);
    see.add_option("--pixels", vision_.pixels, "a .npy file with what a processor made of an image")
        ->type_name("FILE")
        ->excludes(pictures)
        ->excludes(clips);
    see.add_option("--grid", vision_.grid, "its frames, and rows and columns of patches")->type_name("T,H,W");
    mmproj_option_of(see, vision_.model.mmproj);
    see.add_flag("--pooled", vision_.pooled, "one row for an image, which SigLIP compares with texts");
    auto* file = see.add_option("-o,--output", vision_.output, "the file: float32 [rows, width]")->type_name("FILE");
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
    m.add_option("MODEL", template_.path, "a Hugging Face directory, a .gguf file, a bundle (.cke) or a .jinja file")
        ->required();
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
    o.add_option("MODEL", convert_.input, checkpoint_help)->required();
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

    bench_options_of(add("bench", "tokens per second, in the columns of llama-bench", [this] { bench(bench_); }),
                     bench_);

    report_options_of(
        add("report", "where a model's time and memory go, as one HTML page", [this] { report(report_); }), report_);
    tune_options_of(
        add("tune", "find the hints with which a model is fastest here; others then use them", [this] { tune(tune_); }),
        tune_);

    serve_options_of(add("serve", "answer HTTP requests, in OpenAI's form", [this] { serve_model(serve_); }), serve_);

    CLI::App& p =
        add("pack", "write a bundle: a file with a model's weights as they lie in memory, which loads at once",
            [this] { pack(pack_); });
    model_options_of(p, pack_.model);
    p.add_option("-o,--output", pack_.output, "the file, such as model.cke")->type_name("FILE")->required();
    p.add_flag("--replace", pack_.replace, "in place of a file of that name, once the new one is whole");
    p.add_option("--shard-size", pack_.shard_bytes,
                 "put the weights into files beside FILE, of at most so many bytes each: 4GB, 500MB; at least 2MB")
        ->type_name("SIZE")
        ->transform(CLI::AsSizeValue(false))
        ->check(number(u64{bundle_block}, u64{1} << 50));
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
    u.add_option("-o,--output", build_.output, "NAME.hpp, beside NAME.S and NAME.bin; or NAME.o, beside NAME.hpp")
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
  static void text_model(CLI::App& app, std::string& path) { model_of(app, path, model_help); }
  void help() const {
    if (manual_) return put(manual_page(table_of(app_), CKE_VERSION));
    // App::help() would be that of the command that runs, which is this one.
    if (help_of_.empty())
      return put(app_.get_formatter()->make_help(&app_, app_.get_name(), CLI::AppFormatMode::Normal));
    const auto named = app_.get_subcommands([this](CLI::App* c) { return c->get_name() == help_of_; });
    if (named.empty()) throw Error(errc::usage, {}, "COMMAND", "one of those that cke help lists", help_of_);
    put(named[0]->help(app_.get_name()));
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
  cke::tool::answer_roll_call();
  // A closed pipe or a file size limit becomes an error of the write, not a signal.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // If the caller closed a standard stream, no file that we open may take its place.
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDONLY);
  return cke::tool::main_of(argc, argv);
}
