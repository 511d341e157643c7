"""Log probabilities in replies."""

from __future__ import annotations

from orchestrator.api.logprobs import logprob_members
from orchestrator.domain.chunks import TokenLogprob, TopLogprob


def test_log_probabilities_have_bytes_unless_the_token_is_empty() -> None:
    entries = [TokenLogprob("é", -0.5, (TopLogprob("é", -0.5), TopLogprob("", -1.0))), TokenLogprob("", 0.0)]
    assert logprob_members(entries) == [
        {
            "token": "é",
            "logprob": -0.5,
            "bytes": [195, 169],
            "top_logprobs": [
                {"token": "é", "logprob": -0.5, "bytes": [195, 169]},
                {"token": "", "logprob": -1.0},
            ],
        },
        {"token": "", "logprob": 0.0},
    ]
