import { request as send, type OutgoingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';

type Sent = {
  method: string;
  headers: OutgoingHttpHeaders;
  body: string;
  /** Milliseconds after the last byte was sent until an answer that has not ended is left. */
  leaves?: number | undefined;
};

/** Sends one request, and returns its status and how many bytes came back. A connection that is cut has status 0. */
export const attempt = (
  url: string,
  { method, headers, body, leaves }: Sent,
): Promise<{ status: number; answer: number }> =>
  new Promise((resolve) => {
    let [status, answer] = [0, 0];
    const outgoing = send(
      url,
      { method, headers: { ...headers, 'content-length': Buffer.byteLength(body) } },
      (response) => {
        status = response.statusCode ?? 0;
        response.on('data', (chunk: Buffer) => (answer += chunk.length));
        response.once('close', () => resolve({ status, answer }));
      },
    );
    // A refusal may come before all is sent, which cuts the connection.
    outgoing.once('error', () => resolve({ status, answer }));
    if (leaves !== undefined)
      outgoing.once('finish', () => setTimeout(() => outgoing.destroy(), leaves));
    outgoing.setTimeout(60_000, () => outgoing.destroy());
    outgoing.end(body);
  });

type Slow = { url: string; path: string; headers: Record<string, string>; bytes: number };

function begin({ url, path, headers, bytes }: Slow): Socket {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  const lines = Object.entries({
    host: hostname,
    'content-type': 'application/json',
    ...headers,
    'content-length': bytes,
  });
  socket.write(
    `POST ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}\r\n\r\n[`,
  );
  return socket;
}

/** Announces large bodies on many connections, and sends a byte of each a second. */
export async function sendSlowly(
  slow: Slow,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<void> {
  const sockets = Array.from({ length: connections }, () => begin(slow));
  for (let second = 0; second < seconds; second += 1) {
    await wait(1000);
    for (const socket of sockets) if (socket.writable) socket.write('0');
  }
  for (const socket of sockets) socket.destroy();
}

/** Sends half of large bodies and leaves, again and again. */
export async function sendHalf(slow: Slow, { times }: { times: number }): Promise<void> {
  const half = Buffer.alloc(slow.bytes / 2, ' ');
  for (let time = 0; time < times; time += 1) {
    const socket = begin(slow);
    await new Promise<void>((resolve) => {
      socket.write(half, () => resolve());
      socket.once('close', () => resolve());
    });
    socket.destroy();
  }
}

/**
 * Announces bodies on many connections at once, sends all but the last byte of each, and holds them. Returns how many
 * were answered before they were let go.
 */
export async function withhold(
  slow: Slow,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<number> {
  let answered = 0;
  const all = Buffer.alloc(slow.bytes - 2, ' ');
  const sockets = Array.from({ length: connections }, () => begin(slow));
  for (const socket of sockets) {
    socket.once('data', () => (answered += 1));
    socket.write(all);
  }
  await wait(seconds * 1000);
  for (const socket of sockets) socket.destroy();
  return answered;
}

/** Opens streams and leaves them open. Returns their statuses, and what closes them. */
export async function openStreams(
  urls: string[],
  headers: Record<string, string>,
): Promise<{ statuses: number[]; close: () => void }> {
  const leaving = new AbortController();
  const answers = await Promise.all(
    urls.map((url) =>
      fetch(url, { headers, signal: leaving.signal }).catch(() => ({ status: 0, body: undefined })),
    ),
  );
  for (const { body } of answers) void body?.pipeTo(new WritableStream()).catch(() => undefined);
  return { statuses: answers.map(({ status }) => status), close: () => leaving.abort() };
}

/** Sends so many requests a second, each with a key that nobody made. Returns the statuses and their numbers. */
export async function forgeKeys(
  url: string,
  {
    perSecond,
    seconds,
    keyOf = (name) => `gx_${name}`,
  }: { perSecond: number; seconds: number; keyOf?: (name: string) => string },
): Promise<Map<number, number>> {
  const statuses = new Map<number, number>();
  const EVERY = 20;
  const waves = (seconds * 1000) / EVERY;
  const under: Promise<void>[] = [];
  const one = async (name: string): Promise<void> => {
    const { status } = await attempt(url, {
      method: 'GET',
      headers: { 'x-api-key': keyOf(name) },
      body: '',
    });
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
  };
  const started = performance.now();
  for (let wave = 0; wave < waves; wave += 1) {
    for (let index = 0; index < (perSecond * EVERY) / 1000; index += 1)
      under.push(one(`${wave}-${index}`));
    await wait(Math.max(0, started + (wave + 1) * EVERY - performance.now()));
  }
  await Promise.all(under);
  return statuses;
}
