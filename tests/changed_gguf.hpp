// SPDX-License-Identifier: MIT
// changed_gguf.hpp: a GGUF file with other metadata and other tensors.
#pragma once

#include <cke/io/gguf.hpp>
#include <cke/io/gguf_writer.hpp>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

// Keys and tensors are those of the file, but for what is dropped; what is added comes last.
struct changed_gguf {
  cke::io::gguf file;
  std::vector<std::string> dropped;                   // keys and tensors
  std::function<void(cke::io::gguf_writer&)> more{};  // adds keys
  std::vector<cke::io::tensor_ref> tensors{};         // further ones

  explicit changed_gguf(const std::string& path) : file(cke::io::gguf::read(path)) {}

  std::string bytes() const {
    const auto is_dropped = [&](std::string_view name) { return std::ranges::find(dropped, name) != dropped.end(); };
    cke::io::gguf_writer writer;
    for (const auto& v : file.values())
      if (!is_dropped(v.key)) writer.add(v);
    if (more) more(writer);
    std::vector<cke::io::tensor_ref> all;
    for (const auto& t : file.tensors().tensors())
      if (!is_dropped(t.name)) all.push_back(t);
    all.insert(all.end(), tensors.begin(), tensors.end());
    for (const auto& t : all) writer.add_tensor(t.name, {t.shape.begin(), t.shape.end()}, t.type);
    std::string out = writer.bytes();
    for (const auto& t : all) {
      out.append(reinterpret_cast<const char*>(t.bytes.data()), t.bytes.size());
      out.resize((out.size() + 31) / 32 * 32);
    }
    return out;
  }
  void write(const std::string& path) const { std::ofstream(path, std::ios::binary) << bytes(); }
};
