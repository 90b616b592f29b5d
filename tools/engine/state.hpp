// SPDX-License-Identifier: MIT
// state.hpp: what stands behind the handles of cke_engine.h.
#pragma once

#include <cke/cke_engine.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include <cke/serve/service.hpp>

#include "rooms.hpp"
#include "served.hpp"
#include "source.hpp"

namespace cke::tool {

// A checked model_args of the options; null options are the defaults. Throws usage.
model_args args_of(const char* path, const cke_engine_options* options);

// Of requests of this process, which has no strangers to keep out: as much as a number can say.
serve::request_limits limits_of_requests();

// What cke_engine_ask needs: the server without its network. Refers to the model.
class front_desk {
 public:
  front_desk(const model_args& args, const loaded_model& model, u32 slots, u32 draft, const std::string& draft_model);

  serve::service& answers() { return *service_; }

 private:
  static constexpr u32 most_waiting = 1 << 20;

  served_parts parts_;
  const serve::request_limits limits_ = limits_of_requests();
  std::optional<loaded_model> smaller_;
  serve::metrics count_;
  std::optional<serve::scheduler> work_;
  std::optional<serve::service> service_;
};

// A checkpoint that is open. Sessions and answers share it.
class engine_state {
 public:
  engine_state(const char* path, const cke_engine_options* options);

  const loaded_model& model() const { return model_; }
  any_model& engine() const { return *model_.engine; }
  const tokenizer& tokens() const;  // throws usage where there are none
  u32 slots() const { return slots_; }
  // Made on first use.
  front_desk& desk();

 private:
  const model_args args_;
  const u32 slots_, draft_;
  const std::string draft_model_;
  loaded_model model_;
  std::mutex making_;
  std::optional<front_desk> desk_;
};

struct session_state {
  std::shared_ptr<engine_state> of;
  std::unique_ptr<any_session> session;
  std::mutex busy{};
  bool answering = false;  // guarded by busy
};

// Holds a session for one call. Throws usage if another call has it, or an answer.
class session_use {
 public:
  explicit session_use(session_state& s, bool by_answer = false);
  any_session& operator*() const { return *state_.session; }
  any_session* operator->() const { return state_.session.get(); }

 private:
  session_state& state_;
  std::unique_lock<std::mutex> held_;
};

}  // namespace cke::tool

struct cke_engine {
  std::shared_ptr<cke::tool::engine_state> state;
};
struct cke_engine_session {
  std::shared_ptr<cke::tool::session_state> state;
};

// An answer that is under way.
struct cke_engine_answer {
  virtual ~cke_engine_answer() = default;
  virtual int32_t next(int32_t wait_ms, std::string_view& part) = 0;
  virtual int32_t fd() { return -1; }
  virtual void cancel() = 0;
  virtual cke_engine_ending end() const = 0;

  std::mutex busy;
};
