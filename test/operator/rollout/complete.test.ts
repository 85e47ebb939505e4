import { describe, expect, test } from 'vitest';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { isComplete } from '../../../src/operator/rollout/complete.ts';
import { decideRolloutOrder } from '../../../src/operator/rollout/revisions.ts';
import { decideRevision } from '../../../src/operator/revision/decide.ts';
import type { RevisionWorld } from '../../../src/operator/revision/world.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../../src/schema/platform/resources/custom-resources.ts';
import { hashJson } from '../../../src/schema/canonical-json.ts';
import { BUILDER, deployment, fromGit, revision, settings } from '../../kit/objects.ts';

/*
 * The reconcile of a deployment and that of its revision ask the same question. These tests prove that their answers
 * never differ.
 */

const workload = (replicas: number, available = replicas): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'w', generation: 1 },
  spec: { replicas },
  status: {
    observedGeneration: 1,
    replicas,
    updatedReplicas: replicas,
    availableReplicas: available,
  },
});
const readyPod: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  status: { conditions: [{ type: 'Ready', status: 'True' }] },
};
const database = { databaseSecret: 'chat-db' };
const started = { startedAt: '2026-01-01T00:00:00Z', phase: 'DEPLOYING' as const };

type Situation = {
  of?: DeploymentResource;
  template?: object;
  given?: Partial<RevisionResource>;
  siblings?: RevisionResource[];
  pods?: Partial<Pick<RevisionWorld, 'api' | 'queue' | 'apiPods'>>;
  isDatabaseReady?: boolean;
  hasTraffic?: boolean;
  environment?: RevisionWorld['environment'];
};

/** Returns what each of the two reconciles makes of a situation: the deployment's, then the revision's. */
function answers(situation: Situation): [boolean, boolean] {
  const {
    of = deployment({ status: database }),
    given = {},
    siblings = [],
    pods,
    isDatabaseReady = true,
    hasTraffic = false,
  } = situation;
  const made = revision(of, { status: started });
  const asked = { ...made, ...given, metadata: { ...made.metadata, ...given.metadata } };
  const standing = { api: workload(1), queue: workload(1), apiPods: [readyPod], ...pods };
  const all = [asked, ...siblings];
  const own = settings({ builder: BUILDER });
  const seen = {
    deployment: of,
    siblings: all,
    pods: standing,
    isDatabaseReady,
    isServing: hasTraffic,
  };
  const world: RevisionWorld = {
    deployment: of,
    isForeign: false,
    order: decideRolloutOrder(asked, all),
    isPick: false,
    databaseReady: isDatabaseReady,
    databaseSince: undefined,
    connections: 100,
    hasTraffic,
    address: { secretName: 'chat-db', key: 'uri' },
    environment: situation.environment ?? { secret: 'none' },
    repeated: undefined,
    missing: [],
    build: undefined,
    ...standing,
    queuePods: [],
    absences: [],
    now: new Date('2026-01-01T00:00:10Z'),
  };
  return [
    isComplete(asked, seen, own),
    decideRevision({ revision: asked, world, settings: own }).complete === true,
  ];
}

const interrupted = {
  metadata: { name: 'chat-00001', annotations: { 'gx.dev/interrupt': 'now' } },
};
const range = deployment({
  template: { resourceSpec: { minScale: 1, maxScale: 3 } },
  status: database,
});
const secret = deployment({ template: { secretName: 'env' }, status: database });
const newer = revision(deployment({ metadata: { generation: 2 }, image: 'agent:2' }));
const built = fromGit('main', { status: database });

describe('all pods of a revision are there', () => {
  test.each<[string, Situation]>([
    ['by its workloads and its pods', {}],
    [
      'within the range that others scale it',
      { of: range, pods: { api: workload(3), queue: workload(2) } },
    ],
    ['beside a newer one that waits', { siblings: [newer] }],
    ['though it was interrupted, once it serves', { given: interrupted, hasTraffic: true }],
    [
      'with its Secret',
      {
        of: secret,
        given: { status: { ...started, secretName: 'env' } },
        environment: { secret: 'ready', name: 'env' },
      },
    ],
    [
      'once it was built',
      { of: deployment(built), given: { status: { ...started, image: 'built:1' } } },
    ],
  ])('%s', (_, situation) => {
    expect(answers(situation)).toEqual([true, true]);
  });

  test.each<[string, Situation]>([
    ['without its workloads', { pods: { api: undefined, queue: undefined } }],
    ['while api pods are missing', { pods: { api: workload(1, 0) } }],
    ['while queue pods are missing', { pods: { queue: workload(1, 0) } }],
    ['while nothing is known of its api pods', { pods: { apiPods: [] } }],
    ['while it is scaled to nothing', { pods: { api: workload(0), queue: workload(0) } }],
    ['beyond its range', { of: range, pods: { api: workload(4) } }],
    ['before its database answers', { isDatabaseReady: false }],
    [
      'while its deployment hibernates',
      { of: deployment({ spec: { hibernate: true }, status: database }) },
    ],
    [
      'while its deployment goes',
      {
        of: deployment({
          metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
          status: database,
        }),
      },
    ],
    ['when it was interrupted', { given: interrupted }],
    [
      'when it has ended',
      {
        given: {
          status: { ...started, phase: 'DEPLOY_FAILED', specHash: hashJson(revision().spec) },
        },
      },
    ],
    ['when its spec was changed', { given: { status: { ...started, specHash: 'other' } } }],
    ['when its Secret is gone', { of: secret, environment: { secret: 'missing' } }],
    ['before it was built', { of: deployment(built) }],
    [
      'with too few connections',
      {
        of: deployment({
          template: { resourceSpec: { dbMaxConnections: 20, minScale: 9 } },
          status: database,
        }),
        pods: { api: workload(9), queue: workload(9) },
      },
    ],
  ])('not %s', (_, situation) => {
    expect(answers(situation)).toEqual([false, false]);
  });
});
