from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.addresses import InvalidPort, ServerAddress

HOSTS = st.one_of(
    st.ip_addresses(v=4).map(str),
    st.ip_addresses(v=6).filter(lambda address: not getattr(address, "ipv4_mapped", None)).map(str),
    st.from_regex(r"[a-z]{1,9}(\.[a-z]{1,9}){0,3}", fullmatch=True),
)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("", ServerAddress()),
        ("  owl  ", ServerAddress(host="owl")),
        ("http://owl", ServerAddress(host="owl", port=80)),
        ("https://owl:1/a/b", ServerAddress("https", "owl", 1, "a/b")),
        ("::ffff:1.2.3.4", ServerAddress(host="1.2.3.4")),
        ("0:0::1", ServerAddress(host="::1")),
        ("[::1]:5", ServerAddress(host="::1", port=5)),
        (":7", ServerAddress(host="", port=7)),
        ("ollama.com", ServerAddress("https", "ollama.com", 443)),
        ("http://", ServerAddress(port=80)),
    ],
)
def test_what_an_address_leaves_out_has_its_default(text: str, address: ServerAddress) -> None:
    assert ServerAddress.parse(text) == address


@pytest.mark.parametrize("port", ["", "x", "-1", "65536", "9" * 40, "٣", " 1"])
def test_a_bad_port_is_refused_and_the_usual_one_offered(port: str) -> None:
    with pytest.raises(InvalidPort) as refusal:
        ServerAddress.parse(f"https://owl:{port}")
    assert refusal.value.fallback == ServerAddress("https", "owl", 443)


@given(st.sampled_from(["http", "https", "owl"]), HOSTS, st.integers(0, 65535))
def test_a_url_reads_back(scheme: str, host: str, port: int) -> None:
    address = ServerAddress(scheme, host, port)
    assert ServerAddress.parse(address.url) == address


@given(st.text())
def test_any_text_is_an_address_but_for_its_port(text: str) -> None:
    try:
        address = ServerAddress.parse(text)
    except InvalidPort as error:
        address = error.fallback
    assert "://" in address.url


@pytest.mark.parametrize(
    ("host", "reached"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("owl", "owl"), ("", "")]
)
def test_every_interface_is_reached_by_the_loopback_one(host: str, reached: str) -> None:
    assert ServerAddress(host=host).connectable.host == reached
