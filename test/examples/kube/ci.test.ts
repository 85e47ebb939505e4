import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { startPlane, type Plane } from '../../control-plane/kit/api-server-plane.ts';

/*
 * The scripts of examples/ci run as in a pipeline, against the real control plane and operator on a real API server.
 * Pods become ready or crash, as their images' names say.
 */

const LAST_WORDS = 'Error: Cannot find module ./graph.js';

/** No pods run, so the lines of a crashed one come from here. */
const withLogs = (kube: Kube): Kube =>
  new Proxy(kube, {
    get: (target, name) => {
      if (name === 'readPodLog') return () => Promise.resolve(`starting\n${LAST_WORDS}\n`);
      // The operator would open another door, with the API server's logs behind it.
      if (name === 'buildFenced') return undefined;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

let plane: Plane;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'gx-ci-'));
  plane = await startPlane('pipeline');
  await plane.startOperator({ through: withLogs });
  plane.startKubelet();
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await plane.stop();
});

type Result = { code: number; stdout: string; stderr: string };

async function script(
  name: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<Result> {
  const all = {
    PATH: process.env.PATH ?? '',
    CONTROL_PLANE_URL: plane.url,
    API_KEY: plane.keys.write,
    ...env,
  };
  const done = promisify(execFile)(process.execPath, [`examples/ci/${name}.mjs`, ...args], {
    env: all,
    timeout: 50_000,
  });
  return done
    .then((output) => Object.assign(output, { code: 0 }))
    .catch((error: unknown) => error as Result);
}
const deploy = (args: string[], env: Record<string, string> = {}) =>
  script('deploy', [...args, '--interval', '0.2'], env);
const found = async (name: string): Promise<Deployment | undefined> =>
  (await plane.call<{ resources: Deployment[] }>('GET', `/v2/deployments?name=${name}`)).body
    .resources[0];

describe('deploy', () => {
  test('creates and polls until it serves, then changes the same deployment and polls again', async () => {
    const output = join(folder, 'output');
    const first = await deploy(
      ['--name', 'chat', '--image', 'registry.example/chat:1', '--secret', 'TOKEN'],
      {
        TOKEN: 'canary-7',
        GITHUB_OUTPUT: output,
      },
    );
    expect(first).toMatchObject({ code: 0, stderr: '' });
    const made = await found('chat');
    expect(made).toMatchObject({
      status: 'READY',
      secrets: [{ name: 'TOKEN', value: 'canary-7' }],
    });
    expect(readFileSync(output, 'utf8').split('\n')).toEqual([
      `deployment_id=${made?.id}`,
      `revision_id=${made?.active_revision_id}`,
      `url=${made?.url}`,
      '',
    ]);
    const second = await deploy(['--name', 'chat', '--image', 'registry.example/chat:2']);
    expect(second).toMatchObject({ code: 0, stderr: '' });
    const changed = await found('chat');
    expect(changed).toMatchObject({
      id: made?.id,
      secrets: made?.secrets,
      source_revision_config: { image_uri: 'registry.example/chat:2' },
    });
    expect(changed?.active_revision_id).not.toBe(made?.active_revision_id);
    expect(first.stdout + second.stdout).not.toContain('canary-7');
    expect(second.stdout).toContain('DEPLOYED');
  });

  test('takes sizes from a file', async () => {
    const sizes = join(folder, 'sizes.json');
    writeFileSync(sizes, '{"memory_mb": 384}');
    expect(
      (await deploy(['--name', 'sized', '--image', 'registry.example/a:1', '--resources', sizes]))
        .code,
    ).toBe(0);
    expect((await found('sized'))?.source_config.resource_spec?.memory_mb).toBe(384);
  });

  test('ends with 1, the reason and the last log lines when the revision fails', async () => {
    const { code, stderr } = await deploy([
      '--name',
      'broken',
      '--image',
      'registry.example/crash:1',
    ]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^The revision ended as DEPLOY_FAILED \(CrashLooping\): /);
    expect(stderr).toContain(LAST_WORDS);
  });

  test('ends with 1 when the revision does not get ready in time', async () => {
    const { code, stderr } = await deploy([
      '--name',
      'slow',
      '--image',
      'registry.example/mute:1',
      '--timeout',
      '2',
    ]);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The revision is still \w+ after 2 s\. See http/),
    ]);
  });

  test.each([
    [
      'a wrong key',
      ['--name', 'a', '--image', 'i'],
      { API_KEY: 'gx_wrong' },
      'was answered with 401: ',
    ],
    [
      'a name that is none',
      ['--name', 'A_b', '--image', 'i'],
      {},
      'was answered with 422: body.name: ',
    ],
    ['no image', ['--name', 'a'], {}, '--image is not given; see --help.'],
    [
      'no address',
      ['--name', 'a', '--image', 'i'],
      { CONTROL_PLANE_URL: '' },
      'CONTROL_PLANE_URL is not set.',
    ],
    [
      'a secret that is not there',
      ['--name', 'a', '--image', 'i', '--secret', 'NOPE'],
      {},
      '--secret NOPE: ',
    ],
    ['an option that is none', ['--nam', 'a'], {}, "Unknown option '--nam'"],
    [
      'no number of seconds',
      ['--name', 'a', '--image', 'i', '--timeout', 'soon'],
      {},
      '--timeout: soon is not a number of seconds.',
    ],
  ])('ends with 1 and a sentence: %s', async (_, args, env, sentence) => {
    const { code, stderr } = await deploy(args, env);
    expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)]);
    expect(stderr).not.toContain('    at ');
  });
});

describe('preview', () => {
  const agent = {
    asked: [] as unknown[],
    answer: { messages: [{ type: 'ai', content: 'hello back' }] } as object,
  };
  let server: Server;
  let url: string;
  beforeAll(async () => {
    server = createServer(async (request, response) => {
      agent.asked.push([request.method, request.url, JSON.parse(await text(request))]);
      response.end(JSON.stringify(agent.answer));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  });
  afterAll(() => server.close());

  const preview = (command: string, pr: string, ...args: string[]) =>
    script('preview', [command, '--name', 'chat', '--pr', pr, '--interval', '0.2', ...args], {
      AGENT_URL: url,
    });

  test('makes a deployment for the pull request, runs it, and removes it with its data', async () => {
    expect(await preview('up', '4711', '--image', 'registry.example/chat:pr')).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await found('chat-pr-4711')).toMatchObject({ status: 'READY' });
    const { code, stdout } = await preview(
      'run',
      '4711',
      '--assistant',
      'chat',
      '--input',
      'hello',
    );
    expect([code, stdout]).toEqual([0, 'chat: "hello back"\n']);
    const input = { messages: [{ role: 'human', content: 'hello' }] };
    expect(agent.asked).toEqual([['POST', '/runs/wait', { assistant_id: 'chat', input }]]);
    expect(await preview('down', '4711')).toMatchObject({
      code: 0,
      stdout: 'chat-pr-4711 is gone.\n',
    });
    expect(await found('chat-pr-4711')).toBeUndefined();
    const left = await plane.kube.listAll(kinds.tracingProject, { namespace: plane.namespace });
    expect(left.map(({ spec }) => spec.projectName)).not.toContain('chat-pr-4711');
    expect(await preview('down', '4711')).toMatchObject({
      code: 0,
      stdout: 'There is no deployment chat-pr-4711.\n',
    });
  });

  test('ends with 1 when the run fails', async () => {
    expect((await preview('up', '5', '--image', 'registry.example/chat:pr')).code).toBe(0);
    agent.answer = { __error__: { error: 'Error', message: 'no model' } };
    const { code, stderr } = await preview('run', '5', '--assistant', 'chat', '--input', 'hello');
    expect([code, stderr]).toEqual([1, expect.stringContaining('no model')]);
  });

  test('names the deployment that it can not clone, and why', async () => {
    const clone = (original: string) =>
      preview('up', '6', '--image', 'registry.example/chat:pr', '--clone', original);
    expect(await clone('nobody')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is no deployment nobody to clone.') as string,
    });
    expect((await deploy(['--name', 'original', '--image', 'registry.example/chat:1'])).code).toBe(
      0,
    );
    expect(await clone('original')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('database.clone_of: no backup of original') as string,
    });
    expect(await found('chat-pr-6')).toBeUndefined();
  });

  test('keeps the number in a name that is too long', async () => {
    const name = 'a'.repeat(63);
    const args = [
      'up',
      '--name',
      name,
      '--pr',
      '12',
      '--image',
      'registry.example/chat:pr',
      '--interval',
      '0.2',
    ];
    expect((await script('preview', args)).code).toBe(0);
    expect(await found(`${'a'.repeat(57)}-pr-12`)).toBeDefined();
  });

  test.each([
    ['no command', [], 'Say up, run or down.'],
    [
      'a number that is none',
      ['up', '--name', 'a', '--pr', 'x', '--image', 'i'],
      '--pr: x is not the number of a pull request.',
    ],
    [
      'nothing to run',
      ['run', '--name', 'none', '--pr', '1', '--assistant', 'a', '--input', 'b'],
      'There is no deployment none-pr-1.',
    ],
  ])('ends with 1 and a sentence: %s', async (_, args, sentence) => {
    const { code, stderr } = await script('preview', args);
    expect([code, stderr]).toEqual([1, expect.stringContaining(sentence)]);
  });
});
