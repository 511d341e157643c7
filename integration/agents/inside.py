"""Becomes another program, in a network of its own whose only port is handed out.

Arguments: the descriptor of the socket to hand it out through, the port, the program and its arguments.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
import sys

SIOCSIFFLAGS = 0x8914
IFF_UP, IFF_RUNNING = 1, 64


def main(descriptor: str, port: str, *argv: str) -> None:
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP | IFF_RUNNING))
    listener = socket.create_server(("127.0.0.1", int(port)))
    with listener, socket.socket(fileno=int(descriptor)) as door:
        socket.send_fds(door, [b"!"], [listener.fileno()])
    os.execvpe(argv[0], argv, os.environ)


if __name__ == "__main__":
    main(*sys.argv[1:])
