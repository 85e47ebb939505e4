import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runProcess } from '../../dev/commands.ts';
import { release } from '../../dev/release/release.ts';
import { requireCommit, exportCommit } from '../../dev/release/source.ts';

const root = mkdtempSync(join(tmpdir(), 'gx-release-of-'));
const folder = join(root, 'dist', '0.1.0');
const git = (...args: string[]): Promise<string> =>
  runProcess('git', [
    '-C',
    root,
    '-c',
    'user.name=A',
    '-c',
    'user.email=a@example.com',
    '-c',
    'commit.gpgsign=false',
    ...args,
  ]);
const write = (file: string, text: string): void => {
  mkdirSync(join(root, file, '..'), { recursive: true });
  writeFileSync(join(root, file), text);
};
async function commit(): Promise<string> {
  await git('add', '--all');
  await git('commit', '--quiet', '--message', 'A change');
  return (await git('rev-parse', 'HEAD')).trim();
}

let first: string;
beforeAll(async () => {
  await git('init', '--quiet', '--initial-branch', 'main');
  write('.gitignore', 'dist/\nnode_modules/\n');
  write('package.json', '{"version":"0.1.0","license":"Apache-2.0"}');
  write('package-lock.json', '{"version":"0.2.0"}');
  write('charts/gx-platform/Chart.yaml', 'version: 0.1.0\nappVersion: 0.1.0\n');
  write('node_modules/package/index.js', '');
  first = await commit();
  write('later.txt', 'later');
  write('CHANGELOG.md', `## 0.1.0\n\nCommit: ${first}\n\n## 0.2.0\n\nCommit: ${'ab'.repeat(20)}\n`);
  await commit();
});
afterAll(() => rmSync(root, { recursive: true }));

const released = (version = '0.1.0') => release({ root, version, folder, without: [] });

describe('a release is refused with a sentence, and leaves no folder', () => {
  test('with a key that is not there', async () => {
    await expect(
      release({ root, version: '0.1.0', folder, without: [], key: '/no/key' }),
    ).rejects.toThrow('There is no key at /no/key.');
  });

  test('from a checkout with changes', async () => {
    write('later.txt', 'changed');
    await expect(released()).rejects.toThrow(
      'The checkout has changes that no commit has, later.txt among them',
    );
    await git('checkout', '--', 'later.txt');
    write('new.txt', '');
    await expect(released()).rejects.toThrow('new.txt among them');
    rmSync(join(root, 'new.txt'));
  });

  test('of a version that the changelog does not name', async () => {
    await expect(released('0.3.0')).rejects.toThrow('CHANGELOG.md does not name version 0.3.0');
  });

  test('of a commit that is not here, or not below the checkout', async () => {
    await expect(released('0.2.0')).rejects.toThrow('is not in this repository');
    await git('checkout', '--quiet', '-b', 'aside', first);
    write('aside.txt', '');
    const aside = await commit();
    await git('checkout', '--quiet', 'main');
    await expect(requireCommit(root, aside)).rejects.toThrow(
      'is not one that the checkout is built on',
    );
  });

  test('of a commit whose files name another version', async () => {
    await expect(released()).rejects.toThrow('Not version 0.1.0: package-lock.json has 0.2.0.');
    expect(existsSync(folder)).toBe(false);
  });
});

test('the files of a release are those of its commit, with permissions that do not depend on who makes it', async () => {
  const into = join(root, 'dist', 'source');
  const found = await requireCommit(root, first.slice(0, 12));
  expect(found).toEqual({
    hash: first,
    seconds: Number(await git('log', '-1', '--format=%ct', first)),
  });
  await exportCommit(root, found, into, () => undefined);
  expect(existsSync(join(into, 'later.txt'))).toBe(false);
  expect(readFileSync(join(into, 'package.json'), 'utf8')).toContain('0.1.0');
  expect(statSync(join(into, 'package.json')).mode & 0o777).toBe(0o644);
  expect(existsSync(join(into, 'node_modules/package/index.js'))).toBe(true);
});
