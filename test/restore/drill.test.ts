import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { kubectlFor } from '../kit/kubectl.ts';
import { commandsOf, runInShell } from '../kit/page-commands.ts';
import { NAMESPACE, startStore, TARGET, type Store } from './stage.ts';

/* The page with the drill, typed as it stands, with a real S3 server. */

const PAGE = 'docs/how-to/drill.md';
const system = inject('system');
const kubectl = kubectlFor(system);
let store: Store;

beforeAll(async () => {
  store = await startStore(system);
});
afterAll(async () => {
  await kubectl(
    'delete',
    'gxd',
    'drill',
    'drill-again',
    '-n',
    NAMESPACE,
    '--ignore-not-found',
    '--timeout=180s',
  );
  await store.remove();
});

test('the drill brings the conversation back, and leaves nothing but the files at the store', async () => {
  const [variables = '', ...blocks] = commandsOf(PAGE);
  expect(variables).toMatch(/^export NAMESPACE=\S+ TARGET=\S+ IMAGE=\S+$/);
  const { code, output } = await runInShell(blocks.join('\n'), system, {
    cwd: process.cwd(),
    variables: { NAMESPACE, TARGET, IMAGE: system.image },
  });
  expect([code, output]).toEqual([0, expect.stringContaining('That was message 2 of this thread')]);
  expect(output).toMatch(/The data was back after \d+ s\./);
  process.stdout.write(`${/The data was back.*/.exec(output)?.[0]}\n`);
  const left = await kubectl('get', 'gxd,gxr,pvc,pods', '-n', NAMESPACE, '-o', 'name');
  expect(left.split('\n').filter((line) => line.includes('/drill'))).toEqual([]);
  const id = /folder with the name (\S+) at/.exec(output)?.[1] ?? 'none';
  expect((await store.keys()).filter((key) => key.includes(id)).length).toBeGreaterThan(1);
});
