import { once } from 'node:events';
import https from 'node:https';
import { WebSocket } from 'ws';
import { until } from '../until.ts';

/* What clients do at an agent server whose graph `steps` counts down, wherever it is reached. */

/** An address of an agent server, and the headers that let a caller in. */
export type Reached = { url: string; headers?: Record<string, string> };

type Read = {
  events: { id: string; event: string; data: string }[];
  broke: boolean;
  seconds: number;
  silence: number;
};

/** Reads a stream until it ends, breaks, or has the event. `silence`: the longest time without an event, in seconds. */
export async function read(
  answer: Response,
  isLast: (event: string) => boolean = () => false,
): Promise<Read> {
  const started = performance.now();
  const found: Read = { events: [], broke: false, seconds: 0, silence: 0 };
  let text = '';
  let last = started;
  try {
    for await (const chunk of answer.body!.pipeThrough(new TextDecoderStream())) {
      const messages = (text + chunk).split(/\r?\n\r?\n/);
      text = messages.pop() ?? '';
      for (const message of messages) {
        const field = (name: string): string =>
          new RegExp(`^${name}: (.*)$`, 'm').exec(message)?.[1] ?? '';
        if (field('event') === '') continue;
        found.silence = Math.max(found.silence, (performance.now() - last) / 1000);
        last = performance.now();
        found.events.push({ id: field('id'), event: field('event'), data: field('data') });
        if (isLast(field('event'))) return found;
      }
    }
  } catch {
    found.broke = true;
  }
  return { ...found, seconds: (performance.now() - started) / 1000 };
}

export const post = ({ url, headers }: Reached, path: string, body: unknown): Promise<Response> =>
  fetch(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

/** Returns a run of this many steps, each of which takes so many milliseconds. */
export const stepping = (steps: number, pause: number): object => ({
  assistant_id: 'steps',
  input: { left: steps, pause },
  stream_mode: 'updates',
  stream_resumable: true,
});

/** What became of the longest stream: 90 seconds, in which the graph says nothing for 45 at a time. */
export async function readLongStream(
  reached: Reached,
): Promise<{ left: number[]; broke: boolean; isLong: boolean; isSilent: boolean }> {
  const found = await read(await post(reached, '/runs/stream', stepping(2, 45_000)));
  return {
    left: leftIn(found),
    broke: found.broke,
    isLong: found.seconds > 89,
    isSilent: found.silence > 40,
  };
}

/** What `readLongStream` returns where nothing cuts the stream. */
export const WHOLE_LONG_STREAM = { left: [1, 0], broke: false, isLong: true, isSilent: true };

/** The largest body that an agent server takes, and statuses of a run with nearly such a body and with a larger one. */
const LARGEST = 20 * 1024 * 1024;
export async function statusesOfLargeBodies(reached: Reached): Promise<number[]> {
  const bodyOf = (bytes: number): object => ({
    ...stepping(1, 0),
    input: { left: 1, note: 'x'.repeat(bytes) },
  });
  const taken = await post(reached, '/runs/wait', bodyOf(LARGEST - 1000));
  const state = (await taken.json()) as { done?: number };
  if (state.done !== 1) throw new Error('the run with the large body did not reach its end');
  const refused = await post(reached, '/runs/wait', bodyOf(LARGEST));
  await refused.text();
  return [taken.status, refused.status];
}

/** Returns the numbers that the steps told of. */
export const leftIn = ({ events }: Read): number[] =>
  events
    .filter(({ event }) => event === 'updates')
    .map(({ data }) => (JSON.parse(data) as { step: { left: number } }).step.left);

/** Reads one event of a run, leaves, and comes back by the id of that event. Returns the numbers of both readers. */
export async function leftByTwoReaders(reached: Reached): Promise<number[]> {
  const made = (await (await post(reached, '/threads', {})).json()) as { thread_id: string };
  const first = await post(reached, `/threads/${made.thread_id}/runs/stream`, stepping(5, 200));
  const before = await read(first, (event) => event === 'updates');
  const headers = { ...reached.headers, 'last-event-id': before.events.at(-1)!.id };
  const after = await read(await fetch(reached.url + first.headers.get('location')!, { headers }));
  return [...leftIn(before), ...leftIn(after)];
}

type Frame = { id?: number; type: string; method?: string; params?: { data?: { event?: string } } };

/** Starts a run by a WebSocket, and follows it there to its end. Returns whether the socket is still open then. */
export async function followBySocket(
  { url, headers }: Reached,
  pause: number,
): Promise<'open' | 'closed'> {
  const address = `${url.replace(/^http/, 'ws')}/threads/${crypto.randomUUID()}/stream/events`;
  // The agent of the moment knows the proxy of the process, which the client would pass by.
  const socket = new WebSocket(address, {
    ...(headers && { headers }),
    ...(url.startsWith('https') && { agent: https.globalAgent }),
  });
  const frames: Frame[] = [];
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString()) as Frame));
  await once(socket, 'open');
  const send = (id: number, method: string, params: object): void =>
    socket.send(JSON.stringify({ id, method, params }));
  send(1, 'subscription.subscribe', { channels: ['lifecycle'] });
  send(2, 'run.start', { assistant_id: 'steps', input: { left: 1, pause } });
  const isCompleted = (): boolean =>
    frames.some(({ params }) => params?.data?.event === 'completed');
  await until('the run is completed', isCompleted);
  const isOpen = socket.readyState === WebSocket.OPEN;
  socket.terminate();
  return isOpen ? 'open' : 'closed';
}

/** Returns how many milliseconds later the first event of a run comes by the second address, in the middle of many. */
export async function laterBy(direct: Reached, routed: Reached, rounds = 60): Promise<number> {
  const firstEvent = async (reached: Reached): Promise<number> => {
    const started = performance.now();
    const times: number[] = [];
    // The whole stream is read, so that its connection serves the next one, too.
    await read(
      await post(reached, '/runs/stream', stepping(1, 0)),
      () => times.push(performance.now()) === 0,
    );
    return times[0]! - started;
  };
  const times: Record<'direct' | 'routed', number[]> = { direct: [], routed: [] };
  for (let count = 0; count < rounds; count += 1) {
    times.direct.push(await firstEvent(direct));
    times.routed.push(await firstEvent(routed));
  }
  const middle = (list: number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1]!;
  return middle(times.routed) - middle(times.direct);
}
