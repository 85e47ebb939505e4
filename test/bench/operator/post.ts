import { DEFAULT_TENANT_ID } from '../../../src/config/platform/control-plane.ts';
import { createKey } from '../../../src/control-plane/auth/keys.ts';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import { TENANT } from '../../../src/schema/platform/objects/labels.ts';
import type { ApiServer } from '../../kit/api-server.ts';
import { plane } from '../plane.ts';

/* New deployments, through the REST API. */

const AT_ONCE = 10;
/** The prefix of their names. */
export const PREFIX = 'created-';
/**
 * So many namespaces, as teams have them. Kubernetes' own controllers look through all Services of a namespace for each
 * of its pods.
 */
export const NAMESPACES = Array.from({ length: 10 }, (_, index) => `agents-${index}`);

type Given = { server: ApiServer; kube: Kube; namespaces?: string[] };

/** The REST API, ready to take new deployments. */
export type Rest = {
  /** Returns the milliseconds that it took to accept so many more. */
  post(count: number): Promise<number>;
  stop(): Promise<void>;
};

export async function startRest({ server, kube, namespaces = NAMESPACES }: Given): Promise<Rest> {
  await makeNamespaces(kube, namespaces);
  await kube.create(kinds.listener, {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: 'default', namespace: 'default' },
    spec: { computeId: 'bench', namespaces },
  });
  const { key } = await createKey(kube, 'default', {
    name: 'bench',
    role: 'write',
    tenantId: DEFAULT_TENANT_ID,
  });
  const { ask, stop } = await plane(server.kubeconfig, key);
  let posted = 0;
  const one = (number: number): Promise<unknown> =>
    ask('POST', '/v2/deployments', {
      name: `${PREFIX}${number}`,
      source: 'external_container',
      source_config: {
        resource_spec: {},
        listener_config: { k8s_namespace: namespaces[number % namespaces.length] },
      },
      secrets: [],
      source_revision_config: { image_uri: 'registry.example/agent:1' },
    });
  const postMore = async (count: number): Promise<number> => {
    const started = performance.now();
    const numbers = Array.from({ length: count }, (_, index) => posted + index + 1);
    posted += count;
    const work = async (): Promise<void> => {
      for (let next = numbers.pop(); next !== undefined; next = numbers.pop()) await one(next);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return performance.now() - started;
  };
  return { post: postMore, stop };
}

/** Returns the milliseconds that the REST API took to accept them all. */
export async function post({ count, ...given }: Given & { count: number }): Promise<number> {
  const rest = await startRest(given);
  return rest.post(count).finally(rest.stop);
}

/** Creates those that do not exist yet. */
export async function makeNamespaces(kube: Kube, namespaces = NAMESPACES): Promise<void> {
  const there = (await kube.listAll(kinds.namespace)).map(({ metadata }) => metadata.name);
  const missing = namespaces.filter((name) => !there.includes(name));
  const labels = { [TENANT]: DEFAULT_TENANT_ID };
  await Promise.all(
    missing.map((name) =>
      kube.create(kinds.namespace, {
        apiVersion: 'v1',
        kind: 'Namespace',
        metadata: { name, labels },
      }),
    ),
  );
}
