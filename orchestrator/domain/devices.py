"""Accelerators as discovery reports them and placement chooses among them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Device:
    """One GPU. (library, id) is its identity. Source: ``discovery-build`` §1."""

    library: str
    """``CUDA``, ``ROCm``, ``Vulkan`` or ``Metal``."""
    id: str
    name: str
    """The engine's label: ``CUDA0``, ``Vulkan0`` …"""
    description: str = ""
    filter_id: str = ""
    """What goes into the visibility variable."""
    integrated: bool = False
    total_bytes: int = 0
    free_bytes: int = 0
    compute: tuple[int, int] = (0, 0)
    driver_major: int = 0
    library_path: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SystemMemory:
    """Main memory and swap, in bytes."""

    total_bytes: int
    free_bytes: int
    """What can be had without swapping: free pages and reclaimable caches, within any cgroup limit."""
    swap_free_bytes: int = 0
