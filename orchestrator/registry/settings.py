"""What the operator chose about registries."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from pathlib import Path

from yarl import URL

from orchestrator import OLLAMA_VERSION, __version__
from orchestrator.domain.names import DEFAULT_HOST, ModelName
from orchestrator.registry.proxies import Proxies

HF_HOSTS = frozenset({"hf.co", "huggingface.co"})
"""Hugging Face, under both of its names."""

_GO_MACHINES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64", "i686": "386"}
_GO_VERSION = "go1.24.1"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrySettings:
    """How registries are reached, and who we are to them."""

    key_folder: Path
    """Where the key is, see ``key``."""
    docker_config: Path | None = None
    """The file in which ``docker login`` keeps passwords."""
    mirror: str = ""
    """``ORCH_REGISTRY_MIRROR``: a URL to ask in place of Ollama's registry."""
    hf_endpoint: str = ""
    """``HF_ENDPOINT``: a URL to ask in place of Hugging Face."""
    hf_token: str = ""
    """``HF_TOKEN``: for Hugging Face and nobody else."""
    proxies: Proxies = Proxies()
    ca_file: Path | None = None
    """``SSL_CERT_FILE``: the authorities to trust, in place of the system's."""
    ca_directory: Path | None = None
    """``SSL_CERT_DIR``: the same, as a directory."""

    def base_url(self, name: ModelName, *, insecure: bool) -> URL:
        """The root of the registry that ``name`` is asked at."""
        instead = ""
        if name.host.lower() == DEFAULT_HOST:
            instead = self.mirror
        elif name.host.lower() in HF_HOSTS:
            instead = self.hf_endpoint
        if instead:
            return URL(instead if "://" in instead else f"https://{instead}")
        return URL(f"http://{name.host}" if insecure else name.base_url)


def user_agent() -> str:
    """Registries know their clients by the beginning of it."""
    machine = _GO_MACHINES.get(platform.machine(), platform.machine())
    system = platform.system().lower()
    return f"ollama/{OLLAMA_VERSION} ({machine} {system}) Go/{_GO_VERSION} orch/{__version__}"
