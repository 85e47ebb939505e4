import { fetchAgentKey, call } from '../../../dev/run/control-plane.ts';
import { until } from '../../kit/until.ts';
import { startStore, TARGET } from '../../restore/stage.ts';
import {
  deployed,
  isReady,
  labelsOf,
  NAMESPACE,
  newName,
  removed,
  statusOf,
  variablesOf,
} from '../agents.ts';
import type { Fault, Scene } from '../fault.ts';
import { startSecondNode, type SecondNode } from '../second-node.ts';

type Pods = { items: { spec: { nodeName: string } }[] };

/** Deploys an agent with its database on the second node alone. */
async function deployThere(scene: Scene, name: string, node: SecondNode): Promise<void> {
  const { kubectl, system } = scene;
  const first = `${system.name}-node`;
  await kubectl('cordon', first);
  await deployed(scene, name, { database: { backup: { target: TARGET } } }).finally(() =>
    kubectl('uncordon', first),
  );
  const { items } = await kubectl.json<Pods>(
    'get',
    'pods',
    '-n',
    NAMESPACE,
    '-l',
    `gx.dev/deployment=${name}`,
  );
  if (items.some(({ spec }) => spec.nodeName !== node.name))
    throw new Error('a pod is on the first node');
}

/** Asks an agent over its HTTP interface. */
async function asked(scene: Scene, name: string, method: string, path: string): Promise<Response> {
  const { url } = await statusOf(scene, name);
  const id = await scene.kubectl(
    'get',
    'gxd',
    name,
    '-n',
    NAMESPACE,
    '-o',
    'jsonpath={.metadata.uid}',
  );
  const headers = {
    'x-api-key': await fetchAgentKey(scene.api, { id }),
    'content-type': 'application/json',
  };
  return fetch(`${url}${path}`, { method, headers, ...(method === 'POST' && { body: '{}' }) });
}

async function backUp(scene: Scene, name: string): Promise<void> {
  const id = await scene.kubectl(
    'get',
    'gxd',
    name,
    '-n',
    NAMESPACE,
    '-o',
    'jsonpath={.metadata.uid}',
  );
  const path = `/v2/deployments/${id}/backups`;
  await call(scene.api, 'POST', path);
  await until('it is backed up', async () => {
    const { resources } = await call<{ resources: { status: string }[] }>(scene.api, 'GET', path);
    return resources[0]?.status === 'Succeeded';
  });
}

export const deadNode: Fault = {
  name: 'a node that died with a database on it',
  plant: async (scene) => {
    const [name, again] = [newName('lost'), newName('again')];
    const store = await startStore(scene.system);
    const node = await startSecondNode(scene.system);
    await deployThere(scene, name, node);
    const answer = await asked(scene, name, 'POST', '/threads');
    const { thread_id: thread } = (await answer.json()) as { thread_id: string };
    await backUp(scene, name);
    node.die();
    return {
      labels: labelsOf(name),
      variables: { ...variablesOf(name), NODE: node.name, NEW: again },
      isCured: async () =>
        (await isReady(scene, again)) &&
        (await asked(scene, again, 'GET', `/threads/${thread}`)).ok,
      remove: async () => {
        await node.remove();
        await removed(scene, name);
        await removed(scene, again);
        await store.remove();
      },
    };
  },
  // The controllers wait for 50 s until a silent node counts as gone.
  found: { alert: 'GxDatabaseNotReady', seconds: 120 },
  page: { file: 'database-not-ready.md', entry: 'volume went with the node' },
  cured: { seconds: 60 },
};
