// SPDX-License-Identifier: MIT
// dump_file.hpp: directories with what the steps of a model wrote: one .npy file a value, or all in one CKDMP file.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include <cke/runtime/dump.hpp>

#include "hf_output.hpp"
#include "npy.hpp"
#include "rooms.hpp"

namespace cke::tool {

// A value in a dump: what a step wrote, [rows][width].
struct dumped_value {
  i32 layer = -1;
  std::string name, op, type;
  u32 step{};
  u64 rows{}, width{};
  std::string file{};
};

// A directory of values as it is written. It gets its name when it is complete.
class dump_writer {
 public:
  // Throws Error{file} unless the name is free.
  dump_writer(const std::string& path, bool ckdmp);
  ~dump_writer();

  // More rows of a value: in all v.rows, in order. `position`: of the first of these.
  void add(const dumped_value& v, u32 position, std::span<const float> values);
  // `facts`: the members of index.json before "values".
  void commit(nlohmann::ordered_json facts);
  u64 count() const { return values_.size(); }
  u64 bytes() const { return bytes_; }

 private:
  struct open_value;
  new_folder folder_;
  bool ckdmp_;
  std::vector<std::unique_ptr<open_value>> values_;
  std::map<std::string, open_value*> by_name_;
  u64 bytes_ = 0;
};

// A directory of values as it is read. Files are checked against index.json when it is opened; numbers are read on
// request.
class dump_directory {
 public:
  // Throws Error: file, malformed, naming the file.
  explicit dump_directory(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<dumped_value>& values() const { return values_; }
  const dumped_value* find(i32 layer, const std::string& name) const;
  std::vector<float> read(const dumped_value& v) const;
  const std::vector<u32>& tokens() const { return tokens_; }
  const std::string& model() const { return model_; }

 private:
  void read_index();
  void scan_ckdmp();
  [[noreturn]] void fail(const std::string& file, const std::string& about, const std::string& want,
                         const std::string& found) const;

  std::string path_, model_;
  std::vector<u32> tokens_;
  std::vector<dumped_value> values_;
  std::map<std::string, std::vector<std::pair<u64, u64>>> records_;  // of the CKDMP file: offset and bytes of numbers
};

}  // namespace cke::tool
