list(PREPEND CMAKE_PREFIX_PATH "$ENV{VULKAN_SDK}")
find_package(Vulkan QUIET COMPONENTS glslc)
find_package(SPIRV-Headers CONFIG QUIET)

orch_need("glslc" Vulkan_GLSLC_EXECUTABLE)
orch_need("the Vulkan loader" Vulkan_LIBRARY)
orch_need("the Vulkan headers" EXISTS "${Vulkan_INCLUDE_DIR}/vulkan/vulkan.hpp")
orch_need("the SPIR-V headers" SPIRV-Headers_FOUND)

# The engine sets layers up as programs could not do before this extension.
set(header "${Vulkan_INCLUDE_DIR}/vulkan/vulkan_core.h")
if(EXISTS "${header}")
  file(STRINGS "${header}" layer_settings REGEX "VK_EXT_LAYER_SETTINGS_SPEC_VERSION")
  orch_need_newer("the Vulkan headers (${Vulkan_VERSION} has no VK_EXT_layer_settings)" layer_settings)
endif()
