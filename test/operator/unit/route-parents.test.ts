import { expect, test } from 'vitest';
import type { ParentRef } from '../../../src/config/platform/routes.ts';
import { Forbidden, Unavailable } from '../../../src/errors.ts';
import type { Kube } from '../../../src/kube/kube.ts';
import { RouteParents } from '../../../src/operator/view/route-parents.ts';
import { buildStandIn } from '../../kit/stand-in.ts';
import { silentLog } from '../../kit/log.ts';

/* What the operator knows about the Gateways that routes are attached to. */

const PUBLIC = { name: 'public', namespace: 'gateways' };
const signal = new AbortController().signal;
const gateway = (gatewayClassName: string): object => ({ spec: { gatewayClassName } });
const withFeatures = (...names: unknown[]): object => ({ status: { supportedFeatures: names } });

type Answers = Record<string, object | Error>;
function parentsOf(answers: Answers, parents: ParentRef[] = [PUBLIC]) {
  let changes = 0;
  const find = async (
    { kind }: { kind: string },
    { namespace, name }: { namespace?: string; name: string },
  ): Promise<unknown> => {
    const answer = answers[[kind, namespace, name].filter(Boolean).join('/')];
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const known = new RouteParents({
    kube: buildStandIn({ find: find as Kube['find'] }),
    parents,
    changed: () => (changes += 1),
    log: silentLog(),
  });
  return { known, changes: () => changes };
}

const ENVOY = {
  'Gateway/gateways/public': gateway('envoy'),
  'GatewayClass/envoy': withFeatures({ name: 'A' }, { name: 'B' }),
};

test('features are those of the class, as they are written today or were before', async () => {
  const { known, changes } = parentsOf({
    ...ENVOY,
    'GatewayClass/envoy': withFeatures({ name: 'A' }, 'B'),
  });
  await known.look(signal);
  await known.look(signal);
  expect([[...(known.features ?? [])], changes()]).toEqual([['A', 'B'], 1]);
});

test('features of several parents count together', async () => {
  const others = {
    'Gateway/other/inner': gateway('own'),
    'GatewayClass/own': withFeatures({ name: 'C' }),
  };
  const { known } = parentsOf({ ...ENVOY, ...others }, [
    PUBLIC,
    { name: 'inner', namespace: 'other' },
  ]);
  await known.look(signal);
  expect([...(known.features ?? [])]).toEqual(['A', 'B', 'C']);
});

test.each<[string, Answers, ParentRef[]?]>([
  ['there is no such Gateway', {}],
  ['there is no such class', { 'Gateway/gateways/public': gateway('envoy') }],
  ['the class does not say', { ...ENVOY, 'GatewayClass/envoy': { status: {} } }],
  ['the operator may not read Gateways', { 'Gateway/gateways/public': new Forbidden('no') }],
  ['the operator may not read classes', { ...ENVOY, 'GatewayClass/envoy': new Forbidden('no') }],
  ['one of two parents is unknown', ENVOY, [PUBLIC, { name: 'gone', namespace: 'gateways' }]],
  ['each namespace has another parent', ENVOY, [{ name: 'public' }]],
  ['a parent is no Gateway', ENVOY, [{ ...PUBLIC, kind: 'Service' }]],
])('features are unknown if %s', async (_, answers, parents) => {
  const { known, changes } = parentsOf(answers, parents);
  await known.look(signal);
  expect([known.features, changes()]).toEqual([undefined, 0]);
});

test('a class that gets another feature wakes the deployments, and one that can not be read changes nothing', async () => {
  const answers: Answers = { ...ENVOY };
  const { known, changes } = parentsOf(answers);
  await known.look(signal);
  answers['GatewayClass/envoy'] = new Unavailable('later');
  await known.look(signal);
  expect([known.features?.size, changes()]).toEqual([2, 1]);
  answers['GatewayClass/envoy'] = withFeatures({ name: 'A' });
  await known.look(signal);
  expect([known.features?.size, changes()]).toEqual([1, 2]);
});
