import process from 'node:process';
import { parseArgs } from 'node:util';
import { runMain } from '../../../dev/steps.ts';
import { createThread } from './api.ts';
import { own } from './checkout.ts';
import { startDatabases } from './databases.ts';
import { call, hangUp } from './http.ts';
import { median, quantile, together } from './load.ts';
import type { BenchServer } from './servers.ts';

const HELP = `What a budget costs a call of a model, beside calls that are measured and not bounded.

Three servers take turns: without a budget, with one of each run, and with one of the deployment. A graph asks a model
without a network, one call after the other, and tells how long each took. The goals: at most 0.2 ms more at the median
with a budget of the run, and 3 ms more, 10 ms at the 99th percentile, with one that all runs share.

Usage: node test/bench/agent/bounded-calls.ts [options]

  --rounds COUNT  rounds of each server (11)
  --calls COUNT   calls of a run (100)
  --clients COUNT runs at the same time (1)
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '11' },
    calls: { type: 'string', default: '100' },
    clients: { type: 'string', default: '1' },
  },
});
const ROUNDS = Number(values.rounds);
const CALLS = Number(values.calls);
const CLIENTS = Number(values.clients);

/** A budget that pays for all calls. `goal`: milliseconds more at the median, and at the 99th percentile. */
const KINDS = [
  { name: 'no budget', budgets: [] },
  {
    name: 'a budget of the run',
    budgets: [{ name: 'run', per: 'run', unit: 'usd', hard: 100_000 }],
    goal: { median: 0.2, high: Infinity },
  },
  {
    name: 'a shared budget',
    budgets: [{ name: 'all', per: 'deployment', unit: 'usd', within: 'day', hard: 100_000 }],
    goal: { median: 3, high: 10 },
  },
];

type Subject = (typeof KINDS)[number] & { server: BenchServer; times: number[] };

async function measureRound({ server, times }: Subject): Promise<void> {
  await together(CLIENTS, CLIENTS, async () => {
    const thread = await createThread(server);
    const ended = await call<{ times: number[] }>(`${server.url}/threads/${thread}/runs/wait`, {
      assistant_id: 'asks',
      input: { calls: CALLS },
    });
    if (ended.times === undefined) throw new Error(JSON.stringify(ended));
    times.push(...ended.times);
  });
}

function report(subjects: Subject[]): boolean {
  const [plain] = subjects as [Subject];
  let isMet = true;
  for (const { name, times, goal } of subjects) {
    const [middle, high] = [median(times), quantile(times, 0.99)];
    const more = middle - median(plain.times);
    const isGood = goal === undefined || (more <= goal.median && high <= goal.high);
    isMet &&= isGood;
    const words =
      goal === undefined ? '' : `, ${more.toFixed(3)} ms more: ${isGood ? 'met' : 'missed'}`;
    print(
      `${name}: ${middle.toFixed(3)} ms a call at the median, ${high.toFixed(2)} ms at the 99th percentile${words}`,
    );
  }
  return isMet;
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  if (values.help) return print(HELP);
  own.compile();
  const databases = await startDatabases();
  const subjects: Subject[] = [];
  try {
    for (const kind of KINDS) {
      const env = { GX_USAGE: 'true', GX_BUDGETS: JSON.stringify(kind.budgets) };
      const server = await own.start({
        database: await databases.fresh(),
        config: 'asks.json',
        env,
      });
      subjects.push({ ...kind, server, times: [] });
    }
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const subject of subjects) await measureRound(subject);
      // The first round warms the code up.
      if (round === 0) for (const { times } of subjects) times.length = 0;
    }
    if (!report(subjects)) process.exitCode = 1;
  } finally {
    for (const { server } of subjects) await server.stop();
    hangUp();
    await databases.stop();
  }
}

await runMain(main);
