import { randomBytes, randomUUID } from 'node:crypto';
import { createKey } from '../../../src/control-plane/auth/keys.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../src/kube/kube.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import {
  COMPONENT,
  DEPLOYMENT,
  MANAGED_BY,
  OPERATOR,
  REVISION,
  SECRETS_OF,
  TENANT,
} from '../../../src/schema/platform/objects/labels.ts';
import { formatCanonicalJson } from '../../../src/schema/canonical-json.ts';

/* Tenants whose data can be told apart: each writes a word of its own, its canary, into all that it makes. */

export type Tenant = {
  id: string;
  canary: string;
  namespace: string;
  keys: Record<'admin' | 'read', string>;
  ids: Record<string, string>;
};

type Ask = (
  method: string,
  path: string,
  options: { key: string; body?: unknown },
) => Promise<{ status: number; body: unknown }>;

/** The name that a deployment of every tenant has. */
export const COMMON_NAME = 'chat';

/** Makes a tenant with a namespace that has joined it, keys, a listener and two deployments through REST. */
export async function makeTenant(kube: Kube, system: string, ask: Ask): Promise<Tenant> {
  const id = randomUUID();
  const canary = `cn${randomBytes(6).toString('hex')}`;
  // Others may know the name of the namespace, and send it.
  const namespace = `of-${id.slice(0, 8)}`;
  await kube.create(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace, labels: { [TENANT]: id } },
  });
  const key = async (role: 'admin' | 'read') =>
    (await createKey(kube, system, { name: `${canary}-${role}`, tenantId: id, role })).key;
  const keys = { admin: await key('admin'), read: await key('read') };
  const post = async (path: string, body: unknown): Promise<Record<string, string>> => {
    const answer = await ask('POST', path, { key: keys.admin, body });
    if (answer.status !== 201)
      throw new Error(`${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body as Record<string, string>;
  };
  const listener = await post('/v2/listeners', {
    compute_type: 'k8s',
    compute_id: `${canary}-compute`,
    compute_config: { k8s_namespaces: [namespace] },
  });
  const body = {
    source: 'external_container',
    source_config: {
      resource_spec: { labels: { team: canary } },
      custom_url: `https://${canary}.example`,
    },
    source_revision_config: { image_uri: `registry.example/${canary}:1` },
    secrets: [{ name: 'TOKEN', value: `${canary}-secret` }],
  };
  const made = await post('/v2/deployments', { ...body, name: `${canary}-app` });
  await post('/v2/deployments', { ...body, name: COMMON_NAME });
  const ids = {
    deployment_id: made.id ?? '',
    revision_id: made.latest_revision_id ?? '',
    listener_id: listener.id ?? '',
  };
  return { id, canary, namespace, keys, ids };
}

/** Returns what a user with rights in one tenant's namespace alone may make there against another tenant. */
export function hostileObjects(attacker: Tenant, victim: Tenant): KubeObject[] {
  const { namespace, canary } = attacker;
  const called = (name: string): string => `${canary}-${name}-${victim.canary.slice(2, 6)}`;
  const meta = (name: string, more: object = {}) => ({ name: called(name), namespace, ...more });
  const sourceConfig = { customUrl: `https://${canary}.example` };
  const template = { sourceRevisionConfig: { imageUri: `registry.example/${canary}:forged` } };
  const deployment = victim.ids.deployment_id ?? '';
  const owner = { apiVersion: API_VERSION, kind: 'Deployment', name: COMMON_NAME, uid: deployment };
  const ours = { [DEPLOYMENT]: COMMON_NAME, [COMPONENT]: 'api', [MANAGED_BY]: OPERATOR };
  const spec = { source: 'external_container', sourceConfig, template };
  return [
    {
      apiVersion: API_VERSION,
      kind: 'Deployment',
      metadata: meta('labelled', { labels: { [TENANT]: victim.id } }),
      spec,
    },
    {
      apiVersion: API_VERSION,
      kind: 'Deployment',
      metadata: meta('plain', { annotations: { [DEPLOYMENT]: COMMON_NAME } }),
      spec,
    },
    {
      apiVersion: API_VERSION,
      kind: 'Revision',
      metadata: meta('forged', {
        labels: { [DEPLOYMENT]: `${victim.canary}-app`, [TENANT]: victim.id },
      }),
      spec: {
        ...spec,
        deployment: `${victim.canary}-app`,
        deploymentUid: deployment,
        number: 7,
        hash: '0',
      },
    },
    {
      apiVersion: API_VERSION,
      kind: 'TracingProject',
      metadata: meta('project', { labels: { [TENANT]: victim.id } }),
      spec: { tenantId: victim.id, projectName: called('project') },
    },
    {
      apiVersion: API_VERSION,
      kind: 'TracingProject',
      metadata: meta('unnamed'),
      spec: { projectName: COMMON_NAME },
    },
    {
      apiVersion: API_VERSION,
      kind: 'Listener',
      metadata: meta('claim'),
      spec: { tenantId: attacker.id, computeId: called('claim'), namespaces: [victim.namespace] },
    },
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: meta('secret', { labels: { [SECRETS_OF]: COMMON_NAME, [TENANT]: victim.id } }),
      stringData: { TOKEN: canary },
    },
    {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: meta('pod', {
        labels: ours,
        annotations: { [DEPLOYMENT]: COMMON_NAME, [REVISION]: `${COMMON_NAME}-00001` },
        ownerReferences: [owner],
      }),
      spec: { containers: [{ name: 'agent', image: `registry.example/${canary}:pod` }] },
    },
  ] as KubeObject[];
}

const KINDS = [
  kinds.deployment,
  kinds.revision,
  kinds.tracingProject,
  kinds.secret,
  kinds.listener,
];

/** Returns what was asked for in a namespace, by object, without who wrote it and what was found out about it. */
export async function askedIn(kube: Kube, namespace: string): Promise<Record<string, string>> {
  const lists = await Promise.all(
    KINDS.map((kind) => kube.listAll<KubeObject>(kind, { namespace })),
  );
  const rows = lists.flat().map(({ kind, metadata, status: _status, ...content }) => {
    const { name, uid, labels, annotations, deletionTimestamp } = metadata;
    return [
      `${kind} ${name}`,
      formatCanonicalJson({ uid, labels, annotations, deletionTimestamp, content }),
    ] as const;
  });
  return Object.fromEntries(rows);
}
