import type { KubeObject } from '../../../src/kube/kube.ts';

/** etcd takes at most 128 operations, and some 1.5 MB, in one transaction. */
const AT_ONCE = 48;
const CONNECTIONS = 4;

/** The folders in which the API server keeps the objects of a kind. */
const FOLDERS: Record<string, string> = {
  'gx.dev/v1alpha1/Deployment': 'gx.dev/deployments',
  'gx.dev/v1alpha1/Revision': 'gx.dev/revisions',
  'gx.dev/v1alpha1/TracingProject': 'gx.dev/tracingprojects',
  'apps/v1/Deployment': 'deployments',
  'apps/v1/StatefulSet': 'statefulsets',
  'v1/Service': 'services/specs',
  'networking.k8s.io/v1/NetworkPolicy': 'networkpolicies',
};

const base64 = (text: string): string => Buffer.from(text).toString('base64');

function operation(object: KubeObject): object {
  const folder = FOLDERS[`${object.apiVersion}/${object.kind}`];
  if (folder === undefined)
    throw new Error(`where ${object.apiVersion} ${object.kind} is kept is not known`);
  const { resourceVersion: _, ...metadata } = object.metadata;
  const key = `/registry/${folder}/${metadata.namespace}/${metadata.name}`;
  return {
    requestPut: { key: base64(key), value: base64(JSON.stringify({ ...object, metadata })) },
  };
}

/**
 * Puts stored objects straight into the API server's database, where the server finds them at once. That is some twenty
 * times as fast as asking the server to create them. The objects must be in stored form: with defaults, uid and
 * managedFields.
 */
export async function putIntoEtcd(address: string, objects: Iterator<KubeObject>): Promise<number> {
  let count = 0;
  const take = (): object[] => {
    const batch: object[] = [];
    for (let next = objects.next(); next.done !== true; next = objects.next())
      if (batch.push(operation(next.value)) === AT_ONCE) break;
    count += batch.length;
    return batch;
  };
  const work = async (): Promise<void> => {
    for (let success = take(); success.length > 0; success = take()) {
      const answer = await fetch(`${address}/v3/kv/txn`, {
        method: 'POST',
        body: JSON.stringify({ success }),
      });
      if (!answer.ok) throw new Error(`etcd: ${answer.status} ${await answer.text()}`);
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
  return count;
}
