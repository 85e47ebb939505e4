import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { DevError } from '../../dev/errors.ts';
import { runProcess } from '../../dev/commands.ts';
import type { Report } from '../../dev/steps.ts';
import { watchNeighbours, type Neighbours, type Watch } from './isolation.ts';
import { verdictOf, type FuzzReport, type Verdict } from './verdict.ts';

const VERSION = '4.32.5';

const HOOKS = 'test/fuzz/known_ids.py';

/** What must hold for every answer. A valid body that a rule of the domain refuses is not a fault. */
const CHECKS =
  'not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,response_headers_conformance,negative_data_rejection';

/** How often the tool itself may break, each time with another seed, before the fuzzing fails. */
const ATTEMPTS = 3;

/**
 * Examples of each operation in one round, which come on top of the borders that the document names and take as many
 * again in sequences, where one
 * answer leads to the next request: some 180 cases an operation. Rounds are repeated, with other seeds, until there
 * were enough cases.
 */
const EACH = 60;

/** Installs the fuzzer once, into a virtual environment of its own, and returns its path. */
async function installed(report: Report): Promise<string> {
  const folder = join(
    process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
    'gx-platform',
    `schemathesis-${VERSION}`,
  );
  const program = join(folder, 'bin', 'schemathesis');
  if (existsSync(program)) return program;
  report(`installing schemathesis ${VERSION} (needs python3 with venv)`);
  await runProcess('python3', ['-m', 'venv', folder]);
  await runProcess(join(folder, 'bin', 'pip'), ['install', '--quiet', `schemathesis==${VERSION}`]);
  return program;
}

/** `fixed` holds parameters (`query.wait`) that get one value instead of generated ones. */
export type Target = {
  url: string;
  headers: Record<string, string>;
  cases: number;
  excludePaths?: string[];
  fixed?: Record<string, number>;
  /** Ids of records that exist, by parameter name. `known_ids.py` inserts them. */
  known: Record<string, string[]>;
  /** Those beside the caller, who must not notice it. */
  neighbours: Neighbours;
};

/**
 * Sends at least `cases` generated requests, all phases counted. Fails on the first kind of answer that is a 5xx or not
 * in the document, on a neighbour whose data was shown or changed, and when the tool keeps breaking.
 */
export async function fuzz(target: Target, report: Report): Promise<void> {
  const program = await installed(report);
  const watch = await watchNeighbours(target.url, target.neighbours);
  try {
    await rounds(program, { ...target, url: watch.url }, { report, watch });
    report(`${watch.named()} requests named a record of a neighbour: none was shown or changed`);
  } finally {
    watch.stop();
  }
}

/** Fuzzes until there were enough cases. */
async function rounds(
  program: string,
  target: Target,
  { report, watch }: { report: Report; watch: Watch },
): Promise<void> {
  const { url, headers, cases } = target;
  const document = (await (await fetch(`${url}/openapi.json`, { headers })).json()) as {
    paths: Record<string, object>;
  };
  const operations = Object.values(document.paths).flatMap((path) => Object.keys(path)).length;
  let each = Math.min(EACH, Math.ceil(cases / operations));
  report(`${operations} operations, ${each} examples each`);
  let sent = 0;
  for (let broken = 0; sent < cases;) {
    const verdict = await once(program, target, each);
    const faults = [...(verdict.kind === 'faults' ? verdict.what : []), ...(await watch.faults())];
    if (faults.length > 0) throw new DevError(`Fuzzing found faults: ${faults.join('; ')}.`);
    if (verdict.kind === 'clean') {
      sent += verdict.cases;
      each = Math.max(1, Math.ceil((each * (cases - sent)) / verdict.cases));
      report(`${sent} of ${cases} cases, no fault`);
      continue;
    }
    broken += 1;
    const broke = `schemathesis itself broke (${verdict.what.join('; ')})`;
    if (broken === ATTEMPTS)
      throw new DevError(`${broke}, ${ATTEMPTS} times: nothing is proven of ${url}.`);
    report(`${broke}: once more, with another seed`);
  }
}

/** Runs the tool once and reads its report. */
async function once(
  program: string,
  { url, headers, excludePaths = [], fixed = {}, known }: Target,
  each: number,
): Promise<Verdict> {
  const folder = mkdtempSync(join(tmpdir(), 'gx-fuzz-'));
  const [config, written] = [join(folder, 'schemathesis.toml'), join(folder, 'report.json')];
  const values = Object.entries(fixed).map(([name, value]) => `"${name}" = ${value}`);
  writeFileSync(config, `[parameters]\n${values.join('\n')}\n`);
  // One worker: Python up to 3.11 can't parse sources in two threads at once ("AST constructor recursion depth
  // mismatch"), which the tool does.
  const args = [
    '--config-file',
    config,
    'run',
    `${url}/openapi.json`,
    '--url',
    url,
    '--checks',
    CHECKS,
    '--workers',
    '1',
  ];
  args.push(
    '--max-examples',
    String(each),
    '--suppress-health-check',
    'all',
    '--report',
    'json',
    '--report-json-path',
    written,
  );
  for (const [name, value] of Object.entries(headers)) args.push('--header', `${name}: ${value}`);
  for (const path of excludePaths) args.push('--exclude-path', path);
  try {
    const code = await new Promise<number>((resolve, reject) => {
      const child = spawn(program, args, {
        stdio: ['ignore', 'inherit', 'inherit'],
        env: {
          ...process.env,
          NO_COLOR: '1',
          SCHEMATHESIS_HOOKS: HOOKS,
          GX_FUZZ_IDS: JSON.stringify(known),
        },
      });
      child.once('error', reject);
      child.once('close', (status) => resolve(status ?? 1));
    });
    return verdictOf(
      code,
      existsSync(written) ? (JSON.parse(readFileSync(written, 'utf8')) as FuzzReport) : undefined,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
}
