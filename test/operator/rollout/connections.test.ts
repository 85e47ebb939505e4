import { expect, test } from 'vitest';
import {
  resolveConnections,
  countConnectionsPerPod,
} from '../../../src/operator/rollout/connections.ts';
import type { DeploymentSpec } from '../../../src/schema/platform/resources/custom-resources.ts';
import { deployment, settings } from '../../kit/objects.ts';

type ResourceSpec = NonNullable<DeploymentSpec['template']['resourceSpec']>;

/* The small profile: one replica of each, 100 connections. */
function of(resourceSpec: ResourceSpec) {
  const asking = deployment({ template: { resourceSpec } });
  const asked = resolveConnections(asking, settings());
  return {
    ...asked,
    perPod: countConnectionsPerPod(asking, settings(), { max: asked.max, keepsWork: false }),
  };
}

test.each<[string, ResourceSpec, { max: number; perPod: number }]>([
  ['two pods, and two while they are switched: (100 - 10) / 4', {}, { max: 100, perPod: 22 }],
  [
    'three api and one queue pod: (100 - 10) / 8',
    { minScale: 3, queueMinScale: 1 },
    { max: 100, perPod: 11 },
  ],
  [
    'pods that others may add count: (100 - 10) / (2 * (1 + 3))',
    { maxScale: 3, queueMaxScale: 1 },
    { max: 100, perPod: 11 },
  ],
  ['no more than a server uses', { dbMaxConnections: 1000 }, { max: 1000, perPod: 44 }],
  ['a number that is given: (30 - 10) / 4', { dbMaxConnections: 30 }, { max: 30, perPod: 5 }],
  [
    'one that is not given grows with the pods: 10 + 2 * 40 * 5',
    { minScale: 20 },
    { max: 410, perPod: 5 },
  ],
  ['no pods at all', { minScale: 0 }, { max: 100, perPod: 44 }],
])('connections of a pod: %s', (_, spec, expected) => {
  expect(of(spec)).toEqual(expected);
});

test.each<[string, ResourceSpec, RegExp]>([
  [
    'too few for two pods',
    { dbMaxConnections: 29 },
    /^template.resourceSpec.dbMaxConnections: 29 connections are too few for 2 pods.* need 30;/,
  ],
  [
    'too few for many',
    { dbMaxConnections: 100, minScale: 10 },
    /100 connections are too few for 20 pods.* need 210;/,
  ],
  [
    'more pods than any database takes',
    { minScale: 1000, queueMinScale: 1000 },
    /10000 connections are too few for 2000 pods/,
  ],
])('pods that do not fit: %s', (_, spec, sentence) => {
  expect(of(spec).problem).toMatch(sentence);
});

test('whatever is asked for, two generations of pods stay below what the database takes', () => {
  for (let most = 20; most <= 2000; most += 37) {
    for (const pods of [1, 2, 3, 7, 16]) {
      const { max, perPod, problem } = of({
        dbMaxConnections: most,
        minScale: pods,
        queueMinScale: 0,
      });
      expect(problem !== undefined || 2 * pods * perPod <= max - 10).toBe(true);
    }
  }
});
