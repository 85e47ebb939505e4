import { Agent, request, type IncomingMessage } from 'node:http';

/*
 * The load program uses Node's own client and keeps connections alive. `fetch` costs four times the CPU, and the
 * servers need all of it.
 */

const agent = new Agent({ keepAlive: true, maxSockets: 200 });

/** An answer whose body has not been read. A status of 400 or more is an error with the body in its message. */
async function open(
  url: string,
  body?: unknown,
  more: Record<string, string> = {},
): Promise<IncomingMessage> {
  const payload = body === undefined ? undefined : JSON.stringify(body);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const sent = request(url, {
      agent,
      method: payload === undefined ? 'GET' : 'POST',
      headers: {
        ...more,
        ...(payload !== undefined && {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(payload),
        }),
      },
    });
    sent.on('response', resolve).on('error', reject).end(payload);
  });
  if ((answer.statusCode ?? 500) >= 400)
    throw new Error(`${url}: ${answer.statusCode} ${await read(answer)}`);
  return answer;
}

async function read(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

/** GET without a body, POST with one; returns the answer as text. */
export const callForText = async (
  url: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<string> => read(await open(url, body, headers));

/** Does the same, and returns what the answer holds. */
export const call = async <T>(
  url: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<T> => JSON.parse(await callForText(url, body, headers)) as T;

/**
 * The milliseconds to the first `custom` event and to the end, the number of those events, and that of the characters
 * of the stream.
 */
export type Streamed = { first: number; whole: number; events: number; characters: number };

/** `custom`: how the line begins that makes a `custom` event. */
export async function stream(
  url: string,
  body: unknown,
  custom = 'event: custom',
): Promise<Streamed> {
  const started = performance.now();
  const answer = await open(url, body);
  let first: number | undefined;
  let events = 0;
  let rest = '';
  let seen = '';
  let characters = 0;
  answer.setEncoding('utf8');
  for await (const chunk of answer) {
    characters += (chunk as string).length;
    if (events === 0) seen += chunk as string;
    const lines = (rest + (chunk as string)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith(custom)) events += 1;
    if (events > 0) first ??= performance.now() - started;
  }
  if (first === undefined) throw new Error(`${url}: no custom event in the stream, but ${seen}`);
  return { first, whole: performance.now() - started, events, characters };
}

/** Recognises the end of a run in event streaming. The graph itself reports it, and has no namespace. */
const isRunEnd = (line: string): boolean =>
  line.includes('"method":"lifecycle"') &&
  line.includes('"namespace":[]') &&
  line.includes('"event":"completed"');

/** Opens a stream that outlives the run, starts the run by `ask`, and leaves the stream when the run is over. */
export async function follow(
  url: string,
  body: unknown,
  ask: () => Promise<unknown>,
): Promise<Streamed> {
  const started = performance.now();
  const asked = ask();
  const answer = await open(url, body);
  let first: number | undefined;
  let events = 0;
  let rest = '';
  let characters = 0;
  answer.setEncoding('utf8');
  for await (const chunk of answer) {
    characters += (chunk as string).length;
    const lines = (rest + (chunk as string)).split('\n');
    rest = lines.pop() ?? '';
    const data = lines.filter((line) => line.startsWith('data:'));
    events += data.filter((line) => line.includes('"method":"custom"')).length;
    if (events > 0) first ??= performance.now() - started;
    // Leaving the loop closes the connection.
    if (!data.some(isRunEnd)) continue;
    await asked;
    return { first: first!, whole: performance.now() - started, events, characters };
  }
  throw new Error(`${url}: the stream ended after ${events} custom events, before its run`);
}

/** Opens a stream on a connection of its own and leaves it open. Returns what closes it. */
export async function holdOpen(
  url: string,
  body: unknown,
  more: Record<string, string> = {},
): Promise<() => void> {
  const payload = JSON.stringify(body);
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    const headers = {
      ...more,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(payload),
    };
    request(url, { agent: false, method: 'POST', headers })
      .on('response', resolve)
      .on('error', reject)
      .end(payload);
  });
  if (answer.statusCode !== 200)
    throw new Error(`${url}: ${answer.statusCode} ${await read(answer)}`);
  answer.on('error', () => undefined).resume();
  return () => void answer.destroy();
}

export const hangUp = (): void => agent.destroy();
