import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@langchain/langgraph-sdk';
import { pythonTools } from '../../python/tools.ts';
import type { Entrance } from './way.ts';

const run = promisify(execFile);

/* LangGraph's own clients at an agent server whose graph `steps` counts down from five. */

type Target = { url: string; key?: string; entrance: Entrance; authority: string };
/** The numbers of a run that was read to its end, and of one that was left after the first and joined again. */
type Heard = { whole: number[]; first: number[]; rest: number[] };

type Part = { id?: string; event: string; data: unknown };
const leftOf = ({ event, data }: Part): number[] =>
  event === 'updates' ? [(data as { step: { left: number } }).step.left] : [];
const ASKED = {
  input: { left: 5, pause: 200 },
  streamMode: 'updates',
  streamResumable: true,
} as const;

/** Plays the client for JavaScript in this process, which knows the way to the gateway. */
export async function heardInJavaScript({
  url,
  key,
}: Omit<Target, 'entrance' | 'authority'>): Promise<Heard> {
  const client = new Client({ apiUrl: url, apiKey: key ?? null, callerOptions: { maxRetries: 0 } });
  const whole = (await Array.fromAsync(client.runs.stream(null, 'steps', ASKED))).flatMap(leftOf);
  const { thread_id } = await client.threads.create();
  let [runId, last] = ['', ''];
  const first: number[] = [];
  for await (const part of client.runs.stream(thread_id, 'steps', ASKED) as AsyncIterable<Part>) {
    if (part.event === 'metadata') runId = (part.data as { run_id: string }).run_id;
    last = part.id ?? last;
    first.push(...leftOf(part));
    if (first.length > 0) break;
  }
  const joined = client.runs.joinStream(thread_id, runId, {
    lastEventId: last,
    streamMode: 'updates',
  });
  return {
    whole,
    first,
    rest: (await Array.fromAsync(joined as AsyncIterable<Part>)).flatMap(leftOf),
  };
}

/** Plays the client for Python, which resolves all hosts to the gateway. */
export async function heardInPython({ url, key, entrance, authority }: Target): Promise<Heard> {
  const folder = await mkdtemp(join(tmpdir(), 'gx-sdk-'));
  try {
    const file = join(folder, 'ca.crt');
    await writeFile(file, authority);
    const { host, port } = entrance.https;
    const args = [
      'test/kit/routes/routed_client.py',
      url,
      host,
      String(port),
      ...(key === undefined ? [] : [key]),
    ];
    const env = { PATH: process.env.PATH, SSL_CERT_FILE: file, LANGSMITH_TRACING: 'false' };
    const { stdout } = await run(join(await pythonTools(), 'python'), args, { env });
    return JSON.parse(stdout) as Heard;
  } finally {
    await rm(folder, { recursive: true });
  }
}
