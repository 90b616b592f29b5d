# SPDX-License-Identifier: MIT
# cke-cuda.cmake: finds nvcc, which only the CUDA targets need.
find_program(CKE_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)

# Options for units that include cke/cuda.cuh. The bits equal the CPU's only without contraction and with flushed
# subnormals. The suppressed warnings are nvcc's about code for g++ (unroll pragmas, u8 compared with 0).
set(cke_nvcc_options -std=c++20 -O3 --fmad=false --ftz=true --expt-relaxed-constexpr -diag-suppress 1675,186,20012)
