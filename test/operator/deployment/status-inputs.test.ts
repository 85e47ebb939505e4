import { expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kube.ts';
import { STATUS_INPUTS } from '../../../src/operator/family/status-inputs.ts';
import { API_VERSION, type DeploymentResource } from '../../../src/schema/custom-resources.ts';
import { deployment } from '../../kit/objects.ts';
import { paperCluster } from '../../kit/paper-cluster.ts';

/*
 * A status may be lost: a backup restores none. What a reconcile reads again of its own deployment's status therefore
 * stands in one list, with where it is found instead. Here reconciles run in some situations, and their reads are
 * compared with the list.
 */

type Scene = { first: DeploymentResource; changes?: Parameters<ReturnType<typeof paperCluster>['ask']>[1][] };

async function readsIn({ first, changes = [] }: Scene): Promise<string[]> {
  const read = new Set<string>();
  const cluster = paperCluster({
    onPass: () => undefined,
    onRead: (reader, _, { path: [part, field], object }) => {
      if (reader === 'deployment' && object.apiVersion === API_VERSION && object.kind === 'Deployment' && part === 'status' && field)
        read.add(field);
    },
  });
  cluster.put(kinds.deployment, first);
  await cluster.turns(4);
  for (const change of changes) {
    cluster.ask('team/chat', change);
    await cluster.turns(4);
  }
  return [...read];
}

/** Every field of a status, with a value that its type has. */
const FULL: DeploymentResource['status'] = Object.fromEntries(
  Object.keys(STATUS_INPUTS).map((name) => [name, name === 'keyHashes' ? ['hash'] : '2026-01-01T00:00:00Z']),
);

test('every field of its status that a reconcile reads again is listed, and no other', async () => {
  const scenes: Scene[] = [
    { first: deployment(), changes: [() => ({ hibernate: true }), () => ({ database: { passwordRequestedAt: '2026-01-05T00:00:00Z' } })] },
    { first: deployment({ template: { resourceSpec: { redisMemoryMb: 64 } } }) },
    { first: deployment({ spec: { database: { external: { secretName: 'managed' } } } }) },
    { first: deployment({ status: { ...FULL, phase: 'UNUSED' } }) },
  ];
  const read = new Set((await Promise.all(scenes.map(readsIn))).flat());
  // Conditions keep their times, which a status without them begins again.
  const summary = ['conditions', 'observedGeneration'];
  expect([...read].filter((field) => !summary.includes(field)).toSorted()).toEqual(Object.keys(STATUS_INPUTS).toSorted());
});
