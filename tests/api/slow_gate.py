"""What holds the import of ``slow_module`` up until a test opens it."""

from __future__ import annotations

import threading

opened = threading.Event()
