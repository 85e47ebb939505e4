import { expect, test } from 'vitest';
import { decideState } from '../../../src/control-plane/stored/state.ts';
import type {
  DeploymentResource,
  RevisionResource,
} from '../../../src/schema/platform/resources/custom-resources.ts';
import { buildRevision } from '../../../src/schema/platform/resources/revision-of.ts';
import { newDeployment } from '../../kit/objects.ts';

const condition = (type: string, status: 'True' | 'False', reason: string) => ({
  type,
  status,
  reason,
  message: `${reason}.`,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const SERVES = condition('Serving', 'True', 'Serving');
const DOWN = condition('Serving', 'False', 'NoReplicaAvailable');

type Parts = { spec?: object; metadata?: object; status?: object };
const deployment = ({ spec = {}, metadata = {}, status = {} }: Parts = {}): DeploymentResource => {
  const made = newDeployment('space', {
    metadata: { name: 'chat', ...metadata },
    image: 'agent:1',
  });
  return { ...made, spec: { ...made.spec, ...spec }, status };
};
const revision = (status: object): RevisionResource => ({ ...buildRevision(deployment()), status });

const DEPLOYED = revision({ phase: 'DEPLOYED' });
const FAILED = revision({ phase: 'DEPLOY_FAILED', reason: 'CrashLooping', message: 'It crashes.' });
const served = (conditions: object[], more: object = {}) => ({
  conditions,
  activeRevision: 'chat-00001',
  ...more,
});

test.each<[string, DeploymentResource, RevisionResource | undefined, object]>([
  [
    'one without a revision',
    deployment(),
    undefined,
    { state: 'waiting', reason: null, serving: false },
  ],
  [
    'a rollout that says how far it is',
    deployment({ status: served([SERVES]) }),
    revision({ phase: 'DEPLOYING', message: '1 of 2 pods are ready.' }),
    { state: 'rolling_out', message: '1 of 2 pods are ready.', serving: true },
  ],
  [
    'a failed revision beside one that serves',
    deployment({ status: served([SERVES]) }),
    FAILED,
    { state: 'failed', reason: 'CrashLooping', message: 'It crashes.', serving: true },
  ],
  [
    'one that can not go on',
    deployment({ status: served([SERVES, condition('Stalled', 'True', 'QuotaExceeded')]) }),
    DEPLOYED,
    { state: 'failed', reason: 'QuotaExceeded', serving: true },
  ],
  [
    'one that serves',
    deployment({ status: served([SERVES]) }),
    DEPLOYED,
    { state: 'serving', reason: 'Serving', serving: true },
  ],
  [
    'one whose pods are away',
    deployment({ status: served([DOWN]) }),
    DEPLOYED,
    { state: 'unavailable', reason: 'NoReplicaAvailable', serving: false },
  ],
  [
    'an interrupted revision beside one that serves',
    deployment({ status: served([SERVES]) }),
    revision({ phase: 'INTERRUPTED' }),
    { state: 'serving', serving: true },
  ],
  [
    'a sleeper whose newest revision failed',
    deployment({
      status: served([condition('Asleep', 'True', 'Idle')], {
        asleepSince: '2026-01-01T00:00:00Z',
      }),
    }),
    FAILED,
    { state: 'asleep', reason: 'Idle', serving: false },
  ],
  [
    'one that hibernates',
    deployment({
      spec: { hibernate: true },
      status: served([condition('Serving', 'False', 'Hibernated')]),
    }),
    DEPLOYED,
    { state: 'hibernated', reason: 'Hibernated', serving: false },
  ],
  [
    'one that is deleted while it serves',
    deployment({
      metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' },
      status: served([SERVES]),
    }),
    DEPLOYED,
    { state: 'deleting', serving: true },
  ],
])('the state of %s', (_, given, latest, expected) => {
  expect(decideState(given, latest)).toMatchObject(expected);
});
