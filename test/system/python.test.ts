import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@langchain/langgraph-sdk';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import {
  fetchAgentKey,
  requireAgentUrl,
  call,
  waitForDeployment,
  type Api,
} from '../../dev/run/control-plane.ts';
import { readFolderFiles } from '../../dev/run/git-host.ts';
import { deployFromGit, told, type BuiltRevision } from '../kit/git-deployment.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';
import { until } from '../kit/until.ts';

/* Graphs in Python in real pods: in an image that begins with gx-agent-server-python, and built from git. */

type Answer = Awaited<ReturnType<typeof waitForDeployment>>;
type Values = { messages: { type: string; content: string }[] };

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
const name = `python-${Date.now().toString(36).slice(-5)}`;

const AGENTS = ['--namespace', 'gx-agents'];
/** Where a revision that fails finds its files. */
const FAULTY = '/faulty';

let kubectl: Kubectl;
let deployment: Answer;
let client: Client;
let failing: string;
beforeAll(async () => {
  kubectl = kubectlFor(system);
  const created = await call<Answer>(api, 'POST', '/v2/deployments', {
    name,
    source: 'external_container',
    source_config: { resource_spec: {} },
    source_revision_config: { image_uri: system.pythonImage },
    secrets: [],
  });
  deployment = await waitForDeployment(api, created, () => undefined);
  client = new Client({
    apiUrl: requireAgentUrl(deployment),
    apiKey: await fetchAgentKey(api, deployment),
  });
  failing = await deployFaulty();
});
afterAll(async () => {
  await call(api, 'DELETE', `/v2/deployments/${deployment.id}`);
  await kubectl('delete', 'configmap', name, ...AGENTS);
});

/**
 * Asks for a revision whose graph is a number, and returns its id. Its pods are started again three times before it is
 * given up, while the other tests go on.
 */
async function deployFaulty(): Promise<string> {
  const data = {
    'gx.json': JSON.stringify({ graphs: { echo: './number.py:graph' } }),
    'number.py': 'graph = None\nif True:\n    graph = 7\n',
  };
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'gx-agents' },
    data,
  });
  const resource_spec = {
    volumes: [{ name: 'faulty', configMap: { name } }],
    volume_mounts: [{ name: 'faulty', mountPath: FAULTY, readOnly: true }],
  };
  const changed = await call<Answer>(api, 'PATCH', `/v2/deployments/${deployment.id}`, {
    source_config: { resource_spec },
    secrets: [{ name: 'GX_CONFIG', value: `${FAULTY}/gx.json` }],
  });
  return changed.latest_revision_id;
}

const say = (content: string): object => ({ messages: [{ role: 'human', content }] });
const inPod = (...command: string[]): Promise<string> =>
  kubectl('exec', `deploy/${name}-00001-queue`, ...AGENTS, '--', ...command);

test('serves: its words stream, and the thread keeps its messages', async () => {
  const { thread_id } = await client.threads.create();
  const events = await Array.fromAsync(
    client.runs.stream(thread_id, 'echo', {
      input: say('hello out there') as never,
      streamMode: ['custom', 'values'],
    }),
  );
  const words = events
    .filter(({ event }) => event === 'custom')
    .map(({ data }) => (data as { word: string }).word);
  expect(words).toEqual(['hello', 'out', 'there']);
  const { messages } = (await client.runs.wait(thread_id, 'echo', {
    input: say('again') as never,
  })) as unknown as Values;
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
  type Bill = {
    components: { name: string; version: string; licenses?: { license: { name: string } }[] }[];
  };
  const { components } = JSON.parse(await inPod('cat', '/usr/share/gx/sbom/pypi.cdx.json')) as Bill;
  const names = components.map((component) => component.name);
  expect(names).toEqual(
    expect.arrayContaining(['langgraph', 'langchain-core', 'starlette', 'uv', 'uvloop']),
  );
  expect(names).not.toContain('psycopg');
  expect(
    components.filter(({ licenses = [] }) =>
      licenses.some(({ license }) => /\bA?L?GPL|Elastic/.test(license.name)),
    ),
  ).toEqual([]);
  expect(
    components.filter(({ licenses }) => licenses === undefined).map((component) => component.name),
  ).toEqual([]);
  expect(await inPod('cat', '/usr/share/gx/sbom/debian.cdx.json')).toContain(
    '"libpython3.13-stdlib"',
  );
});

test('nothing is compiled to byte code at run time', async () => {
  const script = `import json, pathlib, sys, langgraph.graph, gx_runner, uvloop
print(json.dumps([m.__file__ for m in list(sys.modules.values())
  if getattr(m, "__cached__", None) and not pathlib.Path(m.__cached__).exists()]))`;
  expect(await inPod('env', 'PYTHONPATH=/app/python', '/venv/bin/python', '-c', script)).toBe(
    '[]\n',
  );
});

test('a repository becomes an agent on the base image of Python, and a push changes it', async () => {
  const git = await deployFromGit(system, {
    name: `${name}-git`,
    files: readFolderFiles('test/system/python-teller'),
  });
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
      await git.push({
        'pyproject.toml':
          '[project]\nname = "teller"\nversion = "1"\ndependencies = ["idna==0.0.0.1"]\n',
      }),
    );
    expect(broken).toMatchObject({
      status: 'BUILD_FAILED',
      reason: 'InstallFailed',
      log_tail: expect.stringContaining('idna==0.0.0.1'),
    });
    expect(await told(caller)).toBe('second 60,000');
  } finally {
    await call(api, 'DELETE', `/v2/deployments/${git.id}`);
  }
}, 900_000);

test('a revision whose graph is none has the sentence with file and line in its status, and the one before goes on serving', async () => {
  const path = `/v2/deployments/${deployment.id}`;
  const revision = await until(
    'it has failed',
    async () => {
      const found = await call<BuiltRevision>(api, 'GET', `${path}/revisions/${failing}`);
      if (found.status === 'DEPLOY_FAILED') return found;
      throw new Error(JSON.stringify(found));
    },
    300,
  );
  const sentence =
    'Graph "echo": /faulty/number.py:3: a value of type int is neither a graph, nor a graph builder, nor a function that makes one.';
  expect(revision).toMatchObject({
    reason: 'CrashLooping',
    log_tail: expect.stringContaining(sentence),
  });
  type Stated = { status: { logTail?: string; conditions: object[] } };
  const stated = (kind: string, of: string): Promise<Stated> =>
    kubectl.json('get', kind, of, ...AGENTS);
  expect((await stated('gxr', `${name}-00002`)).status.logTail).toContain(sentence);
  const { conditions } = (await stated('gxd', name)).status;
  expect(conditions).toContainEqual(
    expect.objectContaining({ type: 'Stalled', status: 'True', reason: 'CrashLooping' }),
  );
  expect(conditions).toContainEqual(expect.objectContaining({ type: 'Serving', status: 'True' }));
  const { messages } = (await client.runs.wait(null, 'echo', {
    input: say('still here') as never,
  })) as unknown as Values;
  expect(messages.at(1)?.content).toBe('still here');
});

test('a run that fails, in either language, is in the log of its pod with message, node, file, line and stack', async () => {
  const own = `${name}-throws`;
  const folder = 'test/agent/wire/failed-calls/graphs';
  const files = ['fails.ts', 'fails.py'];
  const idOf = (file: string): string => file.replace('.', '-');
  await kubectl.apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: own, namespace: 'gx-agents' },
    data: {
      'gx.json': JSON.stringify({
        graphs: Object.fromEntries(files.map((file) => [idOf(file), `./${file}:throws`])),
      }),
      ...Object.fromEntries(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')])),
    },
  });
  const resource_spec = {
    volumes: [{ name: 'throws', configMap: { name: own } }],
    volume_mounts: [{ name: 'throws', mountPath: FAULTY, readOnly: true }],
  };
  const created = await call<Answer>(api, 'POST', '/v2/deployments', {
    name: own,
    source: 'external_container',
    source_config: { resource_spec },
    source_revision_config: { image_uri: system.pythonImage },
    secrets: [{ name: 'GX_CONFIG', value: `${FAULTY}/gx.json` }],
  });
  try {
    const deployed = await waitForDeployment(api, created, () => undefined);
    const caller = new Client({
      apiUrl: requireAgentUrl(deployed),
      apiKey: await fetchAgentKey(api, deployed),
    });
    for (const file of files)
      await caller.runs.wait(null, idOf(file), { input: { count: 1 }, raiseError: false });
    const lines = await until('both are in the log', async () => {
      const log = await kubectl('logs', `deploy/${own}-00001-queue`, ...AGENTS);
      const found = log.split('\n').filter((line) => line.includes('"run failed"'));
      return found.length === files.length && found.map((line) => JSON.parse(line) as object);
    });
    expect(lines).toEqual(
      files.map((file) =>
        expect.objectContaining({
          level: 'error',
          graph_id: idOf(file),
          node: 'cook',
          at: expect.stringMatching(new RegExp(`^${FAULTY}/(\\.\\.[^/]+/)?${file}:\\d+$`)),
          err: expect.objectContaining({
            message: 'the stove is off',
            stack: expect.stringContaining(file),
          }),
        }),
      ),
    );
  } finally {
    await call(api, 'DELETE', `/v2/deployments/${created.id}`);
    await kubectl('delete', 'configmap', own, ...AGENTS);
  }
}, 300_000);
