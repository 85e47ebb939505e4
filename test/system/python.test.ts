import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { agentKey, agentUrl, call, untilDeployed, type Api } from '../../dev/run/control-plane.ts';
import { filesIn } from '../../dev/run/git-host.ts';
import { deployFromGit, told } from '../kit/git-deployment.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';

/* Graphs in Python in real pods: in an image that begins with gx-agent-server-python, and built from git. */

type Answer = Awaited<ReturnType<typeof untilDeployed>>;
type Values = { messages: { type: string; content: string }[] };

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const name = `python-${Date.now().toString(36).slice(-5)}`;

let kubectl: Kubectl;
let deployment: Answer;
let client: Client;
beforeAll(async () => {
  kubectl = kubectlFor(system);
  const created = await call<Answer>(api, 'POST', '/v2/deployments', {
    name,
    source: 'external_container',
    source_config: { resource_spec: {} },
    source_revision_config: { image_uri: system.pythonImage },
    secrets: [],
  });
  deployment = await untilDeployed(api, created, () => undefined);
  client = new Client({ apiUrl: agentUrl(deployment), apiKey: await agentKey(api, deployment) });
});
afterAll(() => call(api, 'DELETE', `/v2/deployments/${deployment.id}`));

const say = (content: string): object => ({ messages: [{ role: 'human', content }] });
const inPod = (...command: string[]): Promise<string> =>
  kubectl('exec', `deploy/${name}-00001-queue`, '--namespace', 'gx-agents', '--', ...command);

test('serves: its words stream, and the thread keeps its messages', async () => {
  const { thread_id } = await client.threads.create();
  const events = await Array.fromAsync(
    client.runs.stream(thread_id, 'echo', { input: say('hello out there') as never, streamMode: ['custom', 'values'] }),
  );
  const words = events.filter(({ event }) => event === 'custom').map(({ data }) => (data as { word: string }).word);
  expect(words).toEqual(['hello', 'out', 'there']);
  const { messages } = (await client.runs.wait(thread_id, 'echo', { input: say('again') as never })) as unknown as Values;
  expect(messages.map(({ content }) => content)).toEqual([
    'hello out there',
    'hello out there',
    'That was message 1 of this thread.',
    'again',
    'again',
    'That was message 2 of this thread.',
  ]);
});

test('its image says which packages of Python it has, and none of them is under the LGPL', async () => {
  type Bill = { components: { name: string; version: string; licenses?: { license: { name: string } }[] }[] };
  const { components } = JSON.parse(await inPod('cat', '/usr/share/gx/sbom/pypi.cdx.json')) as Bill;
  const names = components.map((component) => component.name);
  expect(names).toEqual(expect.arrayContaining(['langgraph', 'langchain-core', 'starlette', 'uv', 'uvloop']));
  expect(names).not.toContain('psycopg');
  expect(components.filter(({ licenses = [] }) => licenses.some(({ license }) => /\bA?L?GPL|Elastic/.test(license.name)))).toEqual([]);
  expect(components.filter(({ licenses }) => licenses === undefined).map((component) => component.name)).toEqual([]);
  expect(await inPod('cat', '/usr/share/gx/sbom/debian.cdx.json')).toContain('"libpython3.13-stdlib"');
});

test('nothing is compiled to byte code at run time', async () => {
  const script = `import json, pathlib, sys, langgraph.graph, gx_runner, uvloop
print(json.dumps([m.__file__ for m in list(sys.modules.values())
  if getattr(m, "__cached__", None) and not pathlib.Path(m.__cached__).exists()]))`;
  expect(await inPod('env', 'PYTHONPATH=/app/python', '/venv/bin/python', '-c', script)).toBe('[]\n');
});

test('a repository becomes an agent on the base image of Python, and a push changes it', async () => {
  const git = await deployFromGit(system, { name: `${name}-git`, files: filesIn('test/system/python-teller') });
  try {
    const [revision] = await until(
      'it is deployed',
      async () => {
        const all = await git.revisions();
        if (all[0]?.status === 'DEPLOYED') return all;
        throw new Error(JSON.stringify(all));
      },
      300,
    );
    expect(revision?.status).toBe('DEPLOYED');
    expect(await told(await git.client())).toBe('first 60,000');
    const pushed = await git.ended(await git.push({ 'teller/word.py': 'WORD = "second"\n' }));
    expect(pushed).toMatchObject({ status: 'DEPLOYED' });
    const caller = await git.client();
    await until('the new one answers', async () => (await told(caller)) === 'second 60,000');
    const broken = await git.ended(
      await git.push({ 'pyproject.toml': '[project]\nname = "teller"\nversion = "1"\ndependencies = ["idna==0.0.0.1"]\n' }),
    );
    expect(broken).toMatchObject({ status: 'BUILD_FAILED', reason: 'InstallFailed', log_tail: expect.stringContaining('idna==0.0.0.1') });
    expect(await told(caller)).toBe('second 60,000');
  } finally {
    await call(api, 'DELETE', `/v2/deployments/${git.id}`);
  }
}, 900_000);
