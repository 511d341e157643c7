// The inner side of integration/workers.py: makes the calls that come in, in the words of a library.

import { createInterface } from 'node:readline';

export async function serve(calls) {
  console.log = console.info = console.warn = console.error; // what libraries print is for people
  for await (const line of createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    const { id } = asked;
    process.stdout.write(JSON.stringify({ id, ...(await answer(calls[asked.call], asked.arguments)) }) + '\n');
  }
  process.exit(0);
}

async function answer(call, args) {
  try {
    return { value: (await call(args)) ?? null };
  } catch (error) {
    const status = error.status ?? error.status_code ?? error.statusCode ?? error.lastError?.statusCode ?? null;
    const kind = error.name === 'Error' ? error.constructor.name : error.name;
    return { error: { kind, message: String(error.message), status } };
  }
}
