# <prefix>/lib/orch: programs, libraries and CPU backends; <prefix>/lib/orch/<gpu>: the backend of a GPU.
#
# A GPU backend lies in a folder of its own because the daemon decides for each model which of them are seen.

set(ORCH_LIB lib/orch)
set(ORCH_PROGRAMS llama-server llama-quantize)
set(ORCH_LIBRARIES ggml ggml-base llama llama-common mtmd llama-server-impl llama-quantize-impl)
set(ORCH_GPU_TARGETS ggml-cuda ggml-hip ggml-vulkan)

if(APPLE)
  set(origin "@loader_path")
else()
  set(origin "$ORIGIN")
endif()

function(orch_install target folder rpath)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "${rpath}" PUBLIC_HEADER "")
  install(TARGETS ${target} RUNTIME DESTINATION ${folder} LIBRARY DESTINATION ${folder} NAMELINK_SKIP
                            BUNDLE DESTINATION ${folder})
endfunction()

set(built ${ORCH_PROGRAMS})
foreach(target IN LISTS ORCH_PROGRAMS)
  orch_install(${target} ${ORCH_LIB} "${origin}")
endforeach()

foreach(target IN LISTS ORCH_LIBRARIES)
  get_target_property(kind ${target} TYPE)
  if(kind STREQUAL "SHARED_LIBRARY")
    list(APPEND built ${target})
    orch_install(${target} ${ORCH_LIB} "${origin}")
  endif()
endforeach()

foreach(backend IN LISTS GGML_AVAILABLE_BACKENDS)
  get_target_property(kind ${backend} TYPE)
  if(kind STREQUAL "STATIC_LIBRARY")
    continue()
  endif()
  list(APPEND built ${backend})
  if(backend IN_LIST ORCH_GPU_TARGETS)
    orch_install(${backend} ${ORCH_LIB}/${ORCH_LLAMA_GPU} "${origin};${origin}/..")
  else()
    orch_install(${backend} ${ORCH_LIB} "${origin}")
  endif()
endforeach()

install(FILES "${ORCH_LLAMA_TREE}/LICENSE" DESTINATION ${ORCH_LIB} RENAME LICENSE.llama.cpp)

# What `cmake --build` builds without being asked for a target: these, not the other tools of llama.cpp.
add_custom_target(orch-engine ALL DEPENDS ${built})

# Which of our patches are in it: the daemon uses what they add only where they are.
file(GLOB patches RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}/patches" "${CMAKE_CURRENT_SOURCE_DIR}/patches/*.patch")
list(JOIN patches "\n" names)
file(WRITE "${CMAKE_CURRENT_BINARY_DIR}/PATCHES" "${names}\n")
install(FILES "${CMAKE_CURRENT_BINARY_DIR}/PATCHES" DESTINATION ${ORCH_LIB})
