import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Deployment } from '../../src/schema/deployment.ts';
import { until } from '../kit/api-server.ts';
import { fakeKubelet, type FakeKubelet } from '../kit/fake-kubelet.ts';
import { operatorFor, type RunningOperator } from '../kit/operator.ts';
import { creation, startPlane, type Plane } from './kit/api-server-plane.ts';

const VERSION = '0.4.40';
const run = promisify(execFile);
const venv = join(homedir(), '.cache', 'gx-platform', `langgraph-cli-${VERSION}`);
const cli = join(venv, 'bin', 'langgraph');

/** The vendor's CLI, installed once. */
async function install(): Promise<void> {
  await run('python3', ['--version']).catch(() => expect.fail("The test of the vendor's CLI needs python3."));
  if (existsSync(cli)) return;
  await run('python3', ['-m', 'venv', '--clear', venv]);
  await run(join(venv, 'bin', 'pip'), ['install', '--quiet', `langgraph-cli==${VERSION}`]);
}

let plane: Plane;
let operator: RunningOperator;
let kubelet: FakeKubelet;
beforeAll(async () => {
  await install();
  plane = await startPlane('vendor');
  operator = await operatorFor(plane);
  kubelet = fakeKubelet(plane.kube, plane.namespace);
  await operator.leading;
}, 180_000);
afterAll(async () => {
  rmSync(cwd, { recursive: true });
  await kubelet.stop();
  await operator.stop();
  await plane.stop();
});

/** A project as its user has it. */
function project(): string {
  const dir = mkdtempSync(join(tmpdir(), 'gx-vendor-cli-'));
  writeFileSync(join(dir, 'langgraph.json'), JSON.stringify({ dependencies: ['.'], graphs: { agent: './agent.py:graph' } }));
  writeFileSync(join(dir, 'agent.py'), 'graph = None\n');
  return dir;
}

const cwd = project();
const langgraph = async (...args: string[]): Promise<string> => {
  const flags = ['--host-url', `${plane.url}/api-host`, '--api-key', plane.keys.write];
  const env = { PATH: '/usr/bin:/bin', HOME: cwd, LANGGRAPH_CLI_NO_ANALYTICS: '1' };
  const { stdout, stderr } = await run(cli, ['deploy', ...args, ...flags], { cwd, env });
  return stdout + stderr;
};
const image = (digit: string): string => `registry.example/agent@sha256:${digit.repeat(64)}`;

test("the vendor's CLI deploys an image, changes it, lists and deletes", async () => {
  await langgraph('--name', 'by-cli', '--image-uri', image('1'), '--no-input');
  const find = async (): Promise<Deployment | undefined> =>
    (await plane.call<{ resources: Deployment[] }>('GET', '/v2/deployments?name=by-cli')).body.resources[0];
  const made = await find();
  expect(made).toMatchObject({ source: 'external_container', source_revision_config: { image_uri: image('1') }, status: 'READY' });
  await langgraph('--name', 'by-cli', '--image-uri', image('2'), '--no-input');
  expect((await find())?.source_revision_config.image_uri).toBe(image('2'));
  const id = made?.id ?? '';
  expect(await langgraph('list')).toContain(id);
  expect(await langgraph('revisions', 'list', id)).toContain('DEPLOYED');
  await langgraph('delete', id, '--force');
  await until('it is gone', async () => (await find()) === undefined);
}, 120_000);

test("answers keep to the vendor's words under its path alone, whatever words were sent", async () => {
  for (const source of ['external_container', 'external_docker']) {
    const body = creation(`as-${source.replace('_', '-')}`, { source });
    const { status, body: made } = await plane.call<{ id: string }>('POST', '/api-host/v2/deployments', { body });
    expect([status, made]).toMatchObject([201, { source: 'external_docker', source_revision_config: { langgraph_config_path: null } }]);
    expect((await plane.call('GET', `/v2/deployments/${made.id}`)).body).toMatchObject({ source: 'external_container' });
  }
  expect((await plane.call('GET', '/api-host/v1/integrations/github/install')).body).toEqual([]);
});
