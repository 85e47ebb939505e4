import { randomBytes } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';

/* oxlint-disable unicorn/require-post-message-target-origin -- worker threads have no origin */

/*
 * What it costs to keep users' graphs in a thread of their own: handing events over, and memory.
 * Run: node test/bench/worker-threads.ts
 */

const EVENTS = 20_000;
const PER_TURN = 10;

type Job = { size: number; form: 'text' | 'object'; batch: boolean };

async function produce({ size, form, batch }: Job): Promise<void> {
  const content = randomBytes(size / 2).toString('hex');
  const event = { type: 'ai', content, id: 'x', additional_kwargs: {} };
  for (let sent = 0; sent < EVENTS; sent += PER_TURN) {
    const turnEvents = Array.from({ length: PER_TURN }, () => (form === 'text' ? JSON.stringify(event) : event));
    if (batch) parentPort!.postMessage(turnEvents);
    else for (const one of turnEvents) parentPort!.postMessage([one]);
    await turn();
  }
  parentPort!.postMessage(null);
}

async function measure(job: Job): Promise<string> {
  const worker = new Worker(new URL(import.meta.url), { workerData: job });
  const started = performance.now();
  const cpu = process.cpuUsage();
  await new Promise<void>((resolve) => {
    worker.on('message', (batch: unknown[] | null) => {
      if (batch === null) return resolve();
      // What the other side does with it: an object still has to become text for the client.
      if (job.form === 'object') for (const one of batch) JSON.stringify(one);
    });
  });
  const wall = performance.now() - started;
  const { user, system } = process.cpuUsage(cpu);
  await worker.terminate();
  const perEvent = ((user + system) / EVENTS).toFixed(1);
  return `${job.size} bytes as ${job.form}${job.batch ? ', a batch each turn' : ', one by one'}: ${perEvent} us CPU an event, ${Math.round((EVENTS / wall) * 1000)} events/s`;
}

async function memory(): Promise<string> {
  const before = process.memoryUsage.rss();
  const load = `import('${import.meta.resolve('@langchain/langgraph')}').then(() => require('node:worker_threads').parentPort.postMessage(1)); setInterval(() => {}, 1e6);`;
  const started = performance.now();
  const worker = new Worker(load, { eval: true });
  await new Promise((resolve) => worker.once('message', resolve));
  const text = `a thread with LangGraph loaded: ${Math.round((process.memoryUsage.rss() - before) / 1e6)} MB, ${Math.round(performance.now() - started)} ms`;
  await worker.terminate();
  return text;
}

async function roundTrip(): Promise<string> {
  const echo = `const { parentPort } = require('node:worker_threads'); parentPort.on('message', (m) => parentPort.postMessage(m));`;
  const worker = new Worker(echo, { eval: true });
  const times: number[] = [];
  for (let count = 0; count < 500; count += 1) {
    const started = performance.now();
    const answered = new Promise((resolve) => worker.once('message', resolve));
    worker.postMessage('x');
    await answered;
    times.push(performance.now() - started);
  }
  await worker.terminate();
  return `there and back: ${(times.toSorted((a, b) => a - b)[250]! * 1000).toFixed(0)} us p50`;
}

if (isMainThread) {
  console.log(await memory());
  console.log(await roundTrip());
  for (const size of [200, 4000])
    for (const form of ['text', 'object'] as const) for (const batch of [true, false]) console.log(await measure({ size, form, batch }));
} else await produce(workerData as Job);
