"""``python -m orchestrator.registry FOLDER`` makes the key in ``FOLDER``, and prints the public line if new.

A process of its own, for the daemon would keep the memory of all that is imported for it.
"""

import sys
from pathlib import Path

from orchestrator.errors import words_of
from orchestrator.registry.key import ensure_key

try:
    PUBLIC = ensure_key(Path(sys.argv[1]))
except OSError as error:
    sys.exit(words_of(error))
sys.stdout.write(PUBLIC or "")
