// SPDX-License-Identifier: MIT
// serve_images.cpp: cke serve reads images in messages: the answer of cke run, and errors that name their field.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "command.hpp"

namespace serve_images_test {

using namespace command;
using nlohmann::json;

namespace {

const std::string model = CKE_TEST_DATA "/vision/qwen3_vl", picture = CKE_TEST_DATA "/vision/images/wide.png";

std::string base64_of(const std::string& bytes) {
  static constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

// A server on a port of its own, until it is told to end.
class served {
 public:
  explicit served(std::vector<std::string> words) {
    char name[] = "/tmp/cke-serve-XXXXXX";
    REQUIRE((out_ = mkostemp(name, O_CLOEXEC)) >= 0);
    unlink(name);
    words.insert(words.begin(), {"serve", model, "--format", "f32", "--port", "0"});
    process_.emplace(std::move(words), setting{.output = out_, .seconds = 300});
    std::string line;  // serving NAME at http://127.0.0.1:PORT
    for (int i = 0; i < 20'000 && line.find('\n') == line.npos; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      char text[256];
      const ssize_t n = pread(out_, text, sizeof text, 0);
      line.assign(text, n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    REQUIRE_MESSAGE(line.find('\n') != line.npos, line);
    port_ = static_cast<unsigned short>(std::stoi(line.substr(line.rfind(':') + 1)));
  }
  ~served() {
    process_->send(SIGTERM);
    CHECK(process_->wait().status == 0);
    close(out_);
  }

  std::string post(const std::string& path, const json& body) const {
    const std::string text = body.dump();
    return ask("POST " + path + " HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: " +
               std::to_string(text.size()) + "\r\n\r\n" + text);
  }
  std::string get(const std::string& path) const { return ask("GET " + path + " HTTP/1.0\r\nHost: localhost\r\n\r\n"); }

 private:
  std::string ask(const std::string& request) const {
    const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET, at.sin_port = htons(port_), at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(s, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::send(s, request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()));
    std::string answer;
    char part[4096];
    for (ssize_t n; (n = ::recv(s, part, sizeof part, 0)) > 0;) answer.append(part, static_cast<std::size_t>(n));
    close(s);
    const std::size_t body = answer.find("\r\n\r\n");
    return body == answer.npos ? answer : answer.substr(body + 4);
  }

  int out_ = -1;
  unsigned short port_ = 0;
  std::optional<process> process_;
};

}  // namespace

TEST_CASE("serve: an image in a message is answered as cke run answers it, and is encoded once") {
  const result said =
      run_cke({"run", model, "--format", "f32", "-p", "see", "--think", "--image", picture, "-n", "8", "--temp", "0"});
  REQUIRE_MESSAGE(said.status == 0, said.err);
  const served server({"--max-images", "2"});
  const auto image = [](const std::string& url) -> json {
    return {{"type", "image_url"}, {"image_url", {{"url", url}}}};
  };
  const auto request = [](const json& parts) -> json {
    return {{"messages", {{{"role", "user"}, {"content", parts}}}}, {"max_tokens", 8}, {"temperature", 0}};
  };
  const std::string good = "data:image/png;base64," + base64_of(content(picture));
  const json text{{"type", "text"}, {"text", "see"}};
  for (int i = 0; i < 2; ++i) {
    const json answer = json::parse(server.post("/v1/chat/completions", request({image(good), text})));
    REQUIRE_MESSAGE(answer.contains("choices"), answer.dump());
    CHECK(answer["choices"][0]["message"]["content"].get<std::string>() + '\n' == said.out);
  }
  const std::string counts = server.get("/metrics");
  CHECK(counts.find("cke_images_total 2\n") != counts.npos);
  CHECK(counts.find("cke_images_encoded_total 1\n") != counts.npos);
  CHECK(json::parse(server.get("/v1/models"))["data"][0]["input_modalities"] == json::array({"text", "image"}));
  CHECK(json::parse(server.get("/facts"))["images"]["most"] == 2);

  const auto refused = [&](const json& parts) {
    return json::parse(server.post("/v1/chat/completions", request(parts)))["error"];
  };
  const json cut = refused({text, image(good.substr(0, 22 + 96))});
  CHECK(cut["code"] == "image_parse_error");
  CHECK(cut["param"] == "messages[0].content[1].image_url.url");
  CHECK(refused({text, image("https://example.com/a.png")})["code"] == "invalid_image_url");
  CHECK(refused({text, image(good), image(good), image(good)})["code"] == "too_many_images");
}

TEST_CASE("serve: images at addresses of this machine are not fetched, even where images are") {
#ifdef CKE_FETCH
  const served server({"--allow-image-urls"});
  const json parts = json::array({{{"type", "input_image"}, {"image_url", "http://127.0.0.1:9/a.png"}}});
  const json error = json::parse(
      server.post("/v1/chat/completions", {{"messages", {{{"role", "user"}, {"content", parts}}}}}))["error"];
  CHECK(error["code"] == "failed_to_download_image");
  CHECK(error["message"] ==
        "messages[0].content[0].image_url: URL: expected an address on the public network, found another");
#else
  CHECK_REFUSED(run_cke({"serve", model, "--allow-image-urls"}), "libcurl");
#endif
}

}  // namespace serve_images_test
