import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { command } from '../../dev/cluster/commands.ts';
import type { Report } from '../../dev/steps.ts';

const VERSION = '4.32.5';

/** What must hold for every answer. A valid body that a rule of the domain refuses is no fault. */
const CHECKS =
  'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance,negative_data_rejection';

/** The fuzzer, installed once into a virtual environment of its own. */
async function installed(report: Report): Promise<string> {
  const folder = join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'gx-platform', `schemathesis-${VERSION}`);
  const program = join(folder, 'bin', 'schemathesis');
  if (existsSync(program)) return program;
  report(`installing schemathesis ${VERSION} (needs python3 with venv)`);
  await command('python3', ['-m', 'venv', folder]);
  await command(join(folder, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${VERSION}`]);
  return program;
}

export type Target = { url: string; headers: Record<string, string>; cases: number; excludePaths?: string[] };

/** Sends at least `cases` generated requests and fails on the first kind of answer that is a 5xx or not in the document. */
export async function fuzz({ url, headers, cases, excludePaths = [] }: Target, report: Report): Promise<void> {
  const program = await installed(report);
  const document = (await (await fetch(`${url}/openapi.json`, { headers })).json()) as { paths: Record<string, object> };
  const operations = Object.values(document.paths).flatMap((path) => Object.keys(path)).length;
  const each = Math.ceil(cases / operations);
  report(`${operations} operations, ${each} examples each`);
  const args = ['run', `${url}/openapi.json`, '--url', url, '--checks', CHECKS, '--max-examples', String(each), '--workers', '2'];
  for (const [name, value] of Object.entries(headers)) args.push('--header', `${name}: ${value}`);
  for (const path of excludePaths) args.push('--exclude-path', path);
  const code = await new Promise<number>((resolve, reject) => {
    const child = spawn(program, [...args, '--suppress-health-check', 'all'], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: { ...process.env, NO_COLOR: '1' },
    });
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? 1));
  });
  if (code !== 0) throw new Error(`schemathesis found faults at ${url}.`);
}
