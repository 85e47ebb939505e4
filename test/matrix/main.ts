import { join } from 'node:path';
import process from 'node:process';
import { runMain, printLine } from '../../dev/steps.ts';
import { playAdapter, playNpmClient, playPythonClient } from './clients.ts';
import { startDev } from './dev-server.ts';
import { play } from './play.ts';
import { playAgents } from './play-agents.ts';
import { install, installAgents, Project } from './project.ts';
import { ADAPTERS, AGENTS, NPM_CLIENTS, PYTHON_CLIENT, ROWS, type Row } from './rows.ts';

type Result = { cells: string[]; failure?: string };

/** Does the work of one row, and reports what went wrong. */
async function attempt(cells: string[], work: () => Promise<void>): Promise<Result> {
  const started = performance.now();
  const failure = await work().then(
    () => undefined,
    (error: Error) => error.stack ?? error.message,
  );
  const seconds = ((performance.now() - started) / 1000).toFixed(0);
  const result = {
    cells: [...cells, failure === undefined ? 'ok' : 'FAILED', `${seconds} s`],
    ...(failure !== undefined && { failure }),
  };
  printLine(`  ${result.cells.join('  ')}`);
  return result;
}

/** A user's graph, served by `dev` on the user's Node. */
async function graphRow(row: Row): Promise<Result> {
  await using project = new Project();
  const cells = Object.values(row);
  return await attempt(cells, async () => {
    await install(project, row);
    const versions = ['@langchain/langgraph', '@langchain/core', 'zod', 'node'].map((name) =>
      project.versionOf(name),
    );
    cells.splice(0, cells.length, ...versions.slice(0, 3), row.form, versions[3]!);
    await using server = await startDev(
      join(project.folder, 'node_modules/node/bin/node'),
      join(project.folder, 'gx.json'),
    );
    await play(server.url);
  });
}

/** Agents as other packages build them, on this Node. */
async function agentsRow(): Promise<Result> {
  await using project = new Project();
  const cells = ['deepagents', 'langchain'];
  return await attempt(cells, async () => {
    await installAgents(project, AGENTS);
    cells.splice(0, cells.length, ...cells.map((name) => `${name} ${project.versionOf(name)}`));
    await using server = await startDev(process.execPath, join(project.folder, 'gx.json'));
    await playAgents(server.url);
  });
}

/** The clients that people bring, all against one server on this Node. */
async function clientRows(): Promise<Result[]> {
  await using server = await startDev(process.execPath, 'test/matrix/clients/graphs/gx.json');
  const results: Result[] = [];
  for (const version of NPM_CLIENTS)
    results.push(
      await attempt(['npm @langchain/langgraph-sdk', version], () =>
        playNpmClient(version, server.url),
      ),
    );
  results.push(
    await attempt(['PyPI langgraph-sdk', PYTHON_CLIENT], () =>
      playPythonClient(PYTHON_CLIENT, server.url),
    ),
  );
  for (const adapter of ADAPTERS)
    results.push(
      await attempt([adapter.name, adapter.packages[adapter.name]!], () =>
        playAdapter(adapter, server.url),
      ),
    );
  return results;
}

function table(head: string[], results: Result[]): string {
  const lines = [head, ...results.map(({ cells }) => cells)];
  const widths = head.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) => line.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
    .join('\n');
}

async function main(): Promise<void> {
  printLine("Users' graphs");
  const graphs: Result[] = [];
  for (const row of ROWS) graphs.push(await graphRow(row));
  printLine('Agents of other packages');
  const agents = [await agentsRow()];
  printLine('Clients');
  const clients = await clientRows();
  printLine(`\n${table(['langgraph', 'core', 'zod', 'graph', 'Node', 'result', ''], graphs)}\n`);
  printLine(`${table(['agents', '', 'result', ''], agents)}\n`);
  printLine(`${table(['client', 'version', 'result', ''], clients)}\n`);
  const all = [...graphs, ...agents, ...clients];
  const failures = all.filter(({ failure }) => failure !== undefined);
  for (const { cells, failure } of failures) printLine(`FAILED ${cells.join(' ')}\n${failure}\n`);
  if (failures.length > 0) throw new Error(`${failures.length} of ${all.length} failed.`);
}

await runMain(main);
