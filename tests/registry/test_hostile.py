"""Registries that misbehave: nothing wrong gets a final name, nothing hangs, errors tell, and it resumes."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from contextlib import aclosing, suppress
from itertools import count

import pytest

from orchestrator.domain.names import ModelName
from orchestrator.errors import OrchestratorError
from orchestrator.registry.errors import (
    BadAnswer,
    BlobMismatch,
    FileMissing,
    ManifestNotPulled,
    RegistryError,
    RegistryRefused,
    RetriesExhausted,
    SizeMismatch,
)
from orchestrator.registry.patience import Patience
from tests.registry.hostile import (
    Fault,
    Registry,
    Reply,
    Request,
    answers,
    blobs,
    cuts,
    damages,
    endless,
    goes_on,
    html,
    ignores_ranges,
    lies_about_length,
    moves,
    only,
    redirects,
    sha256,
    shortens,
    stalls,
)
from tests.registry.pulling import Pulls

MIB = 1 << 20
(BIG,) = blobs(1, 3 * MIB)
(SMALL,) = blobs(1, 1000, seed=1)


async def refused(pulls: Pulls, name: str, kind: type[OrchestratorError]) -> OrchestratorError:
    """The error a pull ends with; the store stays sound and has no model of that name."""
    with pytest.raises(kind) as caught:
        await pulls.pull(name)
    pulls.assert_sound()
    assert not pulls.store.layout.manifest(ModelName.parse(name)).exists()
    return caught.value


async def test_an_honest_registry_is_pulled_from(hostile: Registry, pulls: Pulls) -> None:
    steps = await pulls.pull(hostile.add("ns/m", BIG, SMALL))
    assert [step.status for step in steps if not step.digest] == [
        "pulling manifest",
        "verifying sha256 digest",
        "writing manifest",
        "success",
    ]
    pulls.assert_sound()
    assert pulls.has(BIG)
    assert pulls.has(SMALL)
    assert len(pulls.files()) == 3
    assert hostile.sent_bytes == sum(map(len, hostile.blobs.values()))


# case B122
async def test_ranges_that_are_ignored_give_the_same_file(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.fail_always("blob", ignores_ranges(hostile))
    await pulls.pull(name)
    pulls.assert_sound()
    assert pulls.has(BIG)


async def test_bytes_behind_the_end_of_an_answer_spoil_nothing(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG, SMALL)
    hostile.fail_always("blob", goes_on)
    with suppress(RegistryError):  # where they stop decides whether the answer can be read at all
        await pulls.pull(name)
    pulls.assert_sound()
    hostile.faults.clear()
    await pulls.pull(name)
    assert pulls.has(BIG)


# case B122
async def test_a_resumed_download_survives_a_server_that_sends_everything(
    hostile: Registry, pulls: Pulls
) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.fail_always("blob", only(BIG, cuts(300_000), *[answers(500)] * 40))
    await refused(pulls, name, RetriesExhausted)
    assert any(file.endswith("-partial") for file in pulls.files())
    hostile.fail_always("blob", ignores_ranges(hostile))
    await pulls.pull(name)
    pulls.assert_sound()
    assert pulls.has(BIG)


@pytest.mark.parametrize(
    "fault",
    [
        cuts(0),
        cuts(10),
        cuts(100_000),
        cuts(100_000, reset=True),
        shortens(70_000),
        answers(503),
        answers(500, b"oops"),
        answers(429, Retry_After="0"),
    ],
    ids=["at once", "early", "late", "reset", "short", "503", "500", "429"],
)
async def test_what_fails_twice_is_tried_again(hostile: Registry, pulls: Pulls, fault: Fault) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.fail_always("blob", only(BIG, fault, fault))
    await pulls.pull(name)
    pulls.assert_sound()
    assert pulls.has(BIG)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (cuts(0), RetriesExhausted),
        (cuts(10, reset=True), RetriesExhausted),
        (answers(500, b"oops"), RetriesExhausted),
        (answers(429, b"slow down", Retry_After="0"), RetriesExhausted),
        (answers(429, b"slow down", Retry_After="100000"), RegistryRefused),
        (answers(404), FileMissing),
        (answers(403, b"no"), RegistryRefused),
        (answers(418, b"teapot"), RegistryRefused),
        (answers(206, b"abc"), BadAnswer),
        (moves(1), BadAnswer),
        (html, BadAnswer),
        (answers(200, b"short"), SizeMismatch),
        (answers(416, Content_Range="bytes */17"), SizeMismatch),
        (answers(206, b"abc", Content_Range="bytes 0-2/3"), SizeMismatch),
        (answers(200, BIG, Content_Encoding="gzip"), BadAnswer),
    ],
)
async def test_what_fails_always_is_told(
    hostile: Registry, pulls: Pulls, fault: Fault, kind: type[RegistryError]
) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.fail_always("blob", fault)
    error = await refused(pulls, name, kind)
    assert error.hint or isinstance(error, RegistryRefused)
    hostile.faults.clear()
    await pulls.pull(name)
    assert pulls.has(BIG)


async def test_what_was_fetched_before_the_end_of_patience_is_not_fetched_again(
    hostile: Registry, pulls: Pulls
) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.fail_always("blob", only(BIG, cuts(500_000), *[answers(500)] * 40))
    await refused(pulls, name, RetriesExhausted)
    hostile.faults.clear()
    await pulls.pull(name)
    assert hostile.sent_bytes <= len(BIG) + 100 + (64 << 10)


async def test_wrong_bytes_are_thrown_away(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.fail_always("blob", damages(70_000))
    error = await refused(pulls, name, BlobMismatch)
    assert sha256(BIG) in str(error)
    assert not any("-partial" in file for file in pulls.files())
    hostile.faults.clear()
    await pulls.pull(name)
    assert pulls.has(BIG)


async def test_damage_from_an_earlier_download_is_made_good_at_once(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.fail_always("blob", only(BIG, cuts(700_000), *[answers(500)] * 40))
    await refused(pulls, name, RetriesExhausted)
    (partial,) = pulls.blobs.glob("*-partial")
    with partial.open("r+b") as file:
        file.write(b"rotten")
    hostile.faults.clear()
    await pulls.pull(name)
    pulls.assert_sound()
    assert pulls.has(BIG)


@pytest.mark.parametrize("stated", [len(BIG) - 1, len(BIG) + 1, len(BIG) * 2, 1])
async def test_a_lie_about_the_size_of_a_layer_is_told(hostile: Registry, pulls: Pulls, stated: int) -> None:
    name = hostile.add("ns/m", BIG, sizes={0: stated})
    error = await refused(pulls, name, SizeMismatch)
    assert str(len(BIG)) in str(error)


async def test_a_size_that_is_not_stated_is_asked_for(hostile: Registry, pulls: Pulls) -> None:
    await pulls.pull(hostile.add("ns/m", BIG, sizes={0: 0}))
    assert pulls.has(BIG)


async def test_a_layer_larger_than_the_disk_is_refused_before_the_first_byte(
    hostile: Registry, pulls: Pulls
) -> None:
    name = hostile.add("ns/m", BIG, sizes={0: 1 << 60})
    with pytest.raises(OrchestratorError, match="no space left on device") as caught:
        await pulls.pull(name)
    assert "bytes needed" in str(caught.value)
    assert not hostile.asked("blob")


@pytest.mark.parametrize("by", [1, 1000])
async def test_a_claim_of_more_bytes_than_come_is_told(hostile: Registry, pulls: Pulls, by: int) -> None:
    name = hostile.add("ns/m", SMALL)
    hostile.fail_always("blob", lies_about_length(by))
    await refused(pulls, name, SizeMismatch)


async def test_a_stall_is_ended_by_another_connection(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.fail_always("blob", only(BIG, stalls(100_000), stalls(0)))
    before = hostile.connections
    await pulls.pull(name, puller=pulls.other_puller(stall_s=2.0))
    assert pulls.has(BIG)
    assert hostile.connections - before >= 3


async def test_a_server_that_never_sends_is_given_up(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.fail_always("blob", stalls(0))
    with pytest.raises(RetriesExhausted):
        await pulls.pull(name, puller=pulls.other_puller(stall_s=0.1, patience=Patience(2, 0.01)))


async def test_drops_are_no_download(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.bytes_per_second = 500
    with pytest.raises(RetriesExhausted, match="no data"):
        await pulls.pull(name, puller=pulls.other_puller(stall_s=0.5, patience=Patience(2, 0.01)))
    assert any(file.endswith("-partial") for file in pulls.files())


async def test_the_registry_may_ask_to_wait(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", SMALL)
    hostile.fail("manifest", answers(429, Retry_After="1"))
    loop = asyncio.get_running_loop()
    before = loop.time()
    await pulls.pull(name)
    assert loop.time() - before >= 1.0


async def test_a_burst_of_errors_before_the_manifest_is_survived(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", SMALL)
    hostile.fail("manifest", answers(500), answers(502), cuts(5))
    await pulls.pull(name)
    assert pulls.has(SMALL)


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (html, "invalid character '<' looking for beginning of value"),
        (answers(200), "unexpected EOF"),
        (answers(200, b"[]"), "invalid character '['"),
        (answers(200, b"{}"), "lists nothing"),
        (answers(200, b'{"layers":5}'), "invalid manifest"),
        (endless, "longer than"),
        (answers(404), "file does not exist"),
        (answers(403, b"no"), "403: no"),
        (answers(302), "redirect to ''"),
        (redirects("gopher://x/"), "no address"),
        (redirects("http://[::1"), "malformed address"),
    ],
)
async def test_manifests_that_are_none_are_told(
    hostile: Registry, pulls: Pulls, fault: Fault, text: str
) -> None:
    name = hostile.add("ns/m", SMALL)
    hostile.fail_always("manifest", fault)
    error = await refused(pulls, name, ManifestNotPulled)
    assert str(error).startswith("pull model manifest: ")
    assert text in str(error)
    assert not hostile.asked("blob")


@pytest.mark.parametrize(
    ("layer", "text"),
    [
        ({"digest": ""}, "ns/m: digest is empty"),
        ({"digest": "sha256:../../x"}, "invalid digest format: 'sha256:../../x'"),
        (
            {"digest": "sha256:" + "0" * 64, "size": -1},
            f"invalid manifest: sha256:{'0' * 64} has a size of -1 bytes",
        ),
    ],
)
async def test_a_manifest_that_lists_what_cannot_be_is_told(
    hostile: Registry, pulls: Pulls, layer: dict[str, object], text: str
) -> None:
    name = hostile.add("ns/m", SMALL)
    hostile.fail_always("manifest", answers(200, json.dumps({"layers": [layer]}).encode()))
    assert str(await refused(pulls, name, BadAnswer)) == text
    assert not hostile.asked("blob")


@pytest.mark.parametrize("kind", ["manifest", "blob"])
async def test_a_circle_of_redirects_ends(hostile: Registry, pulls: Pulls, kind: str) -> None:
    name = hostile.add("ns/m", SMALL)
    numbers = count()
    hostile.fail_always(kind, redirects(lambda request: f"{request.path}?{next(numbers)}"))
    error = await refused(pulls, name, RegistryError)
    assert "maximum redirects exceeded (10)" in str(error)
    assert set(Counter(request.path for request in hostile.asked(kind)).values()) <= set(range(12))


async def test_blobs_elsewhere_are_fetched_without_credentials(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.token = "secret"
    async with Registry().serving() as elsewhere:
        elsewhere.blobs = hostile.blobs
        hostile.fail_always("blob", _sends_away(elsewhere))
        await pulls.pull(name)
        assert pulls.has(BIG)
        assert elsewhere.asked("blob")
        assert not [request for request in elsewhere.requests if "authorization" in request.headers]
    assert {request.headers.get("authorization") for request in hostile.asked("blob")} == {"Bearer secret"}
    assert len(hostile.asked("blob")) < len(elsewhere.asked("blob"))


@pytest.mark.parametrize(
    "query",
    [
        "X-Sig=a%2Bb%2F%3D%20c+d&k=%7Bx%7D",
        "sig=AbC%2f%3d&se=2026-01-01T00%3A00%3A00Z",
        "a=b=c&&d",
        "%E2%82%AC",
    ],
)
async def test_signed_addresses_are_asked_for_letter_by_letter(
    hostile: Registry, pulls: Pulls, query: str
) -> None:
    name = hostile.add("ns/m", BIG)
    async with Registry().serving() as elsewhere:
        elsewhere.blobs = hostile.blobs
        hostile.fail_always(
            "blob", redirects(lambda request: f"http://localhost:{elsewhere.port}{request.path}?{query}")
        )
        await pulls.pull(name)
        assert {request.target.partition("?")[2] for request in elsewhere.asked("blob")} == {query}


async def test_a_place_that_has_expired_is_asked_for_again(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    async with Registry().serving() as elsewhere:
        elsewhere.blobs = hostile.blobs
        hostile.fail_always("blob", _sends_away(elsewhere))
        expired = answers(403, b"expired")
        elsewhere.fail("blob", None, None, expired, None, expired)
        await pulls.pull(name)
    pulls.assert_sound()
    assert pulls.has(BIG)


def _sends_away(elsewhere: Registry) -> Fault:
    def fault(request: Request, reply: Reply) -> Reply:
        if reply.status == 401:
            return reply
        return Reply(307, {"Location": f"http://localhost:{elsewhere.port}{request.path}"})

    return fault


@pytest.mark.parametrize(
    "fault",
    [
        html,
        answers(200, b"{}"),
        answers(200, b'{"token":5}'),
        answers(200, b'{"token":"a\\r\\nX: y"}'),
        answers(500, b"broken"),
        answers(403),
        answers(302, Location="http://127.0.0.1:1/"),
        endless,
        cuts(0),
    ],
)
async def test_token_endpoints_that_lie_are_told(hostile: Registry, pulls: Pulls, fault: Fault) -> None:
    name = hostile.add("ns/m", SMALL)
    hostile.token = "secret"
    hostile.fail_always("token", fault)
    await refused(pulls, name, ManifestNotPulled)
    assert len(hostile.asked("token")) <= 8


async def test_a_token_that_is_not_taken_ends_the_pull(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", SMALL)
    hostile.token = "secret"
    hostile.fail_always("token", answers(200, b'{"token":"other"}'))
    error = await refused(pulls, name, ManifestNotPulled)
    assert str(error) == "pull model manifest: unauthorized: access denied"
    assert len(hostile.asked("manifest")) == 2


async def test_a_challenge_for_another_host_gets_nothing(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", SMALL)
    hostile.token = "secret"
    async with Registry().serving() as elsewhere:
        hostile.realm = f"http://{elsewhere.address}/token"
        error = await refused(pulls, name, ManifestNotPulled)
        assert not elsewhere.requests
    assert f'does not match original host "{hostile.address}"' in str(error)


async def test_two_hundred_small_layers_do_not_stall(hostile: Registry, pulls: Pulls) -> None:
    layers = list(blobs(200, 2000, seed=7))
    steps = await pulls.pull(hostile.add("ns/m", *layers))
    assert steps[-1].status == "success"
    assert len(pulls.files()) == 201
    assert len(hostile.asked("blob")) == 201
    assert hostile.connections <= 6


async def test_a_manifest_with_unknown_members_is_stored_byte_for_byte(
    hostile: Registry, pulls: Pulls
) -> None:
    name = hostile.add("ns/m", SMALL)
    content = json.dumps(json.loads(hostile.manifests["ns/m/latest"]) | {"x": [1, None]}, indent=3).encode()
    hostile.manifests["ns/m/latest"] = content
    await pulls.pull(name)
    assert pulls.store.layout.manifest(ModelName.parse(name)).read_bytes() == content


@pytest.mark.parametrize("seed", range(12))
async def test_any_mixture_of_faults_ends_with_a_sound_store(
    hostile: Registry, pulls: Pulls, seed: int
) -> None:
    chance = random.Random(seed)
    name = hostile.add("ns/m", BIG, SMALL)
    faults = [
        cuts(chance.randrange(900_000)),
        cuts(chance.randrange(900_000), reset=True),
        ignores_ranges(hostile),
        stalls(chance.randrange(900_000)),
        shortens(chance.randrange(1, 900_000)),
        damages(chance.randrange(900_000)),
        answers(503, Retry_After="0"),
        answers(429),
        html,
    ]

    def mixed(request: Request, reply: Reply) -> Reply:
        return chance.choice(faults)(request, reply) if chance.random() < 0.4 else reply

    hostile.fail_always("blob", mixed)
    puller = pulls.other_puller(stall_s=0.2)
    for _ in range(4):
        with suppress(RegistryError):
            await pulls.pull(name, puller=puller)
        pulls.assert_sound()
    hostile.faults.clear()
    await pulls.pull(name)
    pulls.assert_sound()
    assert pulls.has(BIG)
    assert pulls.has(SMALL)
    assert not any("-partial" in file for file in pulls.files())


async def test_a_client_that_leaves_keeps_the_parts(hostile: Registry, pulls: Pulls) -> None:
    name = hostile.add("ns/m", BIG)
    hostile.fail_always("blob", only(BIG, stalls(500_000)))
    async with aclosing(pulls.steps(name)) as steps:
        async for step in steps:
            if step.completed_bytes:
                break
    kept = sum(json.loads(path.read_bytes())["Completed"] for path in pulls.blobs.glob("*-partial-*"))
    assert kept > 0
    sent = hostile.sent_bytes
    await pulls.pull(name)
    assert pulls.has(BIG)
    assert hostile.sent_bytes - sent <= len(BIG) - kept + 100
