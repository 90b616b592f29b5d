// SPDX-License-Identifier: MIT
// metrics.hpp: the server's counters and histograms, in Prometheus' text format.
#pragma once

#include <array>
#include <atomic>
#include <charconv>
#include <string>
#include <string_view>

#include "../core/concat.hpp"
#include "../core/types.hpp"

namespace cke::serve {

// A value with at most so many digits, as printf's %g has it, but in every locale with a point.
inline std::string metric_text(double x, int digits) {
  char text[40];
  return std::string(text, std::to_chars(text, text + sizeof text, x, std::chars_format::general, digits).ptr);
}

// Seconds, in buckets that suit both a token and an hour-long queue.
class histogram {
 public:
  void add(double seconds) {
    std::size_t i = 0;
    while (i < bounds.size() && seconds > bounds[i]) ++i;
    counts_[i].fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(static_cast<u64>(seconds * 1e9), std::memory_order_relaxed);
  }
  void write(std::string& out, const std::string& name) const {
    u64 sum = 0;
    for (std::size_t i = 0; i <= bounds.size(); ++i) {
      sum += counts_[i].load(std::memory_order_relaxed);
      const std::string most = i < bounds.size() ? metric_text(bounds[i], 6) : "+Inf";
      out += concat({name, "_bucket{le=\"", most, "\"} ", sum, "\n"});
    }
    const double seconds = static_cast<double>(nanoseconds_.load(std::memory_order_relaxed)) * 1e-9;
    out += concat({name, "_sum ", metric_text(seconds, 9), "\n", name, "_count ", sum, "\n"});
  }

 private:
  static constexpr std::array bounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25,
                                     0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0, 300.0};
  std::array<std::atomic<u64>, bounds.size() + 1> counts_{};
  std::atomic<u64> nanoseconds_{};
};

// One row for each metric: name, type, help text. Names are llama.cpp's if it has the metric.
struct metrics {
  using number = std::atomic<u64>;
  number requests, refused, cancelled, prompt_tokens, cached_tokens, generated_tokens, draft_tokens,
      draft_accepted_tokens, passes, pass_rows, pass_nanoseconds, images, images_encoded;
  number running, queued, connections;
  histogram queue_seconds, first_token_seconds, token_seconds, image_seconds;

  std::string text() const {
    const struct {
      const char *name, *type, *help;
      double value;
    } rows[] = {
        {"requests_total", "counter", "Answers that were asked for.", of(requests)},
        {"requests_refused_total", "counter", "Requests answered with a 4xx or 5xx status.", of(refused)},
        {"requests_cancelled_total", "counter", "Answers cancelled because their client has gone.", of(cancelled)},
        {"prompt_tokens_total", "counter", "Prompt tokens processed.", of(prompt_tokens)},
        {"prefix_hit_tokens_total", "counter", "Prompt tokens that a cache had already.", of(cached_tokens)},
        {"tokens_predicted_total", "counter", "Tokens generated.", of(generated_tokens)},
        {"draft_tokens_total", "counter", "Tokens guessed ahead.", of(draft_tokens)},
        {"draft_accepted_tokens_total", "counter", "Tokens that guesses brought, beyond one of an answer and pass.",
         of(draft_accepted_tokens)},
        {"n_decode_total", "counter", "Passes over the weights.", of(passes)},
        {"decode_rows_total", "counter", "Conversations in those passes.", of(pass_rows)},
        {"decode_seconds_total", "counter", "Seconds spent in passes.", of(pass_nanoseconds) * 1e-9},
        {"images_total", "counter", "Images in prompts.", of(images)},
        {"images_encoded_total", "counter", "Images that were new, and so went through the tower.", of(images_encoded)},
        {"requests_processing", "gauge", "Answers in a slot.", of(running)},
        {"requests_deferred", "gauge", "Answers that wait for a slot.", of(queued)},
        {"connections", "gauge", "Open connections.", of(connections)},
    };
    std::string out;
    for (const auto& r : rows)
      out += concat({"# HELP cke_", r.name, " ", r.help, "\n# TYPE cke_", r.name, " ", r.type, "\ncke_", r.name, " ",
                     metric_text(r.value, 15), "\n"});
    const struct {
      const char *name, *help;
      const histogram& of;
    } histograms[] = {
        {"queue_seconds", "Time that an answer waited for a slot.", queue_seconds},
        {"ttft_seconds", "Time from a request to its first token.", first_token_seconds},
        {"tpot_seconds", "Time from a token to the next.", token_seconds},
        {"image_seconds", "Time to encode an image that was new, waiting for the tower included.", image_seconds},
    };
    for (const auto& h : histograms) {
      const std::string name = std::string("cke_") + h.name;
      out += "# HELP " + name + ' ' + h.help + "\n# TYPE " + name + " histogram\n";
      h.of.write(out, name);
    }
    return out;
  }

 private:
  static double of(const number& n) { return static_cast<double>(n.load(std::memory_order_relaxed)); }
};

}  // namespace cke::serve
