// The package `ollama`.

import { Ollama } from 'ollama';

import { serve } from './worker.mjs';

const client = ({ address }) => new Ollama({ host: `http://${address}` });

const FIND = {
  type: 'function',
  function: {
    name: 'find',
    description: 'Find files',
    parameters: {
      type: 'object',
      required: ['pattern'],
      properties: { pattern: { type: 'string' }, depth: { type: 'integer' } },
    },
  },
};

const told = (reply) => ({
  text: reply.message.content,
  thought: reply.message.thinking ?? '',
  calls: (reply.message.tool_calls ?? []).map((call) => [call.function.name, call.function.arguments]),
  end: reply.done_reason,
  tokens: [reply.prompt_eval_count, reply.eval_count],
});

await serve({
  async chat({ model, text = 'x', address, ...settings }) {
    return told(await client({ address }).chat({ model, messages: [{ role: 'user', content: text }], ...settings }));
  },

  async stream({ model, address, ...settings }) {
    const messages = [{ role: 'user', content: 'x' }];
    const parts = [];
    for await (const part of await client({ address }).chat({ model, messages, stream: true, ...settings })) parts.push(part);
    const last = parts.at(-1);
    const content = parts.map((part) => part.message.content).join('');
    const thinking = parts.map((part) => part.message.thinking ?? '').join('');
    const tool_calls = parts.flatMap((part) => part.message.tool_calls ?? []);
    return told({ ...last, message: { content, thinking, tool_calls } });
  },

  async useTool({ model, address }) {
    const messages = [{ role: 'user', content: 'Which files?' }];
    const first = await client({ address }).chat({ model, messages, tools: [FIND] });
    messages.push(first.message);
    for (const call of first.message.tool_calls) {
      messages.push({ role: 'tool', tool_name: call.function.name, content: 'a.txt' });
    }
    return [told(first), told(await client({ address }).chat({ model, messages, tools: [FIND] }))];
  },

  async structured({ model, address, ...settings }) {
    const properties = { name: { type: 'string' }, people: { type: 'integer' } };
    const format = { type: 'object', properties, required: ['name', 'people'] };
    const messages = [{ role: 'user', content: 'Paris?' }];
    const reply = await client({ address }).chat({ model, messages, format, ...settings });
    return JSON.parse(reply.message.content);
  },

  async generate({ model, address }) {
    const whole = await client({ address }).generate({ model, prompt: 'x' });
    let streamed = '';
    for await (const part of await client({ address }).generate({ model, prompt: 'x', stream: true })) streamed += part.response;
    return [whole.response, streamed];
  },

  async aborted({ model, address }) {
    const talker = client({ address });
    const stream = await talker.generate({ model, prompt: 'x', stream: true });
    for await (const part of stream) {
      if (part.response) talker.abort();
    }
  },

  async embed({ model, address, texts }) {
    return (await client({ address }).embed({ model, input: texts })).embeddings;
  },

  async models({ address, model }) {
    const { models } = await client({ address }).list();
    const loaded = await client({ address }).ps();
    const shown = await client({ address }).show({ model });
    const { version } = await client({ address }).version();
    return { names: models.map((model) => model.name), loaded: loaded.models.length, capabilities: shown.capabilities, version };
  },

  async make({ address, from }) {
    const statuses = [];
    for await (const part of await client({ address }).create({ model: 'made', from, system: 'Be brief.', stream: true })) {
      statuses.push(part.status);
    }
    await client({ address }).copy({ source: 'made', destination: 'copied' });
    await client({ address }).delete({ model: 'made' });
    await client({ address }).delete({ model: 'copied' });
    return statuses.at(-1);
  },
});
