import { DevError } from '../../../dev/errors.ts';
import type { Asked } from './requests.ts';
import type { Answer } from './differences.ts';

type Kept = Map<string, string>;

/** Sends the requests to a server one after another, and returns its answers by the names of the requests. */
export async function askAll(url: string, requests: Asked[]): Promise<Map<string, Answer>> {
  const kept: Kept = new Map();
  const answers = new Map<string, Answer>();
  for (const asked of requests) {
    const answer = await ask(url, asked, kept);
    answers.set(asked.name, answer);
    for (const [name, field] of Object.entries(asked.keeps ?? {})) {
      const value = at(answer.body, field);
      if (typeof value === 'string') kept.set(name, value);
      else kept.delete(name);
    }
  }
  return answers;
}

const at = (value: unknown, field: string): unknown =>
  field
    .split('.')
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], value);

async function ask(
  url: string,
  { name, method = 'POST', path, body }: Asked,
  kept: Kept,
): Promise<Answer> {
  const valueOf = (place: string): string => {
    const value = kept.get(place);
    // Two servers that are asked for a place that nobody filled refuse it alike, which compares nothing.
    if (value === undefined)
      throw new DevError(`"${name}" asks for {${place}}, which no answer before it has.`);
    return value;
  };
  const filled = (text: string): string =>
    text.replaceAll(/\{(\w+)\}/g, (_, place: string) => valueOf(place));
  const answer = await fetch(url + filled(path), {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: filled(JSON.stringify(body)) }),
    signal: AbortSignal.timeout(60_000),
  });
  const text = await answer.text();
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
  return { status: answer.status, body: isStream ? eventsIn(text) : parsed(text) };
}

function parsed(text: string): unknown {
  try {
    return text === '' ? null : JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns the events of a stream, without the signs of life between them. */
function eventsIn(text: string): unknown[] {
  return text
    .split(/\r?\n\r?\n/)
    .map((part) => ({
      event: /^event: (.*)$/m.exec(part)?.[1],
      data: /^data: (.*)$/m.exec(part)?.[1],
    }))
    .filter(({ event }) => event !== undefined)
    .map(({ event, data }) => ({ event, data: parsed(data ?? '') }));
}
