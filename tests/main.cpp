// SPDX-License-Identifier: MIT
// main.cpp: the doctest runner that every room's tests are linked with; it writes down what they establish about
// families.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <cerrno>
#include <cstdlib>
#include <map>
#include <set>

#include "family_status.hpp"

namespace {

namespace fs = std::filesystem;
using namespace family_status;

// CKE_FAMILY_STATUS names a folder (ctest sets it), in which each test program has a file of its own: programs that run
// at the same time do not meet. A run of some test cases alone writes nothing: it would unsay what the others
// established.
struct status_writer : doctest::IReporter {
  explicit status_writer(const doctest::ContextOptions&) {}

  void test_case_start(const doctest::TestCaseData&) override { claims_of_test_case().clear(); }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    if (stats.failure_flags == 0)
      for (const claim& c : claims_of_test_case()) established_[c.family].insert(name(c.what));
  }
  void test_run_end(const doctest::TestRunStats& stats) override {
    const char* const folder = std::getenv("CKE_FAMILY_STATUS");
    if (!folder || stats.numTestCasesPassingFilters != stats.numTestCases) return;
    fs::create_directories(folder);
    std::string commit = "unknown";
    std::getline(std::ifstream(fs::path(folder) / "commit"), commit);
    nlohmann::ordered_json out{
        {"program", program_invocation_short_name}, {"commit", commit}, {"families", nlohmann::ordered_json::object()}};
    for (const auto& [family, columns] : established_) out["families"][family] = columns;
    const fs::path file = fs::path(folder) / (program_invocation_short_name + std::string(".json"));
    const fs::path fresh = fs::path(file).concat(".new");
    std::ofstream(fresh) << out.dump(2) << '\n';
    fs::rename(fresh, file);
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  std::map<std::string, std::set<std::string_view>> established_;
};
DOCTEST_REGISTER_LISTENER("family_status", 1, status_writer);

}  // namespace
