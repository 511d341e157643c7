// The package `ai` over a provider for Ollama and over one for servers that speak OpenAI's dialect.

import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { embedMany, generateText, Output, stepCountIs, streamText, tool } from 'ai';
import { createOllama } from 'ollama-ai-provider-v2';
import { z } from 'zod';

import { serve } from './worker.mjs';

globalThis.AI_SDK_LOG_WARNINGS = false;

const provider = (name, address) =>
  name === 'ollama'
    ? createOllama({ baseURL: `http://${address}/api` })
    : createOpenAICompatible({ name: 'orch', baseURL: `http://${address}/v1`, includeUsage: true, supportsStructuredOutputs: true });

const tools = {
  find: tool({
    description: 'Find files',
    inputSchema: z.object({ pattern: z.string(), depth: z.number().int().optional() }),
    execute: async ({ pattern }) => `${pattern}: a.txt`,
  }),
};

const setting = ({ package: name, address, model, ...rest }) => ({
  model: provider(name, address)(model),
  prompt: 'x',
  maxRetries: 0,
  ...rest,
});

const told = (result) => ({
  text: result.text,
  thought: result.reasoningText ?? '',
  end: result.finishReason,
  tokens: [result.usage.inputTokens, result.usage.outputTokens],
});

await serve({
  async chat(asked) {
    return told(await generateText(setting(asked)));
  },

  async stream(asked) {
    let failure;
    const result = streamText({ ...setting(asked), onError: ({ error }) => (failure = error) });
    const pieces = [];
    for await (const piece of result.textStream) pieces.push(piece);
    if (failure) throw failure;
    return {
      pieces,
      text: await result.text,
      thought: (await result.reasoningText) ?? '',
      end: await result.finishReason,
      tokens: [(await result.usage).inputTokens, (await result.usage).outputTokens],
    };
  },

  async useTool(asked) {
    const result = await generateText({ ...setting(asked), tools, stopWhen: stepCountIs(3) });
    return {
      calls: result.steps.flatMap((step) => step.toolCalls.map((call) => [call.toolName, call.input])),
      texts: result.steps.map((step) => step.text),
    };
  },

  async streamTool(asked) {
    const result = streamText({ ...setting(asked), tools, stopWhen: stepCountIs(3) });
    await result.consumeStream();
    const steps = await result.steps;
    return {
      calls: steps.flatMap((step) => step.toolCalls.map((call) => [call.toolName, call.input])),
      texts: steps.map((step) => step.text),
    };
  },

  async structured(asked) {
    const schema = z.object({ name: z.string(), people: z.number().int() });
    return (await generateText({ ...setting(asked), output: Output.object({ schema }) })).output;
  },

  async embed({ package: name, address, model, texts }) {
    const { embeddings } = await embedMany({ model: provider(name, address).textEmbeddingModel(model), values: texts, maxRetries: 0 });
    return embeddings;
  },
});
