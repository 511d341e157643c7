// The package `@anthropic-ai/sdk`.

import Anthropic from '@anthropic-ai/sdk';

import { serve } from './worker.mjs';

const client = (address) => new Anthropic({ baseURL: `http://${address}`, apiKey: 'none', maxRetries: 0 });

const FIND = {
  name: 'find',
  description: 'Find files',
  input_schema: {
    type: 'object',
    required: ['pattern'],
    properties: { pattern: { type: 'string' }, depth: { type: 'integer' } },
  },
};

const of = (message, type) => (message.content ?? []).filter((block) => block.type === type);

const told = (message) => ({
  text: of(message, 'text').map((block) => block.text).join(''),
  thought: of(message, 'thinking').map((block) => block.thinking).join(''),
  calls: of(message, 'tool_use').map((block) => [block.name, block.input]),
  end: message.stop_reason,
  tokens: [message.usage.input_tokens, message.usage.output_tokens],
});

const asked = ({ model, text = 'x', ...settings }) => ({
  model,
  max_tokens: 100,
  messages: [{ role: 'user', content: text }],
  ...settings,
});

await serve({
  async chat({ address, ...settings }) {
    return told(await client(address).messages.create(asked(settings)));
  },

  async stream({ address, tools, ...settings }) {
    const offered = tools ? { tools: [FIND] } : {};
    return told(await client(address).messages.stream(asked({ ...settings, ...offered })).finalMessage());
  },

  async useTool({ address, model }) {
    const first = await client(address).messages.create(asked({ model, tools: [FIND] }));
    const results = of(first, 'tool_use').map((block) => ({ type: 'tool_result', tool_use_id: block.id, content: 'a.txt' }));
    const messages = [{ role: 'user', content: 'x' }, { role: 'assistant', content: first.content }, { role: 'user', content: results }];
    return [told(first), told(await client(address).messages.create({ ...asked({ model, tools: [FIND] }), messages }))];
  },

  async count({ address, model }) {
    const messages = [{ role: 'user', content: 'Count these words.' }];
    return (await client(address).messages.countTokens({ model, messages })).input_tokens;
  },
});
