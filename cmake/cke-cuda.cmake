# SPDX-License-Identifier: MIT
# cke-cuda.cmake: nvcc, if there is one. Nothing else of cke needs it.
find_program(CKE_NVCC nvcc HINTS $ENV{CUDA_HOME}/bin $ENV{CUDA_PATH}/bin /usr/local/cuda/bin)

# What units that include cke/cuda.cuh are compiled with: numbers have the CPU's bits only if nothing is contracted and
# subnormals are flushed. What is suppressed are warnings of nvcc about code for g++ (unroll pragmas, u8 compared with 0).
set(cke_nvcc_options -std=c++20 -O3 --fmad=false --ftz=true --expt-relaxed-constexpr -diag-suppress 1675,186,20012)
