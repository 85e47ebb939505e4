import { availableParallelism } from 'node:os';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { program } from '../../../dev/steps.ts';
import { CONTENDERS, type Contender } from './contenders.ts';
import { startDatabases, type Databases } from './databases.ts';
import { measureFloors } from './floors.ts';
import { hangUp } from './http.ts';
import { measureMemory } from './memory.ts';
import { HELP, optionsOf, type BenchOptions } from './options.ts';
import { compile, NODE_OPTIONS } from './ours.ts';
import { pairs, single, table, type Measured } from './report.ts';
import { measureRoundTrips } from './round-trips.ts';
import { recordScenarios } from './scenarios/records.ts';
import { runScenarios } from './scenarios/runs.ts';
import type { Scenario } from './scenarios/scenario.ts';
import { streamScenarios } from './scenarios/streams.ts';
import { measureSearches, type Searched } from './searches.ts';
import type { BenchServer } from './servers.ts';

const began = performance.now();
const tell = (line: string): void =>
  void process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${line}\n`);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** Milliseconds in which a server that was paused catches up with its timers. */
const SETTLING = 500;

/** Servers that are up, each started when it is first needed. */
class Running {
  readonly #databases: Databases;
  readonly #servers = new Map<Contender, BenchServer>();

  constructor(databases: Databases) {
    this.#databases = databases;
  }

  async #of(contender: Contender): Promise<BenchServer> {
    const server = this.#servers.get(contender) ?? (await contender.start(this.#databases));
    this.#servers.set(contender, server);
    return server;
  }

  /** The one whose turn it is, with the machine to itself: peers poll while they wait. */
  async turnOf(contender: Contender): Promise<BenchServer> {
    for (const [other, server] of this.#servers) if (other !== contender) server.pause();
    const known = this.#servers.get(contender);
    known?.resume();
    const server = known ?? (await this.#of(contender));
    await wait(SETTLING);
    return server;
  }

  async forget(): Promise<void> {
    for (const [contender, server] of this.#servers) {
      if (!contender.forgetful) continue;
      this.#servers.delete(contender);
      await server.stop();
    }
  }

  async stop(): Promise<void> {
    for (const server of this.#servers.values()) await server.stop();
  }
}

/** Peers that can be had; the others are told with the reason, and are left out. */
function installed({ against }: BenchOptions): { contenders: Contender[]; missing: string[] } {
  const missing: string[] = [];
  const contenders = CONTENDERS.filter((contender) => {
    if (contender.who !== 'gx' && !against.includes(contender.who)) return false;
    try {
      contender.install();
      return true;
    } catch (error) {
      missing.push(`${contender.name} was not measured: ${(error as Error).message.split('\n')[0]}`);
      return false;
    }
  });
  return { contenders, missing };
}

/** All rounds of one scenario; the servers take turns. */
async function measure(scenario: Scenario, contenders: Contender[], running: Running, options: BenchOptions): Promise<Measured> {
  const figures: Measured['figures'] = {};
  for (let round = 1; round <= options.rounds; round += 1)
    for (const contender of contenders) {
      const size = scenario.sizes[contender.who];
      if (size === undefined) continue;
      const server = await running.turnOf(contender);
      const figure = await scenario.measure(server, Math.max(5, Math.round(size * options.scale)));
      (figures[contender.who] ??= []).push(figure);
      tell(`${scenario.id}, round ${round}: ${contender.name} ${figure.toFixed(2)} ${scenario.unit}`);
    }
  await running.forget();
  return { scenario, figures };
}

async function compare(databases: Databases, options: BenchOptions): Promise<void> {
  const scenarios = [...runScenarios, ...streamScenarios, ...recordScenarios].filter(({ id }) => options.only?.includes(id) ?? true);
  if (scenarios.length === 0) return;
  const { contenders, missing } = installed(options);
  const running = new Running(databases);
  const rows: Measured[] = [];
  try {
    for (const scenario of scenarios) rows.push(await measure(scenario, contenders, running, options));
  } finally {
    await running.stop();
  }
  print(`${table(rows, contenders)}\n`);
  for (const { name, about } of contenders) print(`${name}: ${about}`);
  for (const sentence of missing) print(sentence);
  print('');
}

type Part = { id: string; head: string[]; lines: (databases: Databases, options: BenchOptions) => Promise<string[][]> };

const searchLines = (searched: Searched[], limit: number): string[][] =>
  searched.map(({ what, p50, goal }) =>
    single(what, `${p50.toFixed(1)} ms`, goal ? { goal: `<= ${limit} ms`, met: p50 <= limit } : undefined),
  );

/** What is measured of this server alone. */
const PARTS: Part[] = [
  {
    id: 'memory',
    head: [`memory (NODE_OPTIONS=${NODE_OPTIONS})`, '', 'goal'],
    lines: async (databases, { scale }) => {
      const runs = Math.round(5000 * scale);
      const { apiOnly, idle, after, drained } = await measureMemory(databases, runs);
      return [
        single('RSS of an idle process that only answers', `${apiOnly.toFixed(0)} MB`, { goal: '<= 130 MB', met: apiOnly <= 130 }),
        single('RSS of an idle server', `${idle.toFixed(0)} MB`, { goal: '<= 250 MB', met: idle <= 250 }),
        single(`the same after ${runs} runs`, `${after.toFixed(0)} MB`, { goal: '<= 1.3x', met: after <= 1.3 * idle }),
        single('those runs drained', `${drained.toFixed(0)} per s`, { goal: '>= 200 per s', met: drained >= 200 }),
      ];
    },
  },
  {
    id: 'round-trips',
    head: ['SQL round trips', ''],
    lines: async (databases) => Object.entries(await measureRoundTrips(databases)).map(([what, trips]) => [what, trips.toFixed(1)]),
  },
  {
    id: 'searches',
    head: ['searches in 10,000 threads, p50', '', 'goal'],
    lines: async (databases) => searchLines(await measureSearches(databases, 10_000), 5),
  },
  {
    id: 'searches-million',
    head: ['searches in 1,000,000 threads, p50', '', 'goal'],
    lines: async (databases) => searchLines(await measureSearches(databases, 1_000_000), 20),
  },
  {
    id: 'floors',
    head: ['floors', ''],
    lines: async (databases) => (await measureFloors(databases)).map(({ what, figure }) => [what, figure]),
  },
];

async function alone(databases: Databases, { only, full, ...options }: BenchOptions): Promise<void> {
  const asked = ({ id }: Part): boolean => only?.includes(id) ?? (id !== 'searches-million' || full);
  for (const part of PARTS.filter(asked)) {
    tell(part.id);
    print(`${pairs(part.head, await part.lines(databases, { only, full, ...options }))}\n`);
  }
}

async function main(): Promise<void> {
  const options = optionsOf(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  compile();
  const databases = await startDatabases();
  try {
    await compare(databases, options);
    await alone(databases, options);
  } finally {
    hangUp();
    await databases.stop();
  }
  print(`${availableParallelism()} processors, Node ${process.version}, ${((performance.now() - began) / 1000).toFixed(0)} s`);
}

await program(main);
