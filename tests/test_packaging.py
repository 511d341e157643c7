"""What runs the daemon as a service: files that no other test uses."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGING = ROOT / "packaging"
UNIT = PACKAGING / "orch.service"


def test_the_image_is_given_all_that_the_wheel_is_made_of() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {"pyproject.toml", "requirements.lock", "LICENSE", project["project"]["readme"]}
    needed |= {*wheel["packages"], *wheel["force-include"]}
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line[1:] for line in ignored if line.startswith("!")} == needed
    assert all((ROOT / path).exists() for path in needed)


def test_the_image_listens_where_its_port_is() -> None:
    text = (PACKAGING / "Dockerfile").read_text()
    host = re.search(r"OLLAMA_HOST=0\.0\.0\.0:(\d+)", text)
    assert host is not None
    assert f"EXPOSE {host[1]}\n" in text
    assert f"127.0.0.1:{host[1]}:{host[1]}" in (PACKAGING / "compose.yaml").read_text()


def test_the_unit_leaves_the_engines_to_the_daemon_and_the_models_writable() -> None:
    unit = configparser.ConfigParser(interpolation=None, strict=False)
    unit.optionxform = str  # type: ignore[assignment,method-assign]
    unit.read(UNIT)
    service = unit["Service"]
    assert service["KillMode"] == "mixed"
    assert service["ReadWritePaths"] == "-/usr/share/ollama"
    assert service["Environment"] == f"ORCH_RUN_DIR=/run/{service['RuntimeDirectory']}"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    """The program is another: ours is not where the unit expects it."""
    copy = tmp_path / UNIT.name
    copy.write_text(re.sub(r"ExecStart=\S+", "ExecStart=/bin/true", UNIT.read_text()))
    done = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
