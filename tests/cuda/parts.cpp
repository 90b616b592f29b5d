// SPDX-License-Identifier: MIT
// parts.cpp: parts of the device check that hang, crash or throw, numbers that are none, and a driver that is not
// there.
#include "../device/part.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "../device/driver.hpp"
#include "../device/limits.hpp"
#include "../device/watch.hpp"

using namespace device_check;

std::string device_check::bus_id() { return "0000:01:00.0"; }

TEST_CASE("device-check: a part that hangs, crashes, throws or says nothing ends by itself, and the next one goes on") {
  report r;
  parts all(r, 60);
  const auto start = std::chrono::steady_clock::now();
  CHECK(!all.run("hangs", 2, [](report& rows) {
    rows.number("before_it_hangs", 7, "");
    for (;;) std::this_thread::sleep_for(std::chrono::seconds(1));
  }));
  const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  CHECK((took >= 1.9 && took < 6));
  CHECK(!all.run("crashes", 10, [](report&) { std::raise(SIGKILL); }));
  CHECK(!all.run("throws", 10, [](report& rows) {
    rows.step("a_step", [] { throw std::runtime_error("a \"quoted\" reason\nof two lines, \xff"); });
    rows.check("after_it", true);
    throw std::runtime_error("the part");
  }));
  CHECK(all.run("is_well", 10, [](report& rows) { rows.number("of_it", 3.5, "us"); }));
  CHECK(r.value("before_it_hangs") == 7);
  CHECK(r.value("of_it") == 3.5);
  const auto j = nlohmann::json::parse(r.json());
  CHECK(j["hangs_runs"] == false);
  CHECK(j["hangs_error"] == "not done after 2 s");
  CHECK(j["crashes_error"] == "ended by signal 9");
  CHECK(j["a_step_runs"] == false);
  CHECK(j["after_it"] == true);
  CHECK(j["throws_error"] == "the part");
  CHECK(!j.contains("is_well_error"));
  CHECK(!r.good());
}

TEST_CASE("device-check: all parts together have a limit; those for which no time is left say so") {
  report r;
  parts all(r, 1);
  CHECK(!all.run("late", 10, [](report&) {}));
  CHECK(nlohmann::json::parse(r.json())["late_not_asked"] == "no time was left");
  CHECK(r.good());
  CHECK(limits::all <= 540);
}

TEST_CASE("device-check: a number that is none is null in JSON, and a claim that does not hold") {
  report r;
  r.number("one", 1, "");
  CHECK(r.good());
  r.number("none", std::nan(""), "us"), r.number("too_large", std::numeric_limits<double>::infinity(), "us");
  CHECK(!r.good());
  const auto j = nlohmann::json::parse(r.json());
  CHECK((j["none"].is_null() && j["too_large"].is_null()));
  CHECK(j["none_not_asked"] == "not a finite number");
  CHECK(r.json().find("nan") == std::string::npos);

  report rows;  // through a pipe too
  parts all(rows, 60);
  all.run("part", 10, [](report& p) { p.number("none", std::nan(""), "us"), p.absent("no", "reason"); });
  CHECK((nlohmann::json::parse(rows.json())["none"].is_null() && !rows.good()));
  CHECK(nlohmann::json::parse(rows.json())["no_not_asked"] == "reason");
}

namespace {

struct environment {
  const char* name;
  environment(const char* n, const char* value) : name(n) { setenv(name, value, 1); }
  ~environment() { unsetenv(name); }
};

}  // namespace

TEST_CASE(
    "device-check: a driver is there or not, takes kernels or not, starts or not, and has a device that they are for "
    "or not") {
  constexpr int of_kernels = 13000;
  CHECK(why_no_device(of_kernels, "libthat_is_not_there.so.1").find("no libcuda.so.1") == 0);
  CHECK(why_no_device(of_kernels, FAKE_DRIVER).empty());
  for (const char* const newer : {"13020", "14000"}) {
    const environment e("FAKE_CUDA", newer);
    CHECK(why_no_device(of_kernels, FAKE_DRIVER).empty());
  }
  {
    const environment e("FAKE_CUDA", "12080");
    CHECK(why_no_device(of_kernels, FAKE_DRIVER) ==
          "the driver takes CUDA 12.8, and kernels are of 13.0; install a newer driver");
  }
  {
    const environment e("FAKE_INIT", "100");
    CHECK(why_no_device(of_kernels, FAKE_DRIVER) == "the driver does not start (error 100)");
  }
  {
    const environment e("FAKE_DEVICES", "0");
    CHECK(why_no_device(of_kernels, FAKE_DRIVER) == "the driver has no device");
  }
  const environment e("FAKE_SM", "61");
  CHECK(why_no_device(of_kernels, FAKE_DRIVER).find("sm_61") != std::string::npos);
}

TEST_CASE("device-check: clocks, throttling and energy come from NVML where it is") {
  CHECK(management("0000:01:00.0", "libthat_is_not_there.so.1").why_not() == "no libnvidia-ml.so.1");
  CHECK(management("0000:02:00.0", FAKE_DRIVER).why_not() == "NVML has no such device");
  const management device("0000:01:00.0", FAKE_DRIVER);
  CHECK(device.why_not().empty());
  CHECK((device.mhz(management::clock::sm) == 1500 && device.most_mhz(management::clock::memory) == 2619));
  CHECK((device.temperature() == 41 && device.throttled().empty()));
  const environment e("FAKE_THROTTLED", "36");
  CHECK(device.throttled() == "power cap, heat (software)");

  const watch w("0000:01:00.0", FAKE_DRIVER);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(w.joules() == 0.5);
  report r;
  w.rows(r, "some");
  const auto j = nlohmann::json::parse(r.json());
  CHECK((j["some_sm_mhz"] == 1500 && j["some_memory_mhz"] == 2600));
  CHECK(j["some_throttled_by"] == "power cap, heat (software)");
  report none;
  const watch nothing("0000:01:00.0", "libthat_is_not_there.so.1");
  nothing.rows(none, "some");
  CHECK(std::isnan(nothing.joules()));
  CHECK(nlohmann::json::parse(none.json())["some_sm_mhz"].is_null());
}
