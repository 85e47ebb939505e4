import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../src/kube/kinds.ts';
import type { Kind, Kube, KubeObject, ListOptions } from '../../src/kube/kube.ts';
import { newDeployment } from '../kit/objects.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/* The policy of a deployment's agents, on a real API server. */
let stage: Stage;
let kube: Kube;
let namespace: string;

beforeAll(async () => {
  stage = await openStage('network');
  ({ kube, namespace } = stage);
  await kube.create(kinds.endpointSlice, slice('192.0.2.1'));
  stage.startKubelet();
  await stage.startOperator({ through: whereTheSliceIs });
});
afterAll(() => stage.stop());

/** The slice that says where the API server is, in the namespace of the test, where no other operator reads it. */
const slice = (address: string): KubeObject => ({
  apiVersion: 'discovery.k8s.io/v1',
  kind: 'EndpointSlice',
  metadata: { name: 'kubernetes', namespace },
  addressType: 'IPv4',
  endpoints: [{ addresses: [address] }],
  ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
});

const whereTheSliceIs = (door: Kube): Kube => {
  const there = <T extends ListOptions>(kind: Kind, options: T): T =>
    kind === kinds.endpointSlice ? { ...options, namespace } : options;
  return new Proxy(door, {
    get(target, name) {
      if (name === 'buildFenced') return undefined;
      if (name === 'list')
        return (kind: Kind, options: ListOptions = {}, signal?: AbortSignal) =>
          target.list(kind, there(kind, options), signal);
      if (name === 'watch')
        return (kind: Kind, options: Parameters<Kube['watch']>[1], signal: AbortSignal) =>
          target.watch(kind, there(kind, options), signal);
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
};

const policyOf = (name: string): Promise<KubeObject | undefined> =>
  kube.find(kinds.networkPolicy, { namespace, name: `${name}-agent` });

test('agents are kept from the API server, wherever it moves to, and a deployment that opens its network makes no revision', async () => {
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name: 'chat' } }));
  const policy = await until('it has a policy', () => policyOf('chat'));
  expect(JSON.stringify(policy.spec)).toContain('"except":["169.254.0.0/16","192.0.2.1/32"]');
  await kube.apply(kinds.endpointSlice, slice('192.0.2.2'));
  await until('the policy follows', async () =>
    JSON.stringify((await policyOf('chat'))?.spec).includes('"192.0.2.2/32"'),
  );
  const ref = { namespace, name: 'chat' };
  const open = { ingress: 'Open', egress: 'Open' };
  await kube.patchJson(kinds.deployment, ref, [{ op: 'add', path: '/spec/network', value: open }]);
  await until('the policy is gone', async () => (await policyOf('chat')) === undefined);
  await kube.patchJson(kinds.deployment, ref, [
    { op: 'replace', path: '/spec/network', value: { ingress: 'Open' } },
  ]);
  const again = await until('there is one again', () => policyOf('chat'));
  expect(again.spec).toMatchObject({ policyTypes: ['Egress'] });
  await until(
    'it is ready',
    async () => (await stage.see.deployment('chat')).status?.phase === 'READY',
  );
  const revisions = await kube.listAll(kinds.revision, { namespace });
  expect(revisions.map(({ metadata }) => metadata.name)).toEqual(['chat-00001']);
});

test('a direction that is none is refused, with the name of the field', async () => {
  const given = newDeployment(namespace, {
    metadata: { name: 'odd' },
    spec: { network: { ingress: 'Everybody' as 'Open' } },
  });
  await expect(kube.create(kinds.deployment, given)).rejects.toThrow(
    /spec.network.ingress: Unsupported value: "Everybody"/,
  );
});
