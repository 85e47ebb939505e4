import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureTools } from '../../dev/cluster/parts.ts';
import { runProcess } from '../../dev/commands.ts';
import { extendEnvironment } from '../../dev/env.ts';
import { CommandFailed } from '../../dev/errors.ts';
import { runMain, printLine, step } from '../../dev/steps.ts';

/*
 * A whole release, as `make release` makes it: twice, which gives the same bytes, then signed with a key of its own and
 * verified without a network.
 */

const SIGNED = ['checksums.txt', 'images.json'];
const SIGNATURES = SIGNED.map((name) => `${name}.sigstore.json`);
/** Files and folders of a release that is not signed. */
const WHOLE =
  `CHANGELOG.md chart checksums.txt digests.yaml images images.json images.txt install.yaml mirror npm packages.txt
  release.json sbom`.split(/\s+/);

async function main(): Promise<void> {
  const { without = [] } = parseArgs({
    options: { without: { type: 'string', multiple: true } },
  }).values;
  const work = mkdtempSync(join(tmpdir(), 'gx-test-release-'));
  const made = (name: string, ...more: string[]): Promise<string> => {
    const left = without.flatMap((image) => ['--without', image]);
    const args = ['dev/release/main.ts', '--into', join(work, name), ...left, ...more];
    return runProcess(process.execPath, args, {
      env: extendEnvironment({ COSIGN_PASSWORD: 'open' }),
    });
  };
  const checksums = (name: string): string =>
    readFileSync(join(work, name, 'checksums.txt'), 'utf8');
  const entries = (name: string): string[] => readdirSync(join(work, name)).toSorted();
  try {
    const said = await step('a release without a key', () => made('first'));
    assert.match(said, /is unsigned, because no key was given/);
    assert.match(readFileSync(join(work, 'first/release.json'), 'utf8'), /"signature": "unsigned"/);
    await step('sha256sum -c', () =>
      runProcess('sha256sum', ['--quiet', '-c', 'checksums.txt'], { cwd: join(work, 'first') }),
    );
    assert.deepEqual(entries('first'), WHOLE.toSorted());
    isByDigest(checksums('first'));
    const key = await step('a key', () => newKey(work));
    await step('the same again, signed', () => made('second', '--key', key));
    assert.deepEqual(entries('second'), [...WHOLE, ...SIGNATURES].toSorted());
    const withoutFacts = (text: string): string => text.replace(/^.*release\.json\n/m, '');
    assert.equal(
      withoutFacts(checksums('second')),
      withoutFacts(checksums('first')),
      'the bytes are the same',
    );
    const other = await newKey(mkdtempSync(join(work, 'other-')));
    await assert.rejects(
      verified(join(work, 'second'), other.replace(/key$/, 'pub')),
      CommandFailed,
    );
    await step('verified offline, and refused after a change', () =>
      verified(join(work, 'second'), `${work}/cosign.pub`),
    );
    printLine(`${checksums('first').split('\n').length - 1} files`);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Asserts that each blob of the images has its own digest for a name. */
function isByDigest(checksums: string): void {
  const blobs = [...checksums.matchAll(/^(\w+) +images\/blobs\/sha256\/(\w+)$/gm)];
  assert.ok(blobs.length > 20, `${blobs.length} blobs`);
  for (const [, digest, name] of blobs) assert.equal(name, digest);
}

async function newKey(folder: string): Promise<string> {
  const { cosign } = await ensureTools(['cosign']);
  await runProcess(cosign, ['generate-key-pair'], {
    cwd: folder,
    env: extendEnvironment({ COSIGN_PASSWORD: 'open' }),
  });
  return resolve(folder, 'cosign.key');
}

/** An own namespace has no network, so that a question to a log of signatures would fail. */
async function verified(folder: string, key: string): Promise<void> {
  const { cosign } = await ensureTools(['cosign']);
  const verify = (name: string): Promise<string> => {
    const args = [
      'verify-blob',
      '--key',
      key,
      '--bundle',
      `${name}.sigstore.json`,
      '--insecure-ignore-tlog=true',
      name,
    ];
    return runProcess('unshare', ['--net', cosign, ...args], { cwd: folder });
  };
  for (const name of SIGNED) await verify(name);
  for (const name of SIGNED) {
    appendFileSync(join(folder, name), '\n');
    await assert.rejects(verify(name), CommandFailed);
  }
}

await runMain(main);
