from __future__ import annotations

from orchestrator.discovery.machine import Machine


def test_the_machine_is_measured() -> None:
    machine = Machine()
    memory = machine.system()
    assert memory is not None
    assert 0 < memory.free_bytes <= memory.total_bytes
    assert machine.cores >= 1


def test_without_an_engine_to_ask_there_are_no_gpus() -> None:
    assert Machine().devices() == ()
