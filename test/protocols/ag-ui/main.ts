import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import process from 'node:process';
import type { HttpAgent } from '@ag-ui/client';
import { DevError } from '../../../dev/errors.ts';
import { printLine, runMain } from '../../../dev/steps.ts';
import { Conversation } from '../../agent/ag-ui/plays/play.ts';
import { startDev } from '../../matrix/dev-server.ts';
import { Project } from '../../matrix/project.ts';

/*
 * Clients of AG-UI against an agent server: the versions of HttpAgent that pages have, in random conversations;
 * CopilotKit's runtime; and clients for Python and Go. SEEDS sets how many conversations each version holds.
 */

/** Versions of npm `@ag-ui/client`. CopilotKit 1.54, 1.60 and 1.75 pin three of them. Older ones know no reasoning. */
const CLIENTS = ['0.0.47', '0.0.50', '0.0.56', '0.0.59', '1.0.0'];

const COPILOTKIT = '1.75.0';
const GO_CLIENT = 'v0.0.0-20260630145048-7479d97e25f6';

const SEEDS = Number(process.env['SEEDS'] ?? 100);

type ClientModule = { HttpAgent: typeof HttpAgent };

async function playClients(url: string): Promise<void> {
  await using project = new Project();
  const aliases = CLIENTS.map((version) => [`client-${version}`, `npm:@ag-ui/client@${version}`]);
  await project.install(Object.fromEntries(aliases) as Record<string, string>, 'module');
  const load = createRequire(join(project.folder, 'package.json'));
  for (const [at, version] of CLIENTS.entries()) {
    // The older ones are ES modules for bundlers alone.
    const { HttpAgent: Client } = load(`client-${version}`) as ClientModule;
    const failed: string[] = [];
    let compared = 0;
    const first = 1 + at * SEEDS;
    for (let seed = first; seed < first + SEEDS; seed += 1) {
      const conversation = new Conversation(seed, { Client, next: () => url, pause: 5 });
      await conversation
        .play()
        .catch((error: unknown) => failed.push(`seed ${seed}: ${String(error)}`));
      compared += conversation.compared;
    }
    if (failed.length > 0) throw new DevError(`@ag-ui/client ${version}\n${failed.join('\n\n')}`);
    printLine(
      `  @ag-ui/client ${version}: ${SEEDS} conversations; ${compared} times the page shows what the thread holds`,
    );
  }
}

async function playCopilotKit(url: string): Promise<void> {
  await using project = new Project();
  // Nothing is reported to anybody.
  Object.assign(process.env, { COPILOTKIT_TELEMETRY_DISABLED: 'true', SCARF_ANALYTICS: 'false' });
  project.write('.npmrc', 'ignore-scripts=true\nlegacy-peer-deps=true\n');
  await project.install(
    {
      '@copilotkit/runtime': COPILOTKIT,
      '@copilotkit/core': COPILOTKIT,
      '@ag-ui/client': '0.0.59',
    },
    'module',
  );
  project.copy('test/protocols/ag-ui/copilotkit.mjs');
  for (const way of ['by its runtime', 'direct']) {
    printLine(`  CopilotKit ${COPILOTKIT}, ${way}`);
    const said = await project.run(process.execPath, ['copilotkit.mjs', url, way]);
    for (const line of said.trim().split('\n')) printLine(`    ${line}`);
  }
}

async function playPython(url: string): Promise<void> {
  await using project = new Project();
  const packages = ['ag-ui-protocol==1.0.0', 'httpx'];
  await project.run('python3', ['-m', 'venv', 'venv']);
  await project.run('venv/bin/pip', [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    ...packages,
  ]);
  await project.run('venv/bin/python', [resolve('test/protocols/ag-ui/client.py'), url]);
  printLine(`  PyPI ${packages[0]}: tools, reasoning, a question, a failure; nothing is left over`);
}

async function playGo(url: string): Promise<void> {
  await using project = new Project();
  project.copy('test/protocols/ag-ui/go/client.go');
  project.write(
    'go.mod',
    `module client\n\ngo 1.24.4\n\nrequire github.com/ag-ui-protocol/ag-ui/sdks/community/go ${GO_CLIENT}\n`,
  );
  await project.run('go', ['mod', 'tidy']);
  await project.run('go', ['run', '.', url]);
  printLine(
    `  Go ${GO_CLIENT}: tools, reasoning, a question, a failure, in the order that it asks for`,
  );
}

async function main(): Promise<void> {
  await using server = await startDev(process.execPath, 'test/protocols/ag-ui/gx.json');
  await playClients(server.url);
  await playCopilotKit(server.url);
  await playPython(server.url);
  await playGo(server.url);
}

await runMain(main);
