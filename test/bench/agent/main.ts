import { availableParallelism } from 'node:os';
import process from 'node:process';
import { DevError } from '../../../dev/errors.ts';
import { runMain } from '../../../dev/steps.ts';
import { PARTS, type Part } from './alone.ts';
import { checkoutBeside, own, type Checkout } from './checkout.ts';
import { besideContender, contendersOf, type Contender } from './contenders.ts';
import { startDatabases, type Databases } from './databases.ts';
import { hangUp } from './http.ts';
import { HELP, optionsOf, type BenchOptions } from './options.ts';
import { inPython } from './python.ts';
import { brokenOff, pairs, single, table, type Line } from './report.ts';
import { eventStreamScenarios } from './scenarios/event-streams.ts';
import { recordScenarios } from './scenarios/records.ts';
import { runScenarios } from './scenarios/runs.ts';
import { streamScenarios } from './scenarios/streams.ts';
import { measureInTurns } from './turns.ts';

const began = performance.now();
const tell = (line: string): void =>
  void process.stderr.write(
    `${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${line}\n`,
  );
const print = (text: string): void => void process.stdout.write(`${text}\n`);

/** What every measurement gets. `broken` collects the names of the measurements that did not finish. */
type Bench = {
  databases: Databases;
  options: BenchOptions;
  checkouts: Checkout[];
  broken: string[];
};

/** Returns the peers that can be installed. The others are printed with the reason and left out. */
function installed({ against, ...started }: BenchOptions): {
  peers: Contender[];
  missing: string[];
} {
  const missing: string[] = [];
  const peers = contendersOf(started).filter((contender) => {
    if (contender.who !== 'gx' && !against.includes(contender.who)) return false;
    try {
      contender.install();
      return true;
    } catch (error) {
      missing.push(
        `${contender.name} was not measured: ${(error as Error).message.split('\n')[0]}`,
      );
      return false;
    }
  });
  return { peers, missing };
}

async function compare({
  databases,
  options,
  checkouts: [, beside],
  broken,
}: Bench): Promise<void> {
  const { isAsked, rounds, scale, python } = options;
  const all = [...runScenarios, ...streamScenarios, ...eventStreamScenarios, ...recordScenarios];
  const scenarios = (python ? inPython(all) : all).filter(({ id }) => isAsked?.(id) ?? true);
  if (scenarios.length === 0) return;
  const { peers, missing } = installed(options);
  const contenders =
    beside === undefined
      ? peers
      : peers.flatMap((peer) =>
          peer.who === 'gx' ? [peer, besideContender(beside, options)] : [peer],
        );
  const rows = await measureInTurns(scenarios, contenders, databases, {
    rounds,
    scale,
    settle: 500,
    tell,
  });
  broken.push(...brokenOff(rows, contenders));
  print(`${table(rows, contenders)}\n`);
  for (const { name, about } of contenders) print(`${name}: ${about}`);
  for (const sentence of missing) print(sentence);
  print('');
}

/** Returns the lines of a part for one checkout, or one line that says why there are none. */
async function linesOf(
  part: Part,
  checkout: Checkout,
  { databases, options, broken }: Bench,
): Promise<Line[]> {
  try {
    return await part.measure({ checkout, databases, scale: options.scale });
  } catch (error) {
    const reason = (error as Error).message;
    tell(`${part.id} broke off: ${reason}`);
    broken.push(part.id);
    return [{ what: 'broke off', figure: reason.split('\n')[0]! }];
  }
}

/** Measures this server alone, and the checkout beside it. */
async function alone(bench: Bench): Promise<void> {
  const { isAsked, full, python } = bench.options;
  const isUsual = ({ isLong, ofPython = false }: Part): boolean =>
    ofPython === python && (!isLong || full);
  for (const part of PARTS.filter((one) => isAsked?.(one.id) ?? isUsual(one))) {
    tell(part.id);
    const checkouts = part.isOfMachine ? bench.checkouts.slice(0, 1) : bench.checkouts;
    const columns: Line[][] = [];
    for (const checkout of checkouts) columns.push(await linesOf(part, checkout, bench));
    const longest = columns.toSorted((a, b) => b.length - a.length)[0]!;
    const lines = longest.map(({ what }, index) =>
      single(
        what,
        columns.map((column) => column[index]?.figure ?? '-'),
        columns[0]![index]?.verdict,
      ),
    );
    const head = [part.head(checkouts[0]!), ...['', 'beside'].slice(0, checkouts.length), 'goal'];
    print(`${pairs(head, lines)}\n`);
  }
}

async function main(): Promise<void> {
  const options = optionsOf(process.argv.slice(2));
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  const checkouts = [
    own,
    ...(options.beside === undefined ? [] : [checkoutBeside(options.beside)]),
  ];
  for (const checkout of checkouts) checkout.compile();
  const databases = await startDatabases();
  const broken: string[] = [];
  try {
    const bench = { databases, options, checkouts, broken };
    await compare(bench);
    await alone(bench);
  } finally {
    hangUp();
    await databases.stop();
  }
  print(
    `${availableParallelism()} processors, Node ${process.version}, ${((performance.now() - began) / 1000).toFixed(0)} s`,
  );
  if (broken.length > 0) throw new DevError(`${broken.length} broke off: ${broken.join(', ')}`);
}

await runMain(main);
