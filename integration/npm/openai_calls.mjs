// The package `openai`.

import OpenAI from 'openai';
import { zodResponseFormat, zodTextFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { serve } from './worker.mjs';

const client = (address) => new OpenAI({ baseURL: `http://${address}/v1`, apiKey: 'none', maxRetries: 0 });

const City = z.object({ name: z.string(), people: z.number().int() });
const FIND = {
  name: 'find',
  description: 'Find files',
  parameters: {
    type: 'object',
    required: ['pattern'],
    properties: { pattern: { type: 'string' }, depth: { type: 'integer' } },
  },
};

const told = ({ choices: [choice], usage }) => ({
  text: choice.message.content,
  thought: choice.message.reasoning ?? '',
  calls: (choice.message.tool_calls ?? []).map((call) => [call.function.name, JSON.parse(call.function.arguments)]),
  end: choice.finish_reason,
  tokens: [usage?.prompt_tokens, usage?.completion_tokens],
});

const say = (text) => [{ role: 'user', content: text }];

await serve({
  async chat({ address, model, text = 'x', ...settings }) {
    return told(await client(address).chat.completions.create({ model, messages: say(text), ...settings }));
  },

  async stream({ address, model, tools }) {
    const offered = tools ? { tools: [{ type: 'function', function: FIND }] } : {};
    const asked = { model, messages: say('x'), stream_options: { include_usage: true }, ...offered };
    return told(await client(address).chat.completions.stream(asked).finalChatCompletion());
  },

  async useTool({ address, model }) {
    const runner = client(address).chat.completions.runTools({
      model,
      messages: say('Which files?'),
      tools: [{ type: 'function', function: { ...FIND, parse: JSON.parse, function: ({ pattern }) => `${pattern}: a.txt` } }],
    });
    return await runner.finalContent();
  },

  async structured({ address, model, ...settings }) {
    const response_format = zodResponseFormat(City, 'city');
    const reply = await client(address).chat.completions.parse({ model, messages: say('Paris?'), response_format, ...settings });
    return reply.choices[0].message.parsed;
  },

  async respond({ address, model }) {
    const first = await client(address).responses.create({ model, input: 'One?' });
    const events = [];
    const stream = await client(address).responses.create({ model, input: 'Two?', previous_response_id: first.id, stream: true });
    for await (const event of stream) events.push(event.type);
    return { text: first.output_text, tokens: first.usage.output_tokens, events };
  },

  async responseWithTool({ address, model }) {
    const tools = [{ type: 'function', strict: false, ...FIND }];
    const first = await client(address).responses.create({ model, input: 'Which files?', tools });
    const calls = first.output.filter((item) => item.type === 'function_call');
    const input = calls.map((call) => ({ type: 'function_call_output', call_id: call.call_id, output: 'a.txt' }));
    const second = await client(address).responses.create({ model, input, tools, previous_response_id: first.id });
    return { calls: calls.map((call) => [call.name, JSON.parse(call.arguments)]), text: second.output_text };
  },

  async structuredResponse({ address, model }) {
    const text = { format: zodTextFormat(City, 'city') };
    return (await client(address).responses.parse({ model, input: 'Paris?', text })).output_parsed;
  },

  async embed({ address, model, texts }) {
    return (await client(address).embeddings.create({ model, input: texts })).data.map((entry) => entry.embedding);
  },

  async models({ address }) {
    const names = [];
    for await (const model of client(address).models.list()) names.push(model.id);
    return { names, one: (await client(address).models.retrieve(names[0])).object };
  },
});
