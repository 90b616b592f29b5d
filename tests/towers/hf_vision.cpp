// SPDX-License-Identifier: MIT
// hf_vision.cpp: the tower of a Hugging Face directory: what its config and its tensors are, and what is refused.
#include <cke/io/hf_vision.hpp>
#include <filesystem>

#include "checkpoint.hpp"
#include "cke/models/towers/gemma3.hpp"
#include "cke/models/towers/pixtral.hpp"
#include "refused.hpp"

namespace hf_vision_test {

using namespace cke;
using namespace towers;

namespace {

// A copy of a tiny checkpoint whose config.json a test changes.
class copied {
 public:
  explicit copied(std::string_view name)
      : folder(std::filesystem::temp_directory_path() / ("cke_hf_vision_" + std::string(name))) {
    std::filesystem::create_directories(folder);
    for (const char* file : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(folder_of(name) + "/" + file, folder / file,
                                 std::filesystem::copy_options::overwrite_existing);
    config = nlohmann::json::parse(std::ifstream(folder / "config.json"));
  }
  ~copied() { std::filesystem::remove_all(folder); }
  io::checkpoint load() {
    std::ofstream(folder / "config.json") << config;
    return io::hf_vision(folder.string());
  }

  const std::filesystem::path folder;
  nlohmann::json config;
};
struct tiny_gemma3 : gemma3_vision<gemma3_vision_config{.dim = 40,
                                                        .hidden = 56,
                                                        .layers = 2,
                                                        .heads = 2,
                                                        .image = 30,
                                                        .patch = 5,
                                                        .tokens = 9,
                                                        .out = 32,
                                                        .eps = 1e-2}> {};
std::string matched(copied& c, errc code = errc::config_mismatch) {
  return refused(code, [&] { match_config<tiny_gemma3>(c.load(), key_block); });
}

}  // namespace

TEST_CASE("hf_vision: only SigLIP has a pooled row") {
  CHECK(io::hf_vision(towers::folder_of("siglip"), io::tower_part::pooled).model_type == "siglip_pooled");
  CHECK_THROWS_WITH_AS(io::hf_vision(towers::folder_of("qwen3_vl"), io::tower_part::pooled),
                       (towers::folder_of("qwen3_vl") +
                        ": model type with a pooled row: expected siglip or siglip_vision_model, found qwen3_vl")
                           .c_str(),
                       Error);
}

TEST_CASE("hf_vision: names of tensors are those of the tower, whatever stands before them") {
  using io::detail::name_in_tower;
  CHECK(name_in_tower("vision_model.post_layernorm.weight", false) == "post_layernorm.weight");
  CHECK(name_in_tower("vision_tower.post_layernorm.weight", false) == "post_layernorm.weight");
  CHECK(name_in_tower("vision_tower.vision_model.post_layernorm.weight", false) == "post_layernorm.weight");
  CHECK(name_in_tower("model.vision_tower.vision_model.post_layernorm.weight", false) == "post_layernorm.weight");
  CHECK(name_in_tower("model.visual.blocks.0.norm1.weight", false) == "blocks.0.norm1.weight");
  CHECK(name_in_tower("visual.blocks.0.norm1.weight", false) == "blocks.0.norm1.weight");
  CHECK(name_in_tower("model.multi_modal_projector.linear_1.weight", false) == "multi_modal_projector.linear_1.weight");
  CHECK(name_in_tower("post_layernorm.weight", true) == "post_layernorm.weight");
  for (const char* other : {"model.layers.0.mlp.up_proj.weight", "language_model.model.norm.weight", "lm_head.weight",
                            "text_model.final_layer_norm.weight", "logit_scale", "post_layernorm.weight"})
    CHECK(name_in_tower(other, false).empty());
}

TEST_CASE("hf_vision: a tower's config has what the tower needs of the model's") {
  copied c("gemma3");
  const auto tower = nlohmann::json::parse(c.load().config);
  CHECK(tower.at("mm_tokens_per_image") == 9);
  CHECK(tower.at("text_config.hidden_size") == 32);
  CHECK(tower.at("hidden_size") == 40);
  CHECK(c.load().model_type == "gemma3_vision");
  const auto qwen = nlohmann::json::parse(io::hf_vision(folder_of("qwen3_vl")).config);
  CHECK(qwen.at("rope_theta") == 10000.0);  // that of its own rope_parameters
}

TEST_CASE("hf_vision: another tower than the program's is refused by the key") {
  copied c("gemma3");
  CHECK(matched(c) == "nothing was thrown");
  c.config["mm_tokens_per_image"] = 4;
  CHECK(matched(c).find("mm_tokens_per_image") != std::string::npos);
  c.config["mm_tokens_per_image"] = 16;
  CHECK(matched(c, errc::unsupported).find("the square of a number that divides image_size / patch_size") !=
        std::string::npos);
  c.config["mm_tokens_per_image"] = 9, c.config["text_config"]["hidden_size"] = 33;
  CHECK(matched(c).find("text_config.hidden_size") != std::string::npos);
  c.config["text_config"]["hidden_size"] = 32, c.config["vision_config"]["hidden_act"] = "relu";
  CHECK(matched(c, errc::unsupported).find("hidden_act") != std::string::npos);
}

TEST_CASE("hf_vision: keys that the model's config leaves out are what transformers takes them for") {
  copied c("pixtral");
  const auto tower = [&](const char* key) { return nlohmann::json::parse(c.load().config).at(key); };
  CHECK(tower("vision_feature_layer") == -1);
  CHECK(tower("hidden_act") == "silu");
  c.config.erase("vision_feature_layer"), c.config["vision_config"].erase("hidden_act");
  CHECK(tower("vision_feature_layer") == -2);
  CHECK(tower("hidden_act") == "gelu");
  const auto match = [&] { match_config<pixtral_vision<pixtral_vision_config{}>>(c.load(), key_block); };
  CHECK(refused(errc::unsupported, match).find("vision_feature_layer: expected -1, found -2") != std::string::npos);
  c.config["vision_feature_layer"] = -1, c.config["vision_config"]["hidden_act"] = "relu";
  CHECK(refused(errc::unsupported, match).find("hidden_act: expected silu or gelu, found \"relu\"") !=
        std::string::npos);
  c.config["vision_config"]["model_type"] = "clip_vision_model";
  CHECK(refused(errc::unsupported, [&] {
          c.load();
        }).ends_with("vision_config.model_type: expected pixtral, found clip_vision_model"));
}

TEST_CASE("hf_vision: SmolVLM's tower is Idefics 3's") {
  copied c("idefics3");
  c.config["model_type"] = "smolvlm";
  CHECK(c.load().model_type == "idefics3_vision");
}

TEST_CASE("hf_vision: a model without a tower is refused by name") {
  copied c("gemma3");
  c.config["model_type"] = "llama";
  const std::string message = refused(errc::unsupported, [&] { c.load(); });
  CHECK(message.find("model type with a vision tower: expected one of siglip, ") != std::string::npos);
  CHECK(message.ends_with("found llama"));
  c.config.erase("model_type");
  CHECK(refused(errc::unsupported, [&] { c.load(); }).ends_with("found none"));
  std::filesystem::remove(c.folder / "config.json");
  CHECK(refused(errc::file, [&] { io::hf_vision(c.folder.string()); }).find("config.json") != std::string::npos);
}

TEST_CASE("hf_vision: a tensor too many and one too few are refused by name") {
  using encoder = ImageEncoder<tiny_gemma3, F32>;
  io::checkpoint c = io::hf_vision(folder_of("gemma3"));
  const auto with = [&](auto change) {
    std::vector<io::tensor_ref> all(c.tensors.tensors().begin(), c.tensors.tensors().end());
    change(all);
    io::checkpoint other = c;
    other.tensors = io::tensor_index(std::move(all));
    return other;
  };
  CHECK(refused(errc::tensor_missing, [&] {
          encoder::load(with([](auto& all) {
            std::erase_if(all, [](const auto& t) { return t.name == "multi_modal_projector.mm_soft_emb_norm.weight"; });
          }));
        }).find("multi_modal_projector.mm_soft_emb_norm.weight") != std::string::npos);
  CHECK(refused(errc::tensor_unknown, [&] {
          encoder::load(with([](auto& all) {
            all.push_back(all[0]);
            all.back().name = "encoder.layers.2.layer_norm1.weight";
          }));
        }).find("encoder.layers.2.layer_norm1.weight") != std::string::npos);
}
TEST_CASE("hf_vision: whether a head is tied is said by the whole model, and only else by its text model") {
  const auto tied = [](const char* config) {
    return io::detail::text_config(nlohmann::json::parse(config)).value("tie_word_embeddings", nlohmann::json());
  };
  CHECK(tied(R"({"text_config": {"tie_word_embeddings": true}, "tie_word_embeddings": false})") == false);
  CHECK(tied(R"({"text_config": {"tie_word_embeddings": false}, "tie_word_embeddings": true})") == true);
  CHECK(tied(R"({"text_config": {"tie_word_embeddings": true}})") == true);
  CHECK(tied(R"({"text_config": {}})").is_null());
  // transformers reads either of Llava's, and of Qwen2.5-VL's.
  for (const char* const type : {"llava", "qwen2_5_vl"})
    CHECK(tied((R"({"model_type": ")" + std::string(type) +
                R"(", "text_config": {"tie_word_embeddings": true}, "tie_word_embeddings": false})")
                   .c_str()) == true);
}

}  // namespace hf_vision_test
