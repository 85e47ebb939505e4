import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';

const work = mkdtempSync(join(tmpdir(), 'gx-requirements-'));
afterAll(() => rmSync(work, { recursive: true }));

const BUILDX = 'echo "  --secret stringArray"';

/** Begins `make run` on a machine whose only commands are these. Returns its exit code and what it said. */
function makeRun(
  name: string,
  commands: Record<string, string>,
): { status: number | null; stdout: string; stderr: string } {
  const folder = join(work, name);
  mkdirSync(folder);
  for (const [file, script] of Object.entries(commands)) {
    writeFileSync(join(folder, file), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, file), 0o755);
  }
  const env = { PATH: folder, HOME: work, XDG_CACHE_HOME: join(folder, 'cache') };
  const { status, stdout, stderr } = spawnSync(process.execPath, ['dev/run/main.ts'], {
    env,
    encoding: 'utf8',
  });
  return { status, stdout, stderr: stderr.trim() };
}

test('Docker without helm, kind and Go is told so before the first step', () => {
  const { status, stdout, stderr } = makeRun('bare', { docker: BUILDX });
  expect(stderr).toMatch(
    /^Not on the PATH: kind, helm\. Install that, or its compiler: the Go toolchain, version [\d.]+ or newer/,
  );
  expect(stdout).toBe('');
  expect(status).toBe(1);
});

test('an older Go than the modules want is named beside what they want', () => {
  const { stderr } = makeRun('old', { docker: BUILDX, kind: 'exit 0', go: 'echo go1.20.1' });
  expect(stderr).toMatch(
    /^Not on the PATH: helm\. .*version 1\.[\d.]+ or newer, on the PATH \(found 1\.20\.1\)\.$/,
  );
});

test('Docker without buildx is told so before the first step', () => {
  const { status, stdout, stderr } = makeRun('no-buildx', {
    docker: 'exit 0',
    kind: 'exit 0',
    helm: 'exit 0',
  });
  expect(stderr).toBe(
    "Docker's plugin buildx, with which the images are built, is missing: install docker-buildx.",
  );
  expect(stdout).toBe('');
  expect(status).toBe(1);
});
