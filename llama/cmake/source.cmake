# Where the llama.cpp tree comes from. The work is done by `python -m orchestrator.llama_cpp`, which `orch engine build`
# uses too: one place that knows about sources, checksums and patches.

set(ORCH_LLAMA_SOURCE_DIR "" CACHE PATH "A prepared llama.cpp tree; empty: prepare one below the build folder")

function(orch_prepare_source result)
  if(NOT ORCH_LLAMA_SOURCE_DIR)
    find_package(Python3 3.11 REQUIRED COMPONENTS Interpreter)
    set(tree "${CMAKE_BINARY_DIR}/source")
    execute_process(
      COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${CMAKE_SOURCE_DIR} ${Python3_EXECUTABLE}
              -m orchestrator.llama_cpp --project ${CMAKE_SOURCE_DIR} --into ${tree}
      RESULT_VARIABLE status)
    if(NOT status EQUAL 0)
      message(FATAL_ERROR "the llama.cpp sources could not be prepared; the reason is above")
    endif()
  else()
    set(tree "${ORCH_LLAMA_SOURCE_DIR}")
  endif()
  if(NOT EXISTS "${tree}/CMakeLists.txt")
    message(FATAL_ERROR "${tree} holds no llama.cpp: there is no CMakeLists.txt in it")
  endif()
  set(${result} "${tree}" PARENT_SCOPE)
endfunction()

# What `llama-server --version` shows: the number in the tag, and the tag, marked when patches of ours are in it.
function(orch_read_pin number commit)
  file(STRINGS "${CMAKE_CURRENT_SOURCE_DIR}/LLAMA_CPP_VERSION" pin REGEX "^tag +")
  string(REGEX REPLACE "^tag +" "" tag "${pin}")
  string(REGEX REPLACE "[^0-9]" "" digits "${tag}")
  file(GLOB patches "${CMAKE_CURRENT_SOURCE_DIR}/patches/*.patch")
  if(patches)
    string(APPEND tag "+orch")
  endif()
  set(${number} "${digits}" PARENT_SCOPE)
  set(${commit} "${tag}" PARENT_SCOPE)
endfunction()
