"""orch: serve language models on your own machines."""

__version__ = "0.1.0"

OLLAMA_VERSION = "0.31.0"
"""The release of Ollama whose API this is: clients compare it with the release they need."""
