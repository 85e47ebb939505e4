import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensurePathTool } from '../../dev/cluster/path-tools.ts';
import { commandsOf, runInShell } from '../kit/page-commands.ts';
import { openStage, type Stage } from '../kit/stage.ts';

/* The page with the drill: a shell reads its commands, and a real API server accepts its manifests. */

const blocks = commandsOf('docs/how-to/drill.md');
let stage: Stage;
let kubectl: string;

beforeAll(async () => {
  stage = await openStage('drill');
  kubectl = await ensurePathTool('kubectl', () => undefined);
});
afterAll(() => stage.stop());

const run = (commands: string) =>
  runInShell(
    commands,
    { kubectl, kubeconfig: stage.kubeconfig },
    {
      cwd: process.cwd(),
      variables: {
        NAMESPACE: stage.namespace,
        TARGET: 'main',
        IMAGE: 'echo:1',
        ID: '5b0c1a52-7d1f-4f0e-9a67-0d2f6c8e3b11',
      },
    },
  );

test('a shell reads all of its commands', async () => {
  expect(blocks.length).toBeGreaterThan(5);
  expect(await run(`bash -n <<'THE_PAGE'\n${blocks.join('\n')}\nTHE_PAGE`)).toEqual({
    code: 0,
    output: '',
  });
});

test.each(['drill', 'drill-again'])('the API server accepts the deployment %s', async (name) => {
  const [block = ''] = blocks.filter((each) => each.includes(`metadata: { name: ${name} }`));
  const [apply = ''] = /^kubectl .* apply -f - <<EOF\n.*?\nEOF$/ms.exec(block) ?? [];
  const { code, output } = await run(apply.replace('apply -f -', 'apply --dry-run=server -f -'));
  // A platform that another file has installed meanwhile warns that it does not watch the namespace.
  const own = output.replaceAll(/^Warning: .*gx-namespaces\..*\n/gm, '');
  expect([code, own]).toEqual([0, `deployment.gx.dev/${name} created (server dry run)\n`]);
});
