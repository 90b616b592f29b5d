// SPDX-License-Identifier: MIT
// driver.hpp: what the driver's libraries say, which are looked for where the program runs: devices, clocks, energy.
#pragma once

#include <dlfcn.h>

#include <string>

namespace device_check {

// A library that is there or not, and its functions.
class library {
 public:
  explicit library(const char* name) : handle_(dlopen(name, RTLD_NOW | RTLD_LOCAL)) {}
  library(const library&) = delete;
  library& operator=(const library&) = delete;
  explicit operator bool() const { return handle_ != nullptr; }
  // Calls an `int name(Args...)`; -1 where there is none.
  template <class... Args> int call(const char* name, Args... args) const {
    const auto f = handle_ ? reinterpret_cast<int (*)(Args...)>(dlsym(handle_, name)) : nullptr;
    return f ? f(args...) : -1;
  }

 private:
  void* handle_;  // stays open: drivers do not like to be closed
};

// The CUDA that kernels are compiled with, as CUDART_VERSION has it: 13000 is 13.0. 0: there are none.
int cuda_of_kernels();

// Why there is nothing to check here; "" if there is a device that kernels are compiled for, and a driver that takes
// them: of their CUDA's major version, or newer. To be asked in a process of its own, because a driver that was called
// once does not survive a fork.
inline std::string why_no_device(int of_kernels, const char* name = "libcuda.so.1") {
  const library cuda(name);
  if (!cuda) return "no libcuda.so.1, which comes with NVIDIA's driver";
  const auto dotted = [](int version) {
    return std::to_string(version / 1000) + '.' + std::to_string(version % 1000 / 10);
  };
  int takes = 0;
  if (cuda.call("cuDriverGetVersion", &takes) != 0) return "the driver does not say which CUDA it takes";
  if (takes / 1000 < of_kernels / 1000)
    return "the driver takes CUDA " + dotted(takes) + ", and kernels are of " + dotted(of_kernels) +
        "; install a newer driver";
  if (const int e = cuda.call("cuInit", 0u); e != 0)
    return "the driver does not start (error " + std::to_string(e) + ")";
  int count = 0, device = 0, major = 0, minor = 0;
  constexpr int of_major = 75, of_minor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_*
  if (cuda.call("cuDeviceGetCount", &count) != 0 || count == 0) return "the driver has no device";
  if (cuda.call("cuDeviceGet", &device, 0) != 0 || cuda.call("cuDeviceGetAttribute", &major, of_major, device) != 0 ||
      cuda.call("cuDeviceGetAttribute", &minor, of_minor, device) != 0)
    return "the driver does not say what its first device is";
  if (major * 10 + minor < 75)
    return "the first device is an sm_" + std::to_string(major * 10 + minor) + ", and kernels are for sm_75 and newer";
  return {};
}

// Clocks, throttling and energy of a device, by NVIDIA's management library.
class management {
 public:
  explicit management(const std::string& bus_id, const char* name = "libnvidia-ml.so.1") : nvml_(name) {
    if (!nvml_) return;
    started_ = nvml_.call("nvmlInit_v2") == 0;
    found_ = started_ && nvml_.call("nvmlDeviceGetHandleByPciBusId_v2", bus_id.c_str(), &device_) == 0;
  }
  ~management() {
    if (started_) nvml_.call("nvmlShutdown");
  }
  management(const management&) = delete;
  management& operator=(const management&) = delete;

  // "" if the device is known.
  std::string why_not() const {
    return !nvml_   ? "no libnvidia-ml.so.1"
        : !started_ ? "NVML does not start"
        : !found_   ? "NVML has no such device"
                    : "";
  }
  enum class clock : int { graphics = 0, sm = 1, memory = 2 };
  // MHz, now and at most; mJ since the driver was loaded; degrees Celsius. 0 where the device does not say.
  unsigned mhz(clock of) const { return number("nvmlDeviceGetClockInfo", static_cast<int>(of)); }
  unsigned most_mhz(clock of) const { return number("nvmlDeviceGetMaxClockInfo", static_cast<int>(of)); }
  unsigned temperature() const { return number("nvmlDeviceGetTemperature", 0); }
  unsigned long long millijoules() const {
    unsigned long long all = 0;
    return found_ && nvml_.call("nvmlDeviceGetTotalEnergyConsumption", device_, &all) == 0 ? all : 0;
  }
  // What holds the clocks down, in words; "" if nothing does.
  std::string throttled() const {
    unsigned long long reasons = 0;
    if (!found_ || nvml_.call("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &reasons) != 0) return {};
    static constexpr struct {
      unsigned long long bit;
      const char* name;
    } known[]{{4, "power cap"},          {8, "hardware slowdown"},      {0x10, "sync boost"},
              {0x20, "heat (software)"}, {0x40, "heat (hardware)"},     {0x80, "power brake"},
              {2, "clocks were set"},    {0x100, "clocks of a display"}};
    std::string all;
    for (const auto& [bit, name] : known)
      if (reasons & bit) all += (all.empty() ? "" : ", ") + std::string(name);
    return all;
  }

 private:
  unsigned number(const char* name, int which) const {
    unsigned value = 0;
    return found_ && nvml_.call(name, device_, which, &value) == 0 ? value : 0;
  }

  library nvml_;
  void* device_{};
  bool started_ = false, found_ = false;
};

}  // namespace device_check
