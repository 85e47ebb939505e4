import { X509Certificate } from 'node:crypto';
import { Client } from '@langchain/langgraph-sdk';
import { beforeAll, describe, expect, inject, test } from 'vitest';
import {
  fetchAgentKey,
  requireAgentUrl,
  call,
  waitForDeployment,
  type Api,
} from '../../dev/run/control-plane.ts';
import { until } from '../kit/until.ts';
import { kubectlFor, type Kubectl } from '../kit/kubectl.ts';

type Listed = {
  items: {
    kind: string;
    metadata: { name: string; uid: string; labels?: Record<string, string> };
  }[];
};
type Answer = Awaited<ReturnType<typeof waitForDeployment>>;

const NAMESPACE = 'gx-agents';
const CHILDREN =
  'gxd,gxr,deployments.apps,statefulsets,services,secrets,networkpolicies,poddisruptionbudgets,pods,persistentvolumeclaims';

const system = inject('system');
const api: Api = { url: system.controlPlane, key: system.key };
/** A kept cluster may still hold what an earlier run left on purpose. */
const unique = (name: string): string => `${name}-${Date.now().toString(36).slice(-5)}`;
const quiet = (): void => undefined;
let kubectl: Kubectl;

beforeAll(() => {
  kubectl = kubectlFor(system);
});

/** Returns everything in the namespace that belongs to a deployment, as `Kind/name`. */
async function leftOf(name: string): Promise<string[]> {
  const { items } = await kubectl.json<Listed>(
    'get',
    CHILDREN,
    '--namespace',
    NAMESPACE,
    '--ignore-not-found',
  );
  return (items ?? [])
    .filter(
      (item) =>
        item.metadata.name.includes(name) || item.metadata.labels?.['gx.dev/deployment'] === name,
    )
    .map((item) => `${item.kind}/${item.metadata.name}`)
    .toSorted();
}

const text = (state: unknown): string => JSON.stringify((state as { values: unknown }).values);

test.each(['gx-system', NAMESPACE])(
  '%s, in which all of this runs, takes no pod that is not restricted',
  async (namespace) => {
    const containers = [{ name: 'a', image: system.image, securityContext: { privileged: true } }];
    const pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'privileged', namespace },
      spec: { containers },
    };
    await expect(kubectl.apply(pod)).rejects.toThrow(/violates PodSecurity "restricted/);
  },
);

describe('a deployment made by REST', () => {
  const name = unique('by-rest');
  let deployment: Answer;
  let client: Client;

  test('is created, polled to DEPLOYED and READY', async () => {
    const created = await call<Answer>(api, 'POST', '/v2/deployments', {
      name,
      source: 'external_container',
      source_config: { resource_spec: {} },
      source_revision_config: { image_uri: system.image },
      secrets: [{ name: 'GREETING', value: 'canary-5e1f' }],
    });
    expect(created.latest_revision_id).toMatch(/^[0-9a-f-]{36}$/);
    deployment = await waitForDeployment(api, created, quiet);
    expect(deployment).toMatchObject({
      id: created.id,
      status: 'READY',
      latest_revision_id: created.latest_revision_id,
      active_revision_id: created.latest_revision_id,
    });
    client = new Client({
      apiUrl: requireAgentUrl(deployment),
      apiKey: await fetchAgentKey(api, deployment),
    });
  });

  test('lets nobody in without its key, and tells in its conditions that it does not', async () => {
    const answer = await fetch(`${requireAgentUrl(deployment)}/info`);
    expect([answer.status, await answer.text()]).toEqual([
      401,
      expect.stringContaining('No credentials'),
    ]);
    const { status } = await kubectl.json<{ status: { conditions: { type: string }[] } }>(
      'get',
      'gxd',
      name,
      '--namespace',
      NAMESPACE,
    );
    expect(status.conditions.map(({ type }) => type)).not.toContain('Unauthenticated');
  });

  test('shows secret values in its Secret alone', async () => {
    const resources = await kubectl(
      'get',
      'gxd,gxr,events,pods',
      '--namespace',
      NAMESPACE,
      '-o',
      'yaml',
    );
    expect(resources).not.toContain('canary-5e1f');
  });

  test('reaches its database encrypted, and is shown a renewed certificate without losing a connection', async () => {
    const inPod = (pod: string, ...command: string[]): Promise<string> =>
      kubectl('exec', pod, '--namespace', NAMESPACE, '--', ...command);
    const sessions = async (): Promise<string[]> => {
      const sql = `select pid, ssl, version from pg_stat_activity join pg_stat_ssl using (pid) where application_name like 'gx-signals %' order by pid`;
      return (await inPod(`${name}-db-0`, 'psql', '-XAt', '-U', 'postgres', '-c', sql, 'gx'))
        .trim()
        .split('\n');
    };
    const before = await sessions();
    expect(before).toEqual([
      expect.stringMatching(/^\d+\|t\|TLSv1.3$/),
      expect.stringMatching(/^\d+\|t\|TLSv1.3$/),
    ]);

    // This is the state after two thirds of the certificate's life: the operator makes another one.
    const [secret, pod] = [`${name}-db-tls`, `${name}-db-0`];
    await kubectl(
      'patch',
      'secret',
      secret,
      '--namespace',
      NAMESPACE,
      '--type=merge',
      '--patch={"data":{"tls.key":""}}',
    );
    await kubectl(
      'annotate',
      'gxd',
      name,
      '--namespace',
      NAMESPACE,
      'gx.dev/reconcile-requested-at=now',
    );
    const number = await until('it is renewed', async () => {
      const { data } = await kubectl.json<{ data: Record<string, string> }>(
        'get',
        'secret',
        secret,
        '--namespace',
        NAMESPACE,
      );
      return (
        data['tls.key'] !== '' &&
        new X509Certificate(Buffer.from(data['tls.crt'] ?? '', 'base64')).serialNumber
      );
    });
    // A node looks at a pod's Secrets within two minutes, or when the pod changes.
    await kubectl('annotate', 'pod', pod, '--namespace', NAMESPACE, 'example.com/look=now');
    const script = `const { Client } = require('/app/node_modules/pg'); const c = new Client(process.env.DATABASE_URI);
      c.connect().then(() => { console.log(c.connection.stream.getPeerCertificate().serialNumber); return c.end(); });`;
    await until(
      'it is shown',
      async () => (await inPod(`deploy/${name}-00001-api`, 'node', '-e', script)).trim() === number,
      240,
    );
    expect(await sessions()).toEqual(before);
    const plain = `const { Client } = require('/app/node_modules/pg');
      new Client({ connectionString: process.env.DATABASE_URI.split('?')[0], ssl: false }).connect().then(() => console.log('let in'), (error) => console.log(error.message));`;
    expect(await inPod(`deploy/${name}-00001-api`, 'node', '-e', plain)).toMatch(
      /no pg_hba.conf entry .* no encryption/,
    );
  });

  test('runs in an image that says what it is made of, without the client of Kubernetes, which that of the platform has', async () => {
    type Bill = { bomFormat: string; components: { name: string; version: string }[] };
    const bill = async (of: string, ...where: string[]): Promise<string[]> => {
      const printed = await kubectl(
        'exec',
        ...where,
        '--',
        'cat',
        `/usr/share/gx/sbom/${of}.cdx.json`,
      );
      return (JSON.parse(printed) as Bill).components.map((component) => component.name);
    };
    const [agent, operator, database] = [
      [`deploy/${name}-00001-api`, '--namespace', NAMESPACE],
      ['deploy/gx-operator', '--namespace', 'gx-system'],
      [`${name}-db-0`, '--namespace', NAMESPACE],
    ] as const;
    expect(await bill('npm', ...operator)).toEqual(
      expect.arrayContaining(['@kubernetes/client-node', 'pg']),
    );
    const ofAgent = await bill('npm', ...agent);
    expect(ofAgent).toContain('pg');
    expect(ofAgent).not.toContain('@kubernetes/client-node');
    for (const where of [agent, operator, database])
      expect(await bill('debian', ...where)).toContain('libc6');
    expect(await bill('debian', ...database)).toContain('postgresql-17');
    const clientIn = (...where: string[]): Promise<string> =>
      kubectl('exec', ...where, '--', 'sh', '-c', 'ls -d /app/node_modules/@kubernetes/* || true');
    expect(await clientIn(...agent)).toBe('');
    expect(await clientIn(...operator)).toContain('@kubernetes/client-node');
  });

  test('answers the SDK: wait, stream values, stream messages-tuple', async () => {
    const thread = await client.threads.create();
    const input = { messages: [{ role: 'human', content: 'first' }] };
    const state = await client.runs.wait(thread.thread_id, 'echo', { input });
    expect(JSON.stringify(state)).toContain('first');
    const events = await Array.fromAsync(
      client.runs.stream(thread.thread_id, 'echo', {
        input: { messages: [{ role: 'human', content: 'second' }] },
        streamMode: ['values', 'messages-tuple'],
      }),
    );
    expect(events[0]).toMatchObject({ event: 'metadata', data: { run_id: expect.any(String) } });
    expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(['values']));
  });

  test('tells the version that its pods report, and shows what they log', async () => {
    const path = `/v2/deployments/${deployment.id}`;
    const version = await until(
      'the version is read',
      async () =>
        (await call<{ image_version: string | null }>(api, 'GET', path)).image_version ?? undefined,
    );
    expect(version).toMatch(/^v\d+\.\d+\.\d+$/);
    const { logs } = await call<{ logs: { message: string }[] }>(api, 'GET', `${path}/logs`);
    expect(logs.map(({ message }) => message).join('\n')).toContain('agent server ready');
  });

  test('keeps its threads when the database pod is deleted', async () => {
    const thread = await client.threads.create();
    await client.runs.wait(thread.thread_id, 'echo', {
      input: { messages: [{ role: 'human', content: 'remember me' }] },
    });
    const pods = await kubectl.json<Listed>(
      'get',
      'pods',
      '--namespace',
      NAMESPACE,
      '-l',
      'gx.dev/component=database',
    );
    const pod = pods.items.find((item) => item.metadata.name.startsWith(name));
    expect(pod).toBeDefined();
    await kubectl(
      'delete',
      'pod',
      pod?.metadata.name ?? '',
      '--namespace',
      NAMESPACE,
      '--wait=true',
    );
    const state = await until('the state comes back', () =>
      client.threads.getState(thread.thread_id),
    );
    expect(text(state)).toContain('remember me');
    const again = await until('runs work again', () =>
      client.runs.wait(thread.thread_id, 'echo', {
        input: { messages: [{ role: 'human', content: 'still here' }] },
      }),
    );
    expect(JSON.stringify(again)).toContain('remember me');
    expect(JSON.stringify(again)).toContain('still here');
  });

  test('a revision whose image does not exist fails with its reason, and the serving one goes on', async () => {
    const patched = await call<Answer>(api, 'PATCH', `/v2/deployments/${deployment.id}`, {
      source_revision_config: { image_uri: 'localhost/gx/does-not-exist:1' },
    });
    const path = `/v2/deployments/${deployment.id}/revisions/${patched.latest_revision_id}`;
    const fails = async () => {
      const answer = await call<{ status: string; reason: string }>(api, 'GET', path);
      return answer.status === 'DEPLOY_FAILED' && answer;
    };
    const revision = await until('the revision fails', fails, 240);
    expect(revision.reason).toBe('ImagePullFailed');
    const now = await call<Answer & { active_revision_id: string }>(
      api,
      'GET',
      `/v2/deployments/${deployment.id}`,
    );
    expect(now).toMatchObject({
      status: 'READY',
      active_revision_id: deployment.latest_revision_id,
    });
    const thread = await client.threads.create();
    expect(thread.thread_id).toBeDefined();
  });

  test('deletion by REST leaves the kept volume and its credentials, and nothing else', async () => {
    await call(api, 'DELETE', `/v2/deployments/${deployment.id}`);
    await until('GET answers 404', async () => {
      const response = await fetch(`${api.url}/v2/deployments/${deployment.id}`, {
        headers: { 'x-api-key': api.key },
      });
      return response.status === 404;
    });
    const left = await until('only kept data is left', async () => {
      const objects = await leftOf(name);
      return objects.every((object) => /^(PersistentVolumeClaim|Secret)\//.test(object)) && objects;
    });
    expect(left).toEqual([
      expect.stringMatching(/^PersistentVolumeClaim\//),
      expect.stringMatching(`^Secret/${name}-db-[0-9a-f]{8}$`),
      expect.stringMatching(`^Secret/${name}-db-[0-9a-f]{8}-admin$`),
    ]);
  });
});

describe('a deployment applied with kubectl alone', () => {
  const name = unique('by-kubectl');
  const manifest = {
    apiVersion: 'gx.dev/v1alpha1',
    kind: 'Deployment',
    metadata: { name, namespace: NAMESPACE },
    spec: {
      source: 'external_container',
      deletionPolicy: 'Delete',
      template: { sourceRevisionConfig: { imageUri: system.image } },
    },
  };

  test('gets its revision, its URL and its REST answers', async () => {
    await kubectl.apply(manifest);
    await kubectl(
      'wait',
      `gxd/${name}`,
      '--namespace',
      NAMESPACE,
      '--for=condition=Ready',
      '--timeout=180s',
    );
    const resource = await kubectl.json<{
      metadata: { uid: string };
      status: { url: string; activeRevision: string };
    }>('get', 'gxd', name, '--namespace', NAMESPACE);
    expect(resource.status.activeRevision).toBe(`${name}-00001`);
    const answer = await call<Answer>(api, 'GET', `/v2/deployments/${resource.metadata.uid}`);
    expect(answer).toMatchObject({ id: resource.metadata.uid, name, status: 'READY' });
    const client = new Client({
      apiUrl: resource.status.url,
      apiKey: await fetchAgentKey(api, answer),
    });
    const thread = await client.threads.create();
    const state = await client.runs.wait(thread.thread_id, 'echo', {
      input: { messages: [{ role: 'human', content: 'hello' }] },
    });
    expect(JSON.stringify(state)).toContain('hello');
  });

  test('refuses a change of what is fixed', async () => {
    await expect(
      kubectl.apply({ ...manifest, spec: { ...manifest.spec, source: 'git' } }),
    ).rejects.toThrow(/source: can't be changed/);
  });

  test('deletion by kubectl leaves nothing when the policy says Delete', async () => {
    await kubectl('delete', 'gxd', name, '--namespace', NAMESPACE, '--wait=true', '--timeout=120s');
    await until('nothing is left', async () => (await leftOf(name)).length === 0);
    expect(await leftOf(name)).toEqual([]);
  });
});
