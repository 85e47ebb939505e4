import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { DevError } from '../../../dev/errors.ts';
import { runMain, printLine } from '../../../dev/steps.ts';
import { startDatabases } from '../../bench/agent/databases.ts';
import { installPythonPeer, startPythonPeer } from '../../bench/agent/peers.ts';
import { startAgent } from '../../kit/agent-server.ts';
import { pythonTools } from '../tools.ts';
import { ALLOWED, isAllowed } from './allowed.ts';
import { askAll } from './ask.ts';
import { differencesOf, masked, type Answer, type Difference } from './differences.ts';
import { REQUESTS } from './requests.ts';

/*
 * The same requests go to this server and to the vendor's server for developers (PyPI langgraph-api, installed for the
 * bench), both with the graphs of test/python. Answers that differ beyond the list of allowed.ts fail the program.
 */

const FOLDER = resolve('test/python');

/** Returns the graphs of gx.json by absolute places, which the vendor's server needs without a configuration. */
function graphs(): Record<string, string> {
  const { graphs: places } = JSON.parse(readFileSync(`${FOLDER}/gx.json`, 'utf8')) as {
    graphs: Record<string, string>;
  };
  return Object.fromEntries(
    Object.entries(places).map(([name, place]) => [name, place.replace(/^\.\//, `${FOLDER}/`)]),
  );
}

async function answersOfOurs(): Promise<Map<string, Answer>> {
  const databases = await startDatabases();
  const env = { GX_PYTHON: `${await pythonTools()}/python` };
  const agent = await startAgent({
    database: await databases.fresh(),
    config: 'test/python/gx.json',
    env,
  });
  try {
    return await askAll(agent.url, REQUESTS);
  } finally {
    await agent.kill('SIGKILL');
    await databases.stop();
  }
}

async function answersOfTheirs(): Promise<Map<string, Answer>> {
  installPythonPeer();
  const server = await startPythonPeer(10, { graphs: graphs(), env: { PYTHONPATH: FOLDER } });
  try {
    return await askAll(server.url, REQUESTS);
  } finally {
    await server.stop();
  }
}

const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 300);

/** Returns one line for each field of a request, however many items of a list differ in it. */
function linesOf(differences: Difference[]): string[] {
  const byPlace = Map.groupBy(differences, ({ request, field }) => `${request}: ${field}`);
  return [...byPlace].map(
    ([place, [first]]) =>
      `  ${place}\n    ours ${shown(first!.ours)}\n    theirs ${shown(first!.theirs)}`,
  );
}

async function main(): Promise<void> {
  const [ours, theirs] = [await answersOfOurs(), await answersOfTheirs()];
  const differences = REQUESTS.flatMap(({ name }) =>
    differencesOf(name, masked(ours.get(name)), masked(theirs.get(name))),
  );
  const others = differences.filter(
    (difference) => !ALLOWED.some((allowed) => isAllowed(difference, allowed)),
  );
  const unused = ALLOWED.filter(
    (allowed) => !differences.some((difference) => isAllowed(difference, allowed)),
  );
  printLine(
    `${REQUESTS.length} requests, ${differences.length} differences, of which ${differences.length - others.length} are allowed`,
  );
  for (const line of linesOf(others)) printLine(line);
  for (const { reason } of unused)
    printLine(`  allowed, and there is no such difference: ${reason}`);
  if (others.length + unused.length > 0)
    throw new DevError('The servers differ in what allowed.ts does not name.');
}

await runMain(main);
