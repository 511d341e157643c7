find_package(CUDAToolkit QUIET)

orch_need("nvcc" CUDAToolkit_FOUND)
if(CUDAToolkit_FOUND)
  orch_need("cuBLAS" TARGET CUDA::cublas)
endif()
