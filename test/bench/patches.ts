import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';

/*
 * Measures this checkout beside a copy of its last commit in which graphs run without the two patches that
 * docs/decisions/0024-two-patches.md names. Arguments go on to the bench, such as --quick or --rounds 5.
 */

const ROWS = 'wait-50,burst,stream-50,events-50';

/** The calls that apply the patches, each with its file. */
const CALLS: [file: string, call: string][] = [
  ['src/agent/graph-thread/load.ts', '  await patchCallbacks(graph);\n'],
  ['src/agent/graph-thread/main.ts', '  cacheRandomBytes();\n'],
];

/** Removes a call from a file. Throws where it is not there, because the pair would compare equal servers. */
function removeCall(file: string, call: string): void {
  const text = readFileSync(file, 'utf8');
  if (!text.includes(call)) throw new Error(`${file} has no ${call.trim()}`);
  writeFileSync(file, text.replace(call, ''));
}

const folder = mkdtempSync(join(tmpdir(), 'gx-unpatched-'));
try {
  const archive = execFileSync('git', ['archive', 'HEAD'], { maxBuffer: 2 ** 30 });
  execFileSync('tar', ['x', '-C', folder], { input: archive });
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  for (const [file, call] of CALLS) removeCall(join(folder, file), call);
  const bench = ['test/bench/agent/main.ts', '--beside', folder, '--only', ROWS];
  const { status } = spawnSync(process.execPath, [...bench, ...process.argv.slice(2)], {
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}
