import { expect, test } from 'vitest';
import {
  readRouteAnswer,
  pickRouteStatus,
  listRoutePlaces,
} from '../../../src/operator/routes/stored.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';

/* The answers of controllers to routes, and the places that routes claim. */

const metadata = { name: 'chat-route', namespace: 'team', generation: 2 };
const ref = { name: 'public', namespace: 'gateways' };
type Said = {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  observedGeneration?: number;
};
const condition = ({ reason = 'Said', message = 'so', ...rest }: Said) => ({
  reason,
  message,
  ...rest,
});
const accepted = condition({ type: 'Accepted', status: 'True' });

const httpRoute = (
  parents: { parentRef: object; conditions: Said[] }[],
  parentRefs: object[] = [ref],
): KubeObject => ({
  apiVersion: 'gateway.networking.k8s.io/v1',
  kind: 'HTTPRoute',
  metadata,
  spec: {
    parentRefs,
    hostnames: ['a.example', 'b.example'],
    rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/v1' } }] }],
  },
  status: { parents },
});
const ingress = (status: object): KubeObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'Ingress',
  metadata,
  spec: { rules: [{ host: 'a.example', http: { paths: [{ path: '/v1' }, { path: '/v2' }] } }] },
  status,
});
const whole = { ...ref, group: 'gateway.networking.k8s.io', kind: 'Gateway' };

test.each([
  ['nobody has answered', [], { status: 'Unknown', reason: 'NotAnswered', isReached: false }],
  [
    'its parent accepts',
    [{ parentRef: whole, conditions: [accepted] }],
    { status: 'True', reason: 'Accepted', isReached: true },
  ],
  [
    'another parent accepts',
    [{ parentRef: { ...ref, sectionName: 'other' }, conditions: [accepted] }],
    { status: 'Unknown', reason: 'NotAnswered' },
  ],
  [
    'its parent refuses',
    [
      {
        parentRef: ref,
        conditions: [
          condition({ type: 'Accepted', status: 'False', reason: 'NotAllowedByListeners' }),
        ],
      },
    ],
    {
      status: 'False',
      reason: 'NotAllowedByListeners',
      message: 'Gateway gateways/public answers Accepted False: so',
      isReached: false,
    },
  ],
  [
    'the Service is not found',
    [
      {
        parentRef: ref,
        conditions: [
          accepted,
          condition({ type: 'ResolvedRefs', status: 'False', reason: 'BackendNotFound' }),
        ],
      },
    ],
    { status: 'False', reason: 'BackendNotFound', isReached: false },
  ],
  [
    'the answer is to an earlier form',
    [{ parentRef: ref, conditions: [{ ...accepted, observedGeneration: 1 }] }],
    { status: 'Unknown', reason: 'NotAnswered', isReached: false },
  ],
])('an HTTPRoute, where %s', (_, parents, answer) => {
  expect(readRouteAnswer(httpRoute(parents))).toMatchObject(answer);
});

test('of two parents one refuses: that is told, and the other leads callers to it', () => {
  const other = { name: 'inner', namespace: 'gateways' };
  const refused = condition({
    type: 'Accepted',
    status: 'False',
    reason: 'NoMatchingListenerHostname',
  });
  const parents = [
    { parentRef: ref, conditions: [accepted] },
    { parentRef: other, conditions: [refused] },
  ];
  expect(readRouteAnswer(httpRoute(parents, [ref, other]))).toMatchObject({
    reason: 'NoMatchingListenerHostname',
    isReached: true,
  });
});

test('an Ingress is routed once it has an address', () => {
  expect(readRouteAnswer(ingress({}))).toMatchObject({
    status: 'Unknown',
    reason: 'NoAddressYet',
    isReached: false,
  });
  const addressed = ingress({ loadBalancer: { ingress: [{ ip: '192.0.2.1' }] } });
  expect(readRouteAnswer(addressed)).toMatchObject({
    status: 'True',
    reason: 'HasAddress',
    isReached: true,
  });
});

test('a route claims each of its hosts with each of its paths', () => {
  expect(listRoutePlaces(httpRoute([]))).toEqual(['a.example/v1', 'b.example/v1']);
  expect(listRoutePlaces(ingress({}))).toEqual(['a.example/v1', 'a.example/v2']);
});

test('times and other conditions of an answer are not read', () => {
  const parts = (time: string, type = 'Programmed') =>
    pickRouteStatus(
      httpRoute([
        {
          parentRef: ref,
          conditions: [
            { ...accepted, lastTransitionTime: time } as Said,
            condition({ type, status: time }),
          ],
        },
      ]),
    );
  expect(parts('a')).toEqual(parts('b'));
  expect(pickRouteStatus(httpRoute([{ parentRef: ref, conditions: [accepted] }]))).not.toEqual(
    pickRouteStatus(httpRoute([])),
  );
});
