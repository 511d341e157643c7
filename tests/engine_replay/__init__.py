"""Recorded API requests, made again over a scripted engine: what the daemon asks it, what clients see."""
