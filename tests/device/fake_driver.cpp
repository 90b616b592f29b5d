// SPDX-License-Identifier: MIT
// fake_driver.cpp: the driver's and the management library's functions, as driver.hpp calls them, for tests. What they
// answer is in the environment.
#include <cstdlib>
#include <cstring>

namespace {

int number(const char* name, int usual) {
  const char* const is = std::getenv(name);
  return is ? std::atoi(is) : usual;
}
unsigned long long energy = 1000;

}  // namespace

extern "C" {
int cuDriverGetVersion(int* version) {
  if (number("FAKE_CRASH", 0)) std::abort();
  return *version = number("FAKE_CUDA", 13000), 0;
}
int cuInit(unsigned) { return number("FAKE_INIT", 0); }
int cuDeviceGetCount(int* n) { return *n = number("FAKE_DEVICES", 1), 0; }
int cuDeviceGet(int* device, int) { return *device = 0, 0; }
int cuDeviceGetAttribute(int* value, int which, int) {
  const int sm = number("FAKE_SM", 90);
  return *value = which == 75 ? sm / 10 : sm % 10, 0;
}

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* id, void** device) {
  *device = &energy;
  return std::strcmp(id, "0000:01:00.0") == 0 ? 0 : 6;
}
int nvmlDeviceGetClockInfo(void*, int which, unsigned* mhz) { return *mhz = which == 1 ? 1500 : 2600, 0; }
int nvmlDeviceGetMaxClockInfo(void*, int which, unsigned* mhz) { return *mhz = which == 1 ? 1980 : 2619, 0; }
int nvmlDeviceGetTemperature(void*, int, unsigned* degrees) { return *degrees = 41, 0; }
int nvmlDeviceGetCurrentClocksThrottleReasons(void*, unsigned long long* why) {
  return *why = static_cast<unsigned long long>(number("FAKE_THROTTLED", 0)), 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void*, unsigned long long* mj) { return *mj = energy += 500, 0; }
}
