"""The pinned llama.cpp: where its source comes from, what is changed in it, and its builds in the cache.

Needs the standard library alone, for CMake runs it (``python -m orchestrator.llama_cpp``) with whatever
Python it finds.
"""
