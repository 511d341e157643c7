"""Converters by the architecture ``config.json`` names."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.create.convert.base import Converter
from orchestrator.create.convert.bert import convert_bert
from orchestrator.create.convert.cohere import convert_cohere
from orchestrator.create.convert.deepseek import convert_deepseek_v3, convert_glm4_moe_lite
from orchestrator.create.convert.embeddinggemma import convert_embeddinggemma
from orchestrator.create.convert.errors import UnsupportedArchitecture
from orchestrator.create.convert.gemma import convert_gemma, convert_gemma2, convert_gemma3
from orchestrator.create.convert.gemma3n import convert_gemma3n
from orchestrator.create.convert.gpt_oss import convert_gpt_oss
from orchestrator.create.convert.laguna import convert_laguna
from orchestrator.create.convert.lfm import convert_lfm2
from orchestrator.create.convert.llama import convert_llama, convert_mixtral
from orchestrator.create.convert.mistral import convert_ministral3
from orchestrator.create.convert.nemotron import convert_nemotron_h
from orchestrator.create.convert.nomic_bert import convert_nomic_bert
from orchestrator.create.convert.olmo import convert_olmo3
from orchestrator.create.convert.phi import convert_phi3
from orchestrator.create.convert.qwen import convert_qwen2, convert_qwen3
from orchestrator.create.convert.qwen_next import convert_qwen3_next, convert_qwen35

CONVERTERS: Mapping[str, Converter] = {
    "BertModel": convert_bert,
    "CohereForCausalLM": convert_cohere,
    "DeepseekV3ForCausalLM": convert_deepseek_v3,
    "Gemma2ForCausalLM": convert_gemma2,
    "Gemma3ForCausalLM": convert_gemma3,
    "Gemma3TextModel": convert_embeddinggemma,
    "Gemma3nForConditionalGeneration": convert_gemma3n,
    "GemmaForCausalLM": convert_gemma,
    "Glm4MoeLiteForCausalLM": convert_glm4_moe_lite,
    "GptOssForCausalLM": convert_gpt_oss,
    "LagunaForCausalLM": convert_laguna,
    "Lfm2ForCausalLM": convert_lfm2,
    "Lfm2MoeForCausalLM": convert_lfm2,
    "LlamaForCausalLM": convert_llama,
    "Ministral3ForCausalLM": convert_ministral3,
    "MistralForCausalLM": convert_llama,
    "MixtralForCausalLM": convert_mixtral,
    "NemotronHForCausalLM": convert_nemotron_h,
    "NomicBertModel": convert_nomic_bert,
    "NomicBertMoEModel": convert_nomic_bert,
    "Olmo3ForCausalLM": convert_olmo3,
    "Phi3ForCausalLM": convert_phi3,
    "Qwen2ForCausalLM": convert_qwen2,
    "Qwen3ForCausalLM": convert_qwen3,
    "Qwen3MoeForCausalLM": convert_qwen3,
    "Qwen3NextForCausalLM": convert_qwen3_next,
    "Qwen3_5ForConditionalGeneration": convert_qwen35,
    "Qwen3_5MoeForConditionalGeneration": convert_qwen35,
}


def converter_of(architecture: str) -> Converter:
    """The converter of an architecture. Raises ``UnsupportedArchitecture``."""
    try:
        return CONVERTERS[architecture]
    except KeyError:
        raise UnsupportedArchitecture(f'unsupported architecture "{architecture}"') from None
