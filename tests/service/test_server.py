"""The port that is listened on."""

import socket

from logirec.service.server import listen


def test_connections_send_at_once():
    # With Nagle's algorithm the body of every answer would wait for the acknowledgement of its head.
    with (
        listen("127.0.0.1", 0) as listening,
        socket.create_connection(listening.getsockname()),
        listening.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
