import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Kube } from '../../src/kube/kube.ts';
import type { Deployment } from '../../src/schema/platform/deployment/deployment.ts';
import { installLanggraphCli, langgraphCli } from '../kit/langgraph-cli.ts';
import { until } from '../kit/until.ts';
import { creation, startPlane, type Plane } from './kit/api-server-plane.ts';

const run = promisify(execFile);

/** No pods run, so their lines come from here. A test may add more. */
const lines: string[] = [
  '2026-11-21T10:00:00.1Z {"level":"info","msg":"graph loaded"}',
  '2026-11-21T10:00:01.25Z {"level":"error","msg":"no model"}',
];
const withLogs = (kube: Kube): Kube =>
  new Proxy(kube, {
    get: (target, name) => {
      if (name === 'readPodLog')
        return ({ name: pod }: { name: string }) =>
          Promise.resolve(pod.includes('api') ? lines.join('\n') : '');
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

let plane: Plane;
beforeAll(async () => {
  await installLanggraphCli();
  plane = await startPlane('vendor', {}, { through: withLogs });
  await plane.startOperator();
  plane.startKubelet();
}, 180_000);
afterAll(async () => {
  rmSync(cwd, { recursive: true });
  await plane.stop();
});

/** A project as its user has it. */
function project(): string {
  const dir = mkdtempSync(join(tmpdir(), 'gx-vendor-cli-'));
  writeFileSync(
    join(dir, 'langgraph.json'),
    JSON.stringify({ dependencies: ['.'], graphs: { agent: './agent.py:graph' }, env: '.env' }),
  );
  writeFileSync(join(dir, 'agent.py'), 'graph = None\n');
  writeFileSync(join(dir, '.env'), 'MODEL_KEY=from-env-file\n');
  return dir;
}

const cwd = project();
const argsOf = (args: string[]): string[] => [
  'deploy',
  ...args,
  '--host-url',
  `${plane.url}/api-host`,
  '--api-key',
  plane.keys.write,
];
const env = {
  PATH: '/usr/bin:/bin',
  HOME: cwd,
  LANGGRAPH_CLI_NO_ANALYTICS: '1',
  PYTHONUNBUFFERED: '1',
};
const langgraph = async (...args: string[]): Promise<string> => {
  const { stdout, stderr } = await run(langgraphCli.langgraph, argsOf(args), { cwd, env });
  return stdout + stderr;
};
/** Returns what the CLI printed when it failed. */
const refused = (...args: string[]): Promise<{ code: number; said: string }> =>
  run(langgraphCli.langgraph, argsOf(args), { cwd, env }).then(
    ({ stdout }) => ({ code: 0, said: stdout }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
      code,
      said: stdout + stderr,
    }),
  );
const image = (digit: string): string => `registry.example/agent@sha256:${digit.repeat(64)}`;
const find = async (name: string): Promise<Deployment | undefined> =>
  (await plane.call<{ resources: Deployment[] }>('GET', `/v2/deployments?name=${name}`)).body
    .resources[0];

describe("the vendor's CLI", () => {
  test('deploys an image with the secrets of the project, changes it, lists and deletes', async () => {
    await langgraph('--name', 'by-cli', '--image-uri', image('1'), '--no-input');
    const made = await find('by-cli');
    expect(made).toMatchObject({
      source: 'external_container',
      source_revision_config: { image_uri: image('1') },
      secrets: [{ name: 'MODEL_KEY', value: 'from-env-file' }],
      status: 'READY',
    });
    await langgraph('--name', 'by-cli', '--image-uri', image('2'), '--no-input');
    expect((await find('by-cli'))?.source_revision_config.image_uri).toBe(image('2'));
    const id = made?.id ?? '';
    expect(await langgraph('list')).toContain(id);
    expect(await langgraph('list', '--name-contains', 'nothing-like-it')).not.toContain(id);
    const revisions = await langgraph('revisions', 'list', id);
    expect([revisions.match(/DEPLOYED/g)?.length, revisions.match(/REPLACED/g)?.length]).toEqual([
      1, 1,
    ]);
    await langgraph('delete', id, '--force');
    await until('it is gone', async () => (await find('by-cli')) === undefined);
  }, 300_000);

  test('tells as JSON lines how it went, and ends with 1 when the revision fails', async () => {
    const good = await langgraph(
      '--name',
      'as-json',
      '--image-uri',
      image('3'),
      '--no-input',
      '--json',
    );
    const said = good
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; status?: string; url?: string });
    const made = await find('as-json');
    expect(said.at(-1)).toMatchObject({
      event: 'result',
      status: 'succeeded',
      deployment_id: made?.id,
      url: made?.url,
    });
    const { code, said: bad } = await refused(
      '--name',
      'as-json',
      '--image-uri',
      `registry.example/crash@sha256:${'4'.repeat(64)}`,
      '--no-input',
      '--json',
    );
    expect([code, JSON.parse(bad.trim().split('\n').at(-1) ?? '')]).toEqual([
      1,
      expect.objectContaining({ event: 'result', status: 'failed' }),
    ]);
  }, 300_000);

  test('lists listeners, and deploys into the namespace of one', async () => {
    const { body } = await plane.call<{ resources: { id: string }[] }>('GET', '/v2/listeners');
    const listener = body.resources[0]?.id ?? '';
    expect(await langgraph('listeners', 'list')).toMatch(
      new RegExp(`${listener}.*${plane.namespace}`),
    );
    await langgraph(
      '--name',
      'placed',
      '--image-uri',
      image('5'),
      '--no-input',
      '--listener-id',
      listener,
      '--k8s-namespace',
      plane.namespace,
    );
    expect((await find('placed'))?.source_config).toMatchObject({
      listener_id: listener,
      listener_config: { k8s_namespace: plane.namespace },
    });
    const other = await refused(
      '--name',
      'placed-not',
      '--image-uri',
      image('5'),
      '--no-input',
      '--listener-id',
      crypto.randomUUID(),
    );
    expect([other.code, other.said]).toEqual([2, expect.stringContaining(listener)]);
  }, 300_000);

  test('shows logs of pods and of builds, filters them, and follows', async () => {
    await langgraph('--name', 'talking', '--image-uri', image('6'), '--no-input');
    const all = await langgraph('logs', '--name', 'talking');
    expect(all.match(/graph loaded|no model/g)).toEqual(['graph loaded', 'no model']);
    expect(await langgraph('logs', '--name', 'talking', '--level', 'error')).not.toContain(
      'graph loaded',
    );
    expect(await langgraph('logs', '--name', 'talking', '-q', 'LOADED', '--limit', '1')).toContain(
      'graph loaded',
    );
    expect(
      await langgraph('logs', '--name', 'talking', '--end-time', '2026-11-21T10:00:01Z'),
    ).not.toContain('no model');
    const { latest_revision_id: revision } = (await find('talking'))!;
    expect(await langgraph('logs', '--name', 'talking', '--revision-id', revision ?? '')).toContain(
      'no model',
    );
    expect(await langgraph('logs', '--name', 'talking', '--type', 'build')).toContain(
      'No log entries found.',
    );
    const following = spawn(
      langgraphCli.langgraph,
      argsOf(['logs', '--name', 'talking', '--follow']),
      { cwd, env },
    );
    let heard = '';
    following.stdout.on('data', (piece: Buffer) => (heard += piece.toString()));
    await until('the old lines are there', () => heard.includes('no model'));
    lines.push('2026-11-21T10:00:02Z a new line');
    await until('the new line is there', () => heard.includes('a new line'));
    following.kill('SIGKILL');
    expect([...heard.matchAll(/graph loaded|no model|a new line/g)].map(([word]) => word)).toEqual([
      'graph loaded',
      'no model',
      'a new line',
    ]);
  }, 300_000);

  test('is told what to do when it wants a build', async () => {
    const { code, said } = await refused('--name', 'built', '--remote', '--no-input');
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(/source: internal_source uploads the source to build.*--image-uri/s),
    ]);
    expect(await find('built')).toBeUndefined();
  });
});

test("answers keep to the vendor's words under its path alone, whatever words were sent", async () => {
  for (const source of ['external_container', 'external_docker']) {
    const body = creation(`as-${source.replace('_', '-')}`, { source });
    const { status, body: made } = await plane.call<{ id: string }>(
      'POST',
      '/api-host/v2/deployments',
      { body },
    );
    expect([status, made]).toMatchObject([
      201,
      { source: 'external_docker', source_revision_config: { langgraph_config_path: null } },
    ]);
    expect((await plane.call('GET', `/v2/deployments/${made.id}`)).body).toMatchObject({
      source: 'external_container',
    });
  }
  expect((await plane.call('GET', '/api-host/v1/integrations/github/install')).body).toEqual([]);
});

test('a type that sleeps is refused with a sentence', async () => {
  const source_config = { resource_spec: {}, deployment_type: 'dev_zero' };
  const body = creation('asleep', { source: 'github', source_config });
  expect(await plane.call('POST', '/api-host/v2/deployments', { body })).toMatchObject({
    status: 400,
    body: { detail: 'source_config.deployment_type: dev_zero is not offered; use dev or prod' },
  });
});

test.each(['external_docker', 'github', 'internal_docker'])(
  'our own paths know no %s',
  async (source) => {
    const { status, body } = await plane.call<{ detail: { loc: string[] }[] }>(
      'POST',
      '/v2/deployments',
      {
        body: creation('a', { source }),
      },
    );
    expect([status, body.detail[0]?.loc]).toEqual([422, ['body', 'source']]);
  },
);
