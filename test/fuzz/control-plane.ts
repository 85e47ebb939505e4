import { Writable } from 'node:stream';
import {
  readControlPlaneConfig,
  type ControlPlaneConfig,
} from '../../src/config/platform/control-plane.ts';
import { startControlPlane } from '../../src/control-plane/start.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kube } from '../../src/kube/kube.ts';
import { createLog } from '../../src/log.ts';
import { API_VERSION } from '../../src/schema/platform/objects/api-group.ts';
import { TENANT } from '../../src/schema/platform/objects/labels.ts';
import { step } from '../../dev/steps.ts';
import { askedIn, makeTenant, type Tenant } from '../control-plane/kit/tenants.ts';
import { startApiServer } from '../kit/api-server.ts';
import { until } from '../kit/until.ts';
import type { Neighbours } from './isolation.ts';
import { makeKeys } from './key-maker.ts';
import { fuzz } from './schemathesis.ts';

/** Answers without an end while what they follow exists. Their own tests are in test/control-plane. */
const ENDLESS = ['', '/revisions/{revision_id}'].flatMap((of) =>
  ['events', 'logs/stream'].map((what) => `/v2/deployments/{deployment_id}${of}/${what}`),
);

/** The namespace of the platform itself, with the keys and the Listeners of all tenants. */
const SYSTEM = 'default';

/** How many deployments the fuzzing tenant has at first, so that requests find something although some are deleted. */
const OWN = 40;

type Ids = Record<string, string>;

/**
 * Fuzzes the control plane on a real API server with generated requests of every operation in its document, as the
 * admin of one tenant who knows all ids of two others.
 */
export async function controlPlane(cases: number): Promise<void> {
  const server = await step('API server', () => startApiServer());
  const over = new AbortController();
  let plane: { port: number; stop(): Promise<void> } | undefined;
  try {
    const kube = await connect({
      fieldManager: 'gx-control-plane',
      userAgent: 'gx-control-plane',
      kubeconfig: server.kubeconfig,
    });
    const config: ControlPlaneConfig = {
      ...readControlPlaneConfig({}),
      host: '127.0.0.1',
      port: 0,
      healthPort: 0,
      namespace: SYSTEM,
      shutdownDelaySeconds: 0,
    };
    const lines: string[] = [];
    const destination = new Writable({
      write: (chunk: Buffer, _encoding, done) => (lines.push(chunk.toString()), done()),
    });
    const log = createLog({ level: 'info', process: 'control-plane', destination });
    plane = await startControlPlane({
      config,
      kube,
      keys: kube,
      logs: kube,
      log,
      signal: new AbortController().signal,
    });
    const url = `http://127.0.0.1:${plane.port}`;
    await until('the control plane is ready', async () => (await fetch(`${url}/readyz`)).ok);
    const { caller, others } = await step('three tenants', () => tenants(kube, url));
    const own = await step('deployments to find', () => records(caller, url));
    const theirs = others.map(({ namespace, id, ids }): Ids => ({
      ...ids,
      k8s_namespace: namespace,
      tenant_id: id,
    }));
    // As many of the neighbours' as of its own, in one order for all names, so that what belongs together stays so.
    const rows = own.flatMap((row, index) => [row, theirs[index % theirs.length] as Ids]);
    // No operator ends a revision here, so a request that waits for one would wait until its limit.
    const target = {
      url,
      headers: { 'x-api-key': caller.keys.admin },
      cases,
      excludePaths: ENDLESS,
      fixed: { 'query.wait': 0 },
      known: Object.fromEntries(
        Object.keys(theirs[0] ?? {}).map((name) => [name, rows.map((row) => row[name] ?? '')]),
      ),
      neighbours: neighbours(kube, others, () => lines.join('')),
    };
    const makingKeys = makeKeys(kube, caller.namespace, over.signal);
    await step('fuzz the control plane', (report) =>
      Promise.race([fuzz(target, report), makingKeys]),
    );
  } finally {
    over.abort();
    await plane?.stop();
    await server.stop();
  }
}

const asker =
  (url: string) =>
  async (method: string, path: string, { key, body }: { key: string; body?: unknown }) => {
    const headers = {
      'x-api-key': key,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    };
    const answer = await fetch(url + path, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, body: await answer.json() };
  };

async function tenants(kube: Kube, url: string): Promise<{ caller: Tenant; others: Tenant[] }> {
  const made = [];
  for (let count = 0; count < 3; count += 1) {
    const tenant = await makeTenant(kube, SYSTEM, asker(url));
    tenant.ids['project_id'] = await makeProject(kube, tenant);
    made.push(tenant);
  }
  const [caller, ...others] = made as [Tenant, ...Tenant[]];
  return { caller, others };
}

/** Makes the tracing project that the operator would make. Returns its id. */
async function makeProject(kube: Kube, { id, canary, namespace }: Tenant): Promise<string> {
  const { metadata } = await kube.create(kinds.tracingProject, {
    apiVersion: API_VERSION,
    kind: 'TracingProject',
    metadata: { name: `${canary}-app`, namespace, labels: { [TENANT]: id } },
    spec: { tenantId: id, projectName: `${canary}-app` },
  });
  return metadata.uid ?? '';
}

/** Makes deployments of the fuzzing tenant. Returns the ids of each, with those of what it belongs to. */
async function records({ id, namespace, keys, ids }: Tenant, url: string): Promise<Ids[]> {
  const rows: Ids[] = [];
  for (let count = 0; count < OWN; count += 1) {
    const { status, body } = await asker(url)('POST', '/v2/deployments', {
      key: keys.admin,
      body: {
        name: `own-${count}`,
        source: 'external_container',
        source_config: { resource_spec: {} },
        source_revision_config: { image_uri: 'registry.example/own:1' },
        secrets: [],
      },
    });
    if (status !== 201) throw new Error(`${status} ${JSON.stringify(body)}`);
    const made = body as { id: string; latest_revision_id: string };
    rows.push({
      ...ids,
      deployment_id: made.id,
      revision_id: made.latest_revision_id,
      k8s_namespace: namespace,
      tenant_id: id,
    });
  }
  return rows;
}

/** What two tenants have: what was asked for in their namespaces, and their Listeners. */
function neighbours(kube: Kube, others: Tenant[], logged: () => string): Neighbours {
  const canaries = others.map(({ canary }) => canary);
  return {
    canaries,
    logged,
    ids: others.flatMap(({ ids }) => Object.values(ids)),
    look: async (url) => {
      for (const { keys, ids } of others)
        await asker(url)('GET', `/v2/deployments/${ids['deployment_id']}`, { key: keys.read });
    },
    records: async () => {
      const listeners = Object.entries(await askedIn(kube, SYSTEM)).filter(
        ([name, text]) =>
          name.startsWith('Listener ') && canaries.some((canary) => text.includes(canary)),
      );
      const asked = await Promise.all(
        others.map(async ({ namespace }) =>
          Object.entries(await askedIn(kube, namespace)).map(
            ([name, text]) => [`${namespace}: ${name}`, text] as const,
          ),
        ),
      );
      return Object.fromEntries([...listeners, ...asked.flat()]);
    },
  };
}
