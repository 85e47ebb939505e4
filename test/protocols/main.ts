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

/** PyPI `mcp`. */
const PYTHON_CLIENT = '2.3.0';

async function playSuite({ version, expected, args }: (typeof SUITES)[number], url: string): Promise<string> {
  await using project = new Project();
  await project.install({ '@modelcontextprotocol/conformance': version }, 'module');
  const failures = resolve('test/protocols', expected);
  const output = await project.run('node_modules/.bin/conformance', ['server', '--url', url, '--expected-failures', failures, ...args]);
  return /^Total: .*$/m.exec(output)?.[0] ?? 'no total';
}

async function playPython(url: string): Promise<string> {
  await using project = new Project();
  await project.run('python3', ['-m', 'venv', 'venv']);
  await project.run('venv/bin/pip', ['install', '--quiet', '--disable-pip-version-check', `mcp==${PYTHON_CLIENT}`]);
  await project.run('venv/bin/python', [resolve('test/protocols/client.py'), url]);
  return 'lists, calls, hears progress, is asked and goes on';
}

async function main(): Promise<void> {
  await using server = await startDev(process.execPath, 'test/protocols/graphs/gx.json');
  const url = `${server.url}/mcp`;
  for (const suite of SUITES)
    say(`  conformance ${suite.version}, ${suite.about}: ${await playSuite(suite, url)}, as ${suite.expected} lists them`);
  say(`  PyPI mcp ${PYTHON_CLIENT}: ${await playPython(url)}`);
}

await program(main);
