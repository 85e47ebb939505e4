import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { runMain } from '../../../dev/steps.ts';
import { wait as waitForRun, createThread } from './api.ts';
import { own, pythonSettings, type ServerSettings } from './checkout.ts';
import { countingWire, type CountingWire } from './counting-wire.ts';
import { startDatabases, type Databases } from './databases.ts';
import { hangUp } from './http.ts';
import { median, oneByOne, together } from './load.ts';
import type { BenchServer } from './servers.ts';

const HELP = `What measuring the usage of models costs runs of a graph that calls none.

Two servers take turns, one with GX_USAGE=true: waited runs of one client and of fifty. It prints for each round the
median time of a run of both, and after all rounds the median of the differences, the worst one, the processor time and
the round trips to the database of a run. On by default it may be where the median is at most 3 % and the worst round
5 %, without a round trip more.

Usage: node test/bench/agent/measured-usage.ts [options]

  --rounds COUNT  rounds of each server and number of clients (21)
  --runs COUNT    runs of a round (400)
  --python        graphs in Python
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '21' },
    runs: { type: 'string', default: '400' },
    python: { type: 'boolean', default: false },
  },
});
const ROUNDS = Number(values.rounds);
const RUNS = Number(values.runs);
const CLIENTS = [1, 50] as const;
const GOAL = { median: 0.03, worst: 0.05 };

type Subject = { server: BenchServer; wire: CountingWire; threads: string[] };
/** Of one run: its milliseconds, those of processors, and its round trips to the database. */
type Cost = { clock: number; processor: number; trips: number };

async function openSubject(databases: Databases, isMeasured: boolean): Promise<Subject> {
  const wire = await countingWire(await databases.fresh());
  const more: Partial<ServerSettings> = values.python ? await pythonSettings() : {};
  const env = { ...more.env, GX_USAGE: String(isMeasured) };
  const server = await own.start({ database: wire.uri, ...more, env });
  const threads = await Promise.all(
    Array.from({ length: Math.max(...CLIENTS) }, () => createThread(server)),
  );
  return { server, wire, threads };
}

/** Returns the seconds that a server and the processes below it have taken of processors. */
function readProcessorSeconds(pid: number): number {
  const ticks = Number(execFileSync('getconf', ['CLK_TCK']).toString());
  const below = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/);
  const pids = [pid, ...below.filter((id) => id !== '').map(Number)];
  return pids.reduce((sum, id) => {
    const fields = readFileSync(`/proc/${id}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
    return sum + (Number(fields[11]) + Number(fields[12])) / ticks;
  }, 0);
}

/** Runs one round of a server. The other one is stopped meanwhile. */
async function measureRound({ server, wire, threads }: Subject, clients: number): Promise<Cost> {
  const [seconds, trips] = [readProcessorSeconds(server.pid), wire.count()];
  const times: number[] = [];
  const run = async (index: number): Promise<void> => {
    const started = performance.now();
    await waitForRun(server, threads[index % threads.length]!);
    times.push(performance.now() - started);
  };
  await (clients === 1 ? oneByOne(RUNS, run) : together(clients, RUNS, run));
  return {
    clock: median(times),
    processor: ((readProcessorSeconds(server.pid) - seconds) * 1000) / RUNS,
    trips: (wire.count() - trips) / RUNS,
  };
}

async function compare([plain, measured]: [Subject, Subject], clients: number): Promise<void> {
  const more = { clock: [] as number[], processor: [] as number[], trips: [] as number[] };
  // The first round warms the code up.
  for (let round = 0; round <= ROUNDS; round += 1) {
    const costs = new Map<Subject, Cost>();
    for (const subject of round % 2 === 0 ? [plain, measured] : [measured, plain]) {
      const other = subject === plain ? measured : plain;
      other.server.pause();
      costs.set(subject, await measureRound(subject, clients));
      other.server.resume();
    }
    const [without, under] = [costs.get(plain)!, costs.get(measured)!];
    if (round === 0) continue;
    more.clock.push(under.clock / without.clock - 1);
    more.processor.push(under.processor / without.processor - 1);
    more.trips.push(under.trips - without.trips);
    print(
      `${clients} clients, round ${round}: ${without.clock.toFixed(2)} ms and ${under.clock.toFixed(2)} ms, ${without.processor.toFixed(2)} ms and ${under.processor.toFixed(2)} ms of processors`,
    );
  }
  const [middle, worst] = [median(more.clock), Math.max(...more.clock)];
  const isMet = middle <= GOAL.median && worst <= GOAL.worst && median(more.trips) <= 0.05;
  print(
    `${clients} clients: ${formatShare(middle)} at the median (goal ${formatShare(GOAL.median)}), ${formatShare(worst)} in the worst round (goal ${formatShare(GOAL.worst)}), processors ${formatShare(median(more.processor))}, ${median(more.trips).toFixed(2)} round trips more: ${isMet ? 'met' : 'missed'}`,
  );
}

const formatShare = (share: number): string => `${(100 * share).toFixed(1)} %`;
const print = (line: string): void => void process.stdout.write(`${line}\n`);

async function main(): Promise<void> {
  if (values.help) return print(HELP);
  own.compile();
  const databases = await startDatabases();
  const subjects: Subject[] = [];
  try {
    for (const isMeasured of [false, true]) subjects.push(await openSubject(databases, isMeasured));
    for (const clients of CLIENTS) await compare(subjects as [Subject, Subject], clients);
  } finally {
    for (const { server, wire } of subjects) {
      await server.stop();
      wire.close();
    }
    hangUp();
    await databases.stop();
  }
}

await runMain(main);
