import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { writeLayer } from '../../../src/builder/layers/layer.ts';
import { readTree } from '../../../src/builder/layers/tree.ts';

const LONG = `${'long-folder-name/'.repeat(8)}file.txt`;

function tree(): string {
  const root = mkdtempSync(join(tmpdir(), 'gx-tree-'));
  for (const [name, text] of Object.entries({
    'b.txt': 'b',
    'a/run.sh': '#!/bin/sh\n',
    [LONG]: 'x'.repeat(513),
    'ü.txt': '',
  })) {
    mkdirSync(join(root, name, '..'), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  chmodSync(join(root, 'a/run.sh'), 0o700);
  symlinkSync(`../${LONG}`, join(root, 'a/link'));
  return root;
}

test('the same files make the same layer, whenever and by whom they were written', async () => {
  const [one, other] = [tree(), tree()];
  utimesSync(join(other, 'b.txt'), 1, 1);
  chmodSync(join(other, 'b.txt'), 0o600);
  const layers = await Promise.all(
    [one, other].map((root) =>
      writeLayer(join(tmpdir(), `${root.split('/').at(-1)}.gz`), root, readTree(root)),
    ),
  );
  expect(layers[1]).toEqual(layers[0]);
});

test('tar reads what was written: names, links, contents, owner and time', async () => {
  const root = tree();
  const file = `${root}.tar.gz`;
  const { size } = await writeLayer(file, root, readTree(root));
  expect(readFileSync(file).length).toBe(size);
  const list = execFileSync('tar', ['--numeric-owner', '--utc', '-tvzf', file], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  });
  const lines = list
    .trim()
    .split('\n')
    .map((line) => line.replace(/ +/g, ' '));
  expect(lines).toContain('-rwxr-xr-x 10001/10001 10 1970-01-01 00:00 agent/a/run.sh');
  expect(lines).toContain(`lrwxrwxrwx 10001/10001 0 1970-01-01 00:00 agent/a/link -> ../${LONG}`);
  expect(lines).toContain(`-rw-r--r-- 10001/10001 513 1970-01-01 00:00 agent/${LONG}`);
  const out = mkdtempSync(join(tmpdir(), 'gx-out-'));
  execFileSync('tar', ['-xzf', file, '--no-same-owner', '-C', out]);
  expect(readFileSync(join(out, 'agent/a/link'), 'utf8')).toBe('x'.repeat(513));
  expect(readFileSync(join(out, 'agent/ü.txt'), 'utf8')).toBe('');
});
