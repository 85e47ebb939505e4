import { afterEach, expect, inject, test } from 'vitest';
import { requireRunningCluster } from '../../dev/cluster/cluster.ts';
import { call } from '../../dev/run/control-plane.ts';
import { readFolderFiles } from '../../dev/run/git-host.ts';
import { TELLER, told, type BuiltRevision, type GitDeployment } from '../kit/git-deployment.ts';
import { kubectlFor } from '../kit/kubectl.ts';
import { apiOf, deploy, LONG, reaches, removeMade, unique } from './kit.ts';

/* Repositories whose gx.json asks for the lines of a Dockerfile. BuildKit runs them in pods with users of their own. */

const system = inject('system');
const kubectl = kubectlFor(system);
const NAMESPACE = 'gx-builds-buildkit';
afterEach(() => removeMade(system));

/** Seconds from a push to DEPLOYED on two cores, if only sources changed. */
const WARM = 180;

const gxJson = (more: object): string =>
  JSON.stringify({ graphs: { teller: './graph.js:graph' }, ...more });
const graph = (file: string): string => `
  import { readFileSync } from 'node:fs';
  import { Annotation, StateGraph } from '@langchain/langgraph';
  import ms from 'ms';
  import { WORD } from './word.js';
  const State = Annotation.Root({ said: Annotation });
  export const graph = new StateGraph(State)
    .addNode('speak', () => ({ said: WORD + ' ' + ms('1m') + ' ' + readFileSync(${JSON.stringify(file)}, 'utf8').trim() }))
    .addEdge('__start__', 'speak').addEdge('speak', '__end__').compile();
`;

const deployed = (
  name: string,
  json: object,
  files: Record<string, string> = {},
): Promise<GitDeployment> =>
  deploy(system, {
    name: unique(name),
    files: { ...readFolderFiles(TELLER), 'gx.json': gxJson(json), ...files },
  });

const logOf = ({ id }: GitDeployment, revision: BuiltRevision): Promise<unknown> =>
  call(apiOf(system), 'GET', `/v2/deployments/${id}/revisions/${revision.id}/logs?type=build`);

test(
  'lines of gx.json are run as root, below an agent that answers; a change of sources alone is DEPLOYED soon after its push',
  async () => {
    const lines = ['RUN id --user > /from-lines', 'RUN echo ran >> /from-lines'];
    const deployment = await deployed(
      'lines',
      { dockerfile_lines: lines },
      { 'graph.js': graph('/from-lines') },
    );
    const first = await reaches(deployment, 'DEPLOYED');
    expect(first.source_revision_config.image_uri).toMatch(/@sha256:[0-9a-f]{64}$/);
    expect(await told(await deployment.client())).toBe('first 60000 0\nran');
    const started = performance.now();
    const second = await deployment.ended(
      await deployment.push({ 'word.js': "export const WORD = 'warm';\n" }),
    );
    const seconds = (performance.now() - started) / 1000;
    process.stdout.write(`from the push to DEPLOYED: ${seconds.toFixed(1)} s\n`);
    expect(second).toMatchObject({ status: 'DEPLOYED' });
    expect(JSON.stringify(await logOf(deployment, second))).toContain('CACHED');
    expect(await told(await deployment.client())).toBe('warm 60000 0\nran');
    expect(seconds).toBeLessThan(WARM);
  },
  LONG,
);

test(
  "a Dockerfile of the repository's own makes the image",
  async () => {
    const own = [
      'ARG AGENT_SERVER',
      'FROM ${AGENT_SERVER}',
      'USER 0:0',
      'RUN echo own > /from-dockerfile',
      'COPY --chown=10001:10001 . /agent',
      'USER 10001:10001',
      'RUN --mount=type=secret,id=gx-authorities,target=/run/gx-authorities.crt,mode=0444 NODE_EXTRA_CA_CERTS=/run/gx-authorities.crt npm ci --omit=dev',
      '',
    ].join('\n');
    const deployment = await deployed(
      'own',
      { dockerfile: 'docker/Agent' },
      { 'graph.js': graph('/from-dockerfile'), 'docker/Agent': own },
    );
    await reaches(deployment, 'DEPLOYED');
    expect(await told(await deployment.client())).toBe('first 60000 own');
  },
  LONG,
);

test(
  "another base image takes the place of the platform's",
  async () => {
    const { registry } = await requireRunningCluster({
      name: system.name,
      report: () => undefined,
    });
    // The image of the deployment before stands on the agents' server, as a base image must.
    const first = await deployed(
      'base',
      { dockerfile_lines: ['RUN echo base > /from-base'] },
      { 'graph.js': graph('/from-base') },
    );
    const { source_revision_config: built } = await reaches(first, 'DEPLOYED');
    expect(built.image_uri).toContain(registry.name);
    const second = await deployed(
      'based',
      { base_image: built.image_uri! },
      { 'graph.js': graph('/from-base') },
    );
    await reaches(second, 'DEPLOYED');
    expect(await told(await second.client())).toBe('first 60000 base');
  },
  LONG,
);

test(
  'a line that looks for secrets finds none, reaches no API server, and a line that fails ends the build with its words',
  async () => {
    const script = `
      const { readdirSync, readFileSync, existsSync } = require('node:fs');
      const found = {};
      const attempt = async (name, work) => { try { found[name] = await work(); } catch (error) { found[name] = error.cause?.code ?? error.code ?? error.message; } };
      (async () => {
        for (const folder of ['/gx', '/work', '/var/run/secrets/kubernetes.io/serviceaccount']) await attempt(folder, () => readdirSync(folder));
        await attempt('environment', () => Object.entries(process.env).filter(([name, value]) => /secret|password|auth=/i.test(name + value)).map(([name]) => name));
        await attempt('processes', () => readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).filter((id) => { try { return /buildkitd|builder/.test(readFileSync('/proc/' + id + '/cmdline', 'utf8')); } catch { return false; } }));
        await attempt('users', () => readFileSync('/proc/self/uid_map', 'utf8').trim().split(/\\s+/)[1] !== '0');
        for (const [name, url] of Object.entries({ api: 'https://10.215.0.1', named: 'https://kubernetes.default.svc', metadata: 'http://169.254.169.254' }))
          await attempt(name, () => fetch(url, { signal: AbortSignal.timeout(8000) }).then((answer) => answer.status));
        console.log('FOUND ' + JSON.stringify(found));
        process.exit(3);
      })();
    `;
    const line = `RUN echo ${Buffer.from(script).toString('base64')} | base64 -d > /attempt.cjs && node /attempt.cjs`;
    const deployment = await deployed('hostile-lines', { dockerfile_lines: [line] });
    const revision = await reaches(deployment, 'BUILD_FAILED');
    expect(revision.reason).toBe('BuildFailed');
    const text = /FOUND (\{.*?\})(?:\n|\\n|$)/.exec(revision.log_tail ?? '')?.[1] ?? '{}';
    const found = JSON.parse(text) as Record<string, unknown>;
    expect(found).toMatchObject({
      environment: [],
      processes: [],
      users: true,
      '/gx': 'ENOENT',
      '/work': 'ENOENT',
    });
    expect(found['/var/run/secrets/kubernetes.io/serviceaccount']).toBe('ENOENT');
    for (const name of ['api', 'named', 'metadata'])
      expect(typeof found[name], `${name}: ${String(found[name])}`).toBe('string');
  },
  LONG,
);

test(
  'the namespace takes no pod but those of builds',
  async () => {
    const pod = (spec: object) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'other', namespace: NAMESPACE },
      spec,
    });
    const container = { name: 'build', image: 'docker.io/library/busybox', command: ['true'] };
    for (const spec of [{ containers: [container] }, { hostUsers: false, containers: [container] }])
      await expect(kubectl.apply(pod(spec))).rejects.toThrow('ValidatingAdmissionPolicy');
  },
  LONG,
);
