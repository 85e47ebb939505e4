import { resolve } from 'node:path';
import process from 'node:process';
import { runMain, printLine } from '../../dev/steps.ts';
import { startDev } from '../matrix/dev-server.ts';
import { Project } from '../matrix/project.ts';
import { announcedBy, CONFORMANCE, expectedFailures, REQUIREMENTS } from './requirements.ts';

/** The official Python clients, from PyPI. `client` plays one against the address that it is given. */
const PYTHON = [
  {
    packages: ['mcp==2.3.0'],
    path: '/mcp',
    client: 'mcp_client.py',
    about: 'lists, calls, hears progress, gets a picture, is asked and goes on',
  },
  {
    packages: ['a2a-sdk==1.3.0', 'httpx'],
    path: '',
    client: 'a2a_client.py',
    about: 'sends words and a picture, hears, is asked, goes on, lists and cancels',
  },
];

/** Returns what the suite says in sum. Throws if a check fails that may not, or passes and is among those that may. */
async function playRequirements(
  project: Project,
  requirements: (typeof REQUIREMENTS)[number],
  url: string,
): Promise<string> {
  const { revision } = requirements;
  const failures = `failures-${revision}.yaml`;
  // JSON is YAML.
  project.write(failures, { server: expectedFailures(requirements, await announcedBy(url)) });
  const args = [
    'server',
    '--url',
    url,
    '--requirements',
    revision,
    '--expected-failures',
    failures,
  ];
  const output = await project.run('node_modules/.bin/conformance', args);
  return /^Total: .*$/m.exec(output)?.[0] ?? 'no total';
}

async function playPython(
  { packages, path, client }: (typeof PYTHON)[number],
  url: string,
): Promise<void> {
  await using project = new Project();
  await project.run('python3', ['-m', 'venv', 'venv']);
  await project.run('venv/bin/pip', [
    'install',
    '--quiet',
    '--disable-pip-version-check',
    ...packages,
  ]);
  await project.run('venv/bin/python', [resolve('test/protocols', client), `${url}${path}`]);
}

async function main(): Promise<void> {
  await using server = await startDev(process.execPath, 'test/protocols/graphs/gx.json');
  await using suite = new Project();
  await suite.install({ '@modelcontextprotocol/conformance': CONFORMANCE }, 'module');
  for (const one of REQUIREMENTS) {
    const total = await playRequirements(suite, one, `${server.url}/mcp`);
    printLine(
      `  conformance ${CONFORMANCE}, requirements of ${one.revision}: ${total}, as requirements.ts has them`,
    );
  }
  for (const python of PYTHON) {
    await playPython(python, server.url);
    printLine(`  PyPI ${python.packages[0]}: ${python.about}`);
  }
}

await runMain(main);
