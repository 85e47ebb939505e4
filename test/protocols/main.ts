import { resolve } from 'node:path';
import process from 'node:process';
import { program, say } from '../../dev/steps.ts';
import { startDev } from '../matrix/dev-server.ts';
import { Project } from '../matrix/project.ts';

/** The official suites of MCP. Each lists, with the reasons, which of its checks an agent server can't pass. */
const SUITES = [
  { version: '0.1.16', about: 'revisions until 2025-11-25', expected: 'older-failures.yaml', args: [] },
  {
    version: '0.2.0-alpha.12',
    about: 'revision 2026-07-28',
    expected: 'newer-failures.yaml',
    args: ['--suite', 'all', '--spec-version', '2026-07-28'],
  },
];

/** The official Python clients, from PyPI. `client` plays one against the address that it is given. */
const PYTHON = [
  { packages: ['mcp==2.3.0'], path: '/mcp', client: 'mcp_client.py', about: 'lists, calls, hears progress, is asked and goes on' },
  { packages: ['a2a-sdk==1.3.0', 'httpx'], path: '', client: 'a2a_client.py', about: 'sends, hears, is asked, goes on, lists and cancels' },
];

async function playSuite({ version, expected, args }: (typeof SUITES)[number], url: string): Promise<string> {
  await using project = new Project();
  await project.install({ '@modelcontextprotocol/conformance': version }, 'module');
  const failures = resolve('test/protocols', expected);
  const output = await project.run('node_modules/.bin/conformance', ['server', '--url', url, '--expected-failures', failures, ...args]);
  return /^Total: .*$/m.exec(output)?.[0] ?? 'no total';
}

async function playPython({ packages, path, client }: (typeof PYTHON)[number], url: string): Promise<void> {
  await using project = new Project();
  await project.run('python3', ['-m', 'venv', 'venv']);
  await project.run('venv/bin/pip', ['install', '--quiet', '--disable-pip-version-check', ...packages]);
  await project.run('venv/bin/python', [resolve('test/protocols', client), `${url}${path}`]);
}

async function main(): Promise<void> {
  await using server = await startDev(process.execPath, 'test/protocols/graphs/gx.json');
  for (const suite of SUITES)
    say(`  conformance ${suite.version}, ${suite.about}: ${await playSuite(suite, `${server.url}/mcp`)}, as ${suite.expected} lists them`);
  for (const python of PYTHON) {
    await playPython(python, server.url);
    say(`  PyPI ${python.packages[0]}: ${python.about}`);
  }
}

await program(main);
