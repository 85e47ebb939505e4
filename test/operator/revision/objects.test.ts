import { expect, test } from 'vitest';
import { buildAgentService } from '../../../src/operator/deployment/parts/service.ts';
import { buildUserContainer } from '../../../src/operator/revision/objects/containers.ts';
import {
  buildWorkload,
  buildAgentPodSpec,
} from '../../../src/operator/revision/objects/workload.ts';
import { deployment, revision, settings } from '../../kit/objects.ts';

const contextOf = (securityContext?: object): object =>
  (
    buildUserContainer(
      { name: 's', image: 'i', ...(securityContext && { securityContext }) },
      settings(),
    ) as { securityContext: object }
  ).securityContext;

test('what a container leaves open in its security context is restricted', () => {
  const restricted = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
  expect(contextOf()).toEqual(restricted);
  expect(contextOf({})).toEqual(restricted);
  expect(contextOf({ runAsUser: 1000 })).toEqual({ ...restricted, runAsUser: 1000 });
  expect(contextOf({ capabilities: { add: ['NET_BIND_SERVICE'] } })).toEqual({
    allowPrivilegeEscalation: false,
    capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
  });
});

test('what a container asks for stays for the namespace to decide about', () => {
  expect(contextOf({ privileged: true })).toEqual({
    privileged: true,
    capabilities: { drop: ['ALL'] },
  });
});

test('where every image is pulled, no container of a pod takes one that lies on the node', () => {
  const own = { name: 'own', image: 'i', imagePullPolicy: 'Never' } as const;
  const kept = {
    name: 'kept',
    image: 'i',
    imagePullPolicy: 'IfNotPresent',
    restartPolicy: 'Always',
  } as const;
  const asked = revision(
    deployment({
      template: {
        resourceSpec: { initContainers: [own], sidecars: [{ ...own, name: 'side' }, kept] },
      },
    }),
  );
  const wish = {
    component: 'api',
    replicas: 1,
    secretName: undefined,
    connections: 10,
    deploymentId: 'd',
    image: 'i',
  } as const;
  const policies = (imagePullPolicy: 'Always' | 'IfNotPresent') => {
    const { initContainers, containers } = buildAgentPodSpec(
      asked,
      { ...wish, address: { secretName: 's', key: 'uri', state: 'x' } as never },
      { ...settings(), imagePullPolicy },
    ) as PodContainers;
    return Object.fromEntries(
      [...initContainers, ...containers].map((each) => [each.name, each.imagePullPolicy]),
    );
  };
  expect(policies('Always')).toEqual({
    own: 'Always',
    kept: 'Always',
    agent: 'Always',
    side: 'Always',
  });
  expect(policies('IfNotPresent')).toEqual({
    own: 'Never',
    kept: 'IfNotPresent',
    agent: 'IfNotPresent',
    side: 'Never',
  });
});

type PodContainers = Record<
  'initContainers' | 'containers',
  { name: string; imagePullPolicy: string }[]
>;

test('agents are told the proxies whose word counts, if there are any', () => {
  const wish = {
    component: 'api',
    replicas: 1,
    secretName: undefined,
    connections: 10,
    deploymentId: 'd',
    image: 'i',
  } as const;
  const toldWith = (trustedProxies: string[]): object[] => {
    const address = { secretName: 's', key: 'uri', state: 'x' } as never;
    const pod = buildAgentPodSpec(
      revision(deployment()),
      { ...wish, address },
      { ...settings(), trustedProxies },
    );
    const [agent] = (pod as { containers: { env: { name: string }[] }[] }).containers;
    return agent!.env.filter(({ name }) => name === 'GX_TRUSTED_PROXIES');
  };
  expect(toldWith([])).toEqual([]);
  expect(toldWith(['10.0.0.0/8', 'fd00::7'])).toEqual([
    { name: 'GX_TRUSTED_PROXIES', value: '10.0.0.0/8,fd00::7' },
  ]);
});

test('labels and annotations of users that something may obey go to the pods of agents alone', () => {
  const words = {
    labels: { 'mesh.example/team': 'blue' },
    annotations: { 'external-dns.alpha.kubernetes.io/hostname': 'bank.example' },
  };
  const asked = deployment({ template: { resourceSpec: words } });
  expect(
    JSON.stringify(buildAgentService(asked, settings(), { active: 'chat-00001' })),
  ).not.toMatch(/blue|bank/);
  const wish = {
    component: 'api',
    replicas: 1,
    secretName: undefined,
    connections: 10,
    deploymentId: 'd',
    image: 'i',
  } as const;
  const { metadata, spec } = buildWorkload(
    revision(asked),
    { ...wish, address: { secretName: 's', key: 'uri', state: 'x' } as never },
    settings(),
  );
  expect(JSON.stringify(metadata)).not.toMatch(/blue|bank/);
  expect((spec as { template: object }).template).toMatchObject({ metadata: words });
});
