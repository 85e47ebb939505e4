import { expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import { REVISION_INPUTS, STATUS_INPUTS } from '../../../src/operator/reports/status-inputs.ts';
import { type DeploymentResource } from '../../../src/schema/platform/resources/custom-resources.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import { BUILDER, deployment, fromGit, GIT } from '../../kit/objects.ts';
import { paperCluster } from '../../kit/paper-cluster.ts';

/*
 * A status may be lost: a backup restores none. So each field that a reconcile reads again of its own object's status
 * stands in a list, with where it is found instead. Here reconciles run in some situations, and their reads are
 * compared with the lists.
 */

type Asked = Parameters<ReturnType<typeof paperCluster>['ask']>[1];
type Scene = {
  first: DeploymentResource;
  changes?: Asked[];
  settings?: Parameters<typeof paperCluster>[1];
};
type Reads = Record<'deployment' | 'revision', Set<string>>;

/** Plays a scene, and adds what reconciles have read of the status of their own objects. */
async function play({ first, changes = [], settings }: Scene, reads: Reads): Promise<void> {
  const own = { deployment: 'Deployment', revision: 'Revision' };
  const cluster = paperCluster(
    {
      onPass: () => undefined,
      onRead: (reader, key, { path: [part, field], object: { apiVersion, kind, metadata } }) => {
        const isOwn =
          apiVersion === API_VERSION &&
          kind === own[reader] &&
          key === `${metadata.namespace}/${metadata.name}`;
        if (isOwn && part === 'status' && field !== undefined) reads[reader].add(field);
      },
    },
    settings,
  );
  const listener = {
    apiVersion: API_VERSION,
    kind: 'Listener',
    metadata: { name: 'default', namespace: 'gx-system' },
  };
  cluster.put(kinds.listener, { ...listener, spec: { computeId: 'test', namespaces: ['team'] } });
  cluster.put(kinds.deployment, first);
  await cluster.turns(4);
  // Their servers have reported.
  for (const revision of cluster.caches.revisions.list())
    cluster.put(kinds.revision, {
      ...revision,
      status: { ...revision.status, serverVersion: 'v1.2.3' },
    });
  await cluster.turns(1);
  for (const change of changes) {
    cluster.ask('team/chat', change);
    await cluster.turns(4);
  }
}

/** Every field of a status, with a value that its type has. */
const FULL: DeploymentResource['status'] = Object.fromEntries(
  Object.keys(STATUS_INPUTS).map((name) => [
    name,
    name === 'keyHashes' ? ['hash'] : '2026-01-01T00:00:00Z',
  ]),
);

/** Fields by which every reconcile keeps times. One without a status begins them again. */
const SUMMARY = ['conditions', 'observedGeneration'];

test('every field of its status that a reconcile reads again is listed, and no other', async () => {
  const builder = {
    builder: { ...BUILDER, namespace: 'team' },
    gitIntegrations: [GIT],
    agentNamespaces: ['team'],
  };
  const scenes: Scene[] = [
    {
      first: deployment(),
      changes: [
        () => ({ hibernate: true }),
        () => ({ database: { passwordRequestedAt: '2026-01-05T00:00:00Z' } }),
      ],
    },
    { first: deployment({ template: { resourceSpec: { redisMemoryMb: 64 } } }) },
    { first: deployment({ spec: { database: { external: { secretName: 'managed' } } } }) },
    { first: deployment({ status: { ...FULL, phase: 'UNUSED' } }) },
    { first: deployment(fromGit('main')), settings: builder },
  ];
  const reads: Reads = { deployment: new Set(), revision: new Set() };
  for (const scene of scenes) await play(scene, reads);
  const seen = (reader: keyof Reads): string[] =>
    [...reads[reader]].filter((field) => !SUMMARY.includes(field)).toSorted();
  expect(seen('deployment')).toEqual(Object.keys(STATUS_INPUTS).toSorted());
  expect(seen('revision')).toEqual(Object.keys(REVISION_INPUTS).toSorted());
});
