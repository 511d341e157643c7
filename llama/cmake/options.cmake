# What every build of the engine has, whatever the preset.

set(CMAKE_POSITION_INDEPENDENT_CODE ON)

# As a subproject llama.cpp builds no tools unless it is told to.
foreach(wanted IN ITEMS LLAMA_BUILD_COMMON LLAMA_BUILD_TOOLS LLAMA_BUILD_SERVER)
  set(${wanted} ON CACHE BOOL "" FORCE)
endforeach()

# Not shipped; the web interface would need npm or a download.
foreach(unwanted IN ITEMS LLAMA_BUILD_APP LLAMA_BUILD_UI LLAMA_USE_PREBUILT_UI LLAMA_BUILD_HTML LLAMA_BUILD_TESTS
                          LLAMA_BUILD_EXAMPLES LLAMA_TOOLS_INSTALL)
  set(${unwanted} OFF CACHE BOOL "" FORCE)
endforeach()

# The engine downloads nothing and speaks no TLS: the daemon does.
set(LLAMA_OPENSSL OFF CACHE BOOL "" FORCE)

# Video input runs ffmpeg.
set(LLAMA_SUBPROCESS ON CACHE BOOL "" FORCE)

# Every object file depends on the compiler alone, so that ccache finds it again in another folder.
find_program(ORCH_CCACHE ccache)
if(ORCH_CCACHE)
  if(NOT ORCH_CCACHE_ROOT)
    set(ORCH_CCACHE_ROOT ${CMAKE_BINARY_DIR})
  endif()
  set(ORCH_CCACHE_ENV CCACHE_BASEDIR=${ORCH_CCACHE_ROOT} CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=time_macros)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${ORCH_CCACHE_ENV} ${ORCH_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env ${ORCH_CCACHE_ENV} ${ORCH_CCACHE})
  set(GGML_CCACHE OFF CACHE BOOL "" FORCE) # ours already stands before the compiler
endif()
