import { randomUUID } from 'node:crypto';
import { Writable } from 'node:stream';
import { Ajv, type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';
import {
  readControlPlaneConfig,
  type ControlPlaneConfig,
} from '../../../src/config/platform/control-plane.ts';
import { createKey } from '../../../src/control-plane/auth/keys.ts';
import { startControlPlane } from '../../../src/control-plane/start.ts';
import { connect } from '../../../src/kube/client.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { createLog } from '../../../src/log.ts';
import { type ListenerResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import { TENANT } from '../../../src/schema/platform/objects/labels.ts';
import { openStage, type Stage } from '../../kit/stage.ts';
import { until } from '../../kit/until.ts';

export const TENANT_A = '00000000-0000-4000-8000-000000000000';
export const TENANT_B = '11111111-1111-4111-8111-111111111111';

type Answered<T = Record<string, never>> = { status: number; headers: Headers; body: T };
type Call = <T = Record<string, never>>(
  method: string,
  path: string,
  options?: CallOptions,
) => Promise<Answered<T>>;
type CallOptions = { body?: unknown; key?: string | null; headers?: Record<string, string> };

/** A stage with a control plane. */
export type Plane = Stage & {
  call: Call;
  url: string;
  metricsUrl: string;
  /** Keys of tenant A, and with `other` of tenant B. */
  keys: Record<'admin' | 'write' | 'read' | 'other' | 'otherAdmin', string>;
  /** Another replica has the same cluster and settings, and a memory of its own. */
  replica(): Promise<{ call: Call; url: string; metricsUrl: string; stop(): Promise<void> }>;
  /** Returns all log lines so far as one text. */
  logged: () => string;
};

const listener = (
  name: string,
  namespace: string,
  spec: ListenerResource['spec'],
): ListenerResource => ({
  apiVersion: API_VERSION,
  kind: 'Listener',
  metadata: { name, namespace },
  spec,
});

/** Names another cluster than the shared one, or other credentials for the control plane itself. */
type Cluster = {
  kubeconfig?: string;
  own?: (namespace: string) => Promise<string>;
  through?: (kube: Kube) => Kube;
};

/** Starts a control plane on the shared API server, with a namespace, a listener and keys of two tenants. */
export async function startPlane(
  name: string,
  settings: Partial<ControlPlaneConfig> = {},
  cluster: Cluster = {},
): Promise<Plane> {
  const stage = await openStage(name, cluster.kubeconfig);
  const { kube, namespace } = stage;
  await kube.create(
    kinds.listener,
    listener('default', namespace, { computeId: 'test', namespaces: [namespace] }),
  );
  const lines: string[] = [];
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => (lines.push(chunk.toString()), done()),
  });
  const config = {
    ...readControlPlaneConfig({}),
    host: '127.0.0.1',
    port: 0,
    healthPort: 0,
    namespace,
    namespaces: [namespace],
    agentNamespaces: [namespace, ...(settings.namespaces ?? [])],
    shutdownDelaySeconds: 0,
    graceSeconds: 1,
    ...settings,
  };
  const log = createLog({
    level: settings.logLevel ?? 'debug',
    process: 'control-plane',
    destination,
  });
  const keys = await makeKeys(kube, namespace);
  const credentials = (await cluster.own?.(namespace)) ?? stage.kubeconfig;
  const replica: Plane['replica'] = async () => {
    const own = await connect({
      fieldManager: 'gx-control-plane',
      userAgent: `gx-control-plane/${name}`,
      kubeconfig: credentials,
    });
    const keyAgent = `gx-control-plane/${name}/keys`;
    const forKeys = await connect({
      fieldManager: 'gx-control-plane',
      userAgent: keyAgent,
      kubeconfig: credentials,
    });
    const stopping = new AbortController();
    const through = cluster.through ?? ((direct: Kube) => direct);
    const clients = { kube: through(own), keys: forKeys, logs: through(own) };
    const plane = await startControlPlane({ config, ...clients, log, signal: stopping.signal });
    const url = `http://127.0.0.1:${plane.port}`;
    await until('the control plane is ready', async () => (await fetch(`${url}/readyz`)).ok);
    const stop = async (): Promise<void> => {
      stopping.abort();
      await plane.stop();
    };
    return {
      call: await caller(url, keys.write),
      url,
      metricsUrl: `http://127.0.0.1:${plane.healthPort}/metrics`,
      stop,
    };
  };
  const { call, url, metricsUrl } = stage.endWith(await replica());
  return { ...stage, call, url, metricsUrl, keys, logged: () => lines.join(''), replica };
}

/** Calls the API with a key, and checks each answer against the OpenAPI document. */
async function caller(url: string, usual: string): Promise<Call> {
  const check = await answerChecks(url);
  return async (method, path, { body, key = usual, headers = {} } = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(key !== null && { 'x-api-key': key }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const parsed: unknown = text === '' ? undefined : JSON.parse(text);
    check(method, path, { status: response.status, body: parsed });
    return { status: response.status, headers: response.headers, body: parsed as never };
  };
}

async function makeKeys(kube: Kube, namespace: string): Promise<Plane['keys']> {
  const make = async (key: Parameters<typeof createKey>[2]): Promise<string> =>
    (await createKey(kube, namespace, key)).key;
  const [admin, write, read, other, otherAdmin] = await Promise.all([
    make({ name: 'admin', tenantId: TENANT_A, role: 'admin' }),
    make({ name: 'writer', tenantId: TENANT_A, role: 'write' }),
    make({ name: 'reader', tenantId: TENANT_A, role: 'read' }),
    make({ name: 'stranger', tenantId: TENANT_B, role: 'write' }),
    make({ name: 'strange-admin', tenantId: TENANT_B, role: 'admin' }),
  ]);
  return { admin, write, read, other, otherAdmin };
}

type Document = {
  paths: Record<
    string,
    Record<string, { responses: Record<string, { content?: Record<string, { schema: object }> }> }>
  >;
  components: object;
};

/** Fails a test whose answer is not among those that the OpenAPI document describes. */
async function answerChecks(
  url: string,
): Promise<(method: string, path: string, answer: { status: number; body: unknown }) => void> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
  const ajv = new Ajv({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema(document, 'document');
  const compiled = new Map<string, ValidateFunction>();
  const patterns = Object.keys(document.paths)
    .toSorted((a, b) => Number(a.includes('{')) - Number(b.includes('{')))
    .map(
      (template) =>
        [new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`), template] as const,
    );
  const escape = (text: string): string =>
    encodeURIComponent(text.replaceAll('~', '~0').replaceAll('/', '~1'));
  return (method, path, { status, body }) => {
    const template = patterns.find(([pattern]) => pattern.test(path.split('?')[0] as string))?.[1];
    if (template === undefined) return;
    const operation = document.paths[template]?.[method.toLowerCase()];
    if (operation === undefined) return;
    expect(
      Object.keys(operation.responses),
      `${method} ${template} answers ${status} ${JSON.stringify(body)}`,
    ).toContain(String(status));
    const content = operation.responses[status]?.content;
    if (content === undefined) return expect(body).toBeUndefined();
    const at = [
      'paths',
      template,
      method.toLowerCase(),
      'responses',
      String(status),
      'content',
      'application/json',
      'schema',
    ];
    const pointer = `document#/${at.map(escape).join('/')}`;
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: pointer });
    compiled.set(pointer, validate);
    expect(
      validate(body),
      `${method} ${template} ${status}: ${JSON.stringify(validate.errors)} in ${JSON.stringify(body)}`,
    ).toBe(true);
  };
}

/** Makes a namespace that has joined a tenant, or none. */
export async function makeNamespace(
  { kube }: Pick<Plane, 'kube'>,
  tenantId?: string,
): Promise<string> {
  const labels = { ...(tenantId !== undefined && { [TENANT]: tenantId }) };
  const name = `place-${randomUUID().slice(0, 8)}`;
  await kube.create(kinds.namespace, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, labels },
  });
  return name;
}

/** Does the operator's part of a deletion once everything else is gone. */
export const letGo = (
  { kube, namespace }: Pick<Plane, 'kube' | 'namespace'>,
  name: string,
): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'remove', path: '/metadata/finalizers' },
  ]);

/** Returns a valid create body, in which parts may be replaced. */
export const creation = (
  name: string,
  parts: Record<string, unknown> = {},
): Record<string, unknown> => ({
  name,
  source: 'external_container',
  source_config: { resource_spec: {} },
  source_revision_config: { image_uri: 'registry.example/agent:1' },
  secrets: [],
  ...parts,
});
