import process from 'node:process';
import { parseArgs } from 'node:util';
import { UsageError } from '../../dev/errors.ts';
import { runMain, type Report } from '../../dev/steps.ts';
import { connect } from '../../src/kube/client.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { startApiServer, type ApiServer } from '../kit/api-server.ts';
import { measureCreation, measureRequests } from './operator/creation.ts';
import { measureRest } from './operator/quiet.ts';
import { load, measureRestart } from './operator/restart.ts';
import { measureWaves, RANGE } from './operator/waves.ts';
import { seconds, Table } from './operator/table.ts';
import { measureWrites, ROUNDS, tellShare } from './operator/writes.ts';

const HELP = `The operator at scale, as a process of its own on a real API server whose own limits are measured in the same run.

Usage: make bench-operator, or node test/bench/operator.ts [options]

  --full            1,000 new deployments instead of 500 (the goal of 120 s is for 1,000)
  --only PART       write, create, requests, rest, restart or waves; all without it
  --busy COUNT      so many of a thousand are busy in waves (100)
  --minutes COUNT   for so long (10)
  --new COUNT       so many new deployments
  --settled COUNT   so many settled ones (10,000)
  --profile FOLDER  CPU profiles of the operator

  write     children of new deployments a second, in turn with a client that writes the same objects and does nothing else; pods by kwok;
            three rounds of some two minutes, of which the middle one counts
  create    new deployments through REST, in ten namespaces, until their children are there (the goal), and until they serve; pods by kwok, no audit
            log. Kubernetes' controllers and scheduler send what they may as they come (20 and 50 requests a second each), as in write and requests
  requests  what each of a hundred of them asks of the API server
  rest      requests that 1,000 deployments at rest cost
  waves     deployments whose queues are busy in waves: how soon each backlog has its workers, and what that costs
  restart   time, memory, event loop, connections and live changes when the operator meets settled deployments

The first run compiles the API server (some minutes) and kwok (some two) with Go. Progress goes to stderr, the table to stdout.
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', default: false },
    full: { type: 'boolean', default: false },
    only: { type: 'string' },
    new: { type: 'string' },
    settled: { type: 'string', default: '10000' },
    busy: { type: 'string', default: '100' },
    minutes: { type: 'string', default: '10' },
    profile: { type: 'string' },
  },
});
const NEW = Number(values.new ?? (values.full ? 1000 : 500));
const SETTLED = Number(values.settled);
const RESTING = 1000;
/** So many deployments are enough to show what one costs. */
const COUNTED = 100;

type World = { server: ApiServer; kube: Kube };

const say: Report = (line) => void process.stderr.write(`    ${line}\n`);

/** Runs a part on an API server of its own. */
async function on(
  options: Parameters<typeof startApiServer>[0],
  what: string,
  work: (world: World) => Promise<void>,
): Promise<void> {
  process.stderr.write(`==> ${what}\n`);
  const started = performance.now();
  const server = await startApiServer({ controllers: false, audit: 'everyone', ...options });
  const kube = await connect({
    fieldManager: 'gx-operator',
    userAgent: 'bench',
    kubeconfig: server.kubeconfig,
  });
  try {
    await work({ server, kube });
  } finally {
    await kube.close();
    await server.stop();
  }
  say(`done in ${seconds(performance.now() - started)}`);
}

const flags =
  values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];

const parts: Record<string, (table: Table) => Promise<void>> = {
  write: async (table) => {
    const shares: number[] = [];
    while (shares.length < ROUNDS)
      await on(
        { controllers: true, limited: true },
        `write, round ${shares.length + 1} of ${ROUNDS}`,
        async (world) => {
          shares.push(await measureWrites({ ...world, count: NEW, flags, report: say }, table));
        },
      );
    tellShare(shares, table);
  },
  create: (table) =>
    on({ controllers: true, limited: true, audit: 'nobody' }, 'create', (world) =>
      measureCreation({ ...world, count: NEW, flags, report: say }, table),
    ),
  requests: (table) =>
    on({ controllers: true, limited: true }, 'requests', (world) =>
      measureRequests({ ...world, count: Math.min(NEW, COUNTED), flags: [], report: say }, table),
    ),
  rest: (table) =>
    on({}, 'rest', async (world) => {
      await load(world, RESTING, say);
      await measureRest({ ...world, count: RESTING }, table);
    }),
  waves: (table) =>
    on({}, 'waves', async (world) => {
      const count = Math.min(RESTING, SETTLED);
      await load({ ...world, resources: RANGE }, count, say);
      await measureWaves(
        {
          ...world,
          count,
          busy: Number(values.busy),
          minutes: Number(values.minutes),
          report: say,
        },
        table,
      );
    }),
  restart: (table) =>
    on({}, 'restart', async (world) => {
      await load(world, SETTLED, say);
      await measureRestart({ ...world, count: SETTLED, flags, report: say }, table);
    }),
};

async function main(): Promise<void> {
  if (values.help) return void process.stdout.write(HELP);
  const chosen = values.only === undefined ? Object.keys(parts) : [values.only];
  const table = new Table();
  for (const name of chosen) {
    const part = parts[name];
    if (part === undefined) throw new UsageError(`--only takes ${Object.keys(parts).join(', ')}`);
    await part(table);
  }
  process.stdout.write(table.toString());
  if (table.missed > 0) process.exitCode = 1;
}

await runMain(main);
// What a failed part left running would keep this process from ending, so it ends with it.
process.exit();
