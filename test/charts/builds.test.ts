import { beforeAll, describe, expect, test } from 'vitest';
import { idOf, renderer, type KubeYaml, type Renderer } from './render.ts';

/* The namespace in which git deployments are built, and what both processes are told about it. */

const REGISTRY = 'registry.example.com/agents';

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, 1_200_000);

const rendered = (builds: object = {}, more: object = {}): Promise<KubeYaml[]> =>
  render.chart({ builds: { registry: REGISTRY, ...builds }, ...more });

async function one(id: string, objects: Promise<KubeYaml[]>): Promise<KubeYaml> {
  const all = await objects;
  const found = all.find((object) => idOf(object) === id);
  if (found === undefined) throw new Error(`${id} is not among ${all.map(idOf).join(', ')}`);
  return found;
}

async function environment(
  component: string,
  objects: Promise<KubeYaml[]>,
): Promise<Record<string, string | undefined>> {
  const { spec } = await one(`Deployment/gx-system/gx-${component}`, objects);
  return Object.fromEntries(
    (spec?.template?.spec.containers[0]?.env ?? []).map(({ name, value }) => [name, value]),
  );
}

describe('without a registry', () => {
  test('there is no namespace of builds, and both processes are told of none', async () => {
    const objects = render.chart();
    expect((await objects).map(idOf).filter((id) => id.includes('build'))).toEqual([]);
    const names = Object.keys({
      ...(await environment('operator', objects)),
      ...(await environment('control-plane', objects)),
    });
    expect(names.filter((name) => name.startsWith('GX_BUILD'))).toEqual([]);
    expect(await environment('control-plane', objects)).toMatchObject({
      GX_HOSTING: 'self-hosted',
    });
  });
});

describe('with a registry', () => {
  test('builds get a namespace of their own under the strictest profile, which stays when the release goes', async () => {
    const { metadata } = await one('Namespace/gx-builds', rendered());
    expect(metadata.labels).toMatchObject({ 'pod-security.kubernetes.io/enforce': 'restricted' });
    expect(metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
    expect((await rendered({ createNamespace: false })).map(idOf)).not.toContain(
      'Namespace/gx-builds',
    );
    expect((await rendered({ namespace: 'elsewhere' })).map(idOf)).toContain('Namespace/elsewhere');
  });

  test.each(['gx-system', 'gx-agents'])(
    '%s, where others live, is refused as their namespace',
    async (namespace) => {
      await expect(rendered({ namespace })).rejects.toThrow('builds run other people');
    },
  );

  test('credentials of git hosts are where nothing runs, and the control plane reads Secrets there and none of builds', async () => {
    const objects = rendered();
    expect((await one('Namespace/gx-git', objects)).metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'restricted',
    });
    const secretVerbs = async (id: string): Promise<string[]> =>
      ((await one(id, objects)).rules as { resources: string[]; verbs: string[] }[])
        .filter(({ resources }) => resources.includes('secrets'))
        .flatMap(({ verbs }) => verbs);
    expect(await secretVerbs('Role/gx-git/gx-control-plane-git')).toEqual([
      'get',
      'create',
      'delete',
    ]);
    expect(await secretVerbs('Role/gx-git/gx-operator-git')).toEqual(['get']);
    expect(await secretVerbs('Role/gx-builds/gx-control-plane-builds')).toEqual([]);
    expect((await rendered({ gitNamespace: 'elsewhere' })).map(idOf)).toContain(
      'Namespace/elsewhere',
    );
  });

  test.each(['gx-system', 'gx-agents', 'gx-builds'])(
    '%s, where others read Secrets, is refused for credentials of git',
    async (gitNamespace) => {
      await expect(rendered({ gitNamespace })).rejects.toThrow('builds.gitNamespace');
    },
  );

  test('hosts of git that may have private addresses are told to both processes', async () => {
    const objects = rendered(
      {},
      { controlPlane: { gitHosts: ['https://git.internal', 'https://github.com'] } },
    );
    for (const component of ['operator', 'control-plane'])
      expect(await environment(component, objects)).toMatchObject({
        GX_GIT_HOSTS: 'https://git.internal,https://github.com',
      });
  });

  test.each([
    ['registry.example.com/agents', '^registry[.]example[.]com(:0*(443|80))?/agents/'],
    ['registry.example.com:443/agents', '^registry[.]example[.]com(:0*(443|80))?/agents/'],
    ['registry:5000', '^registry:5000(:0*(443|80))?/'],
    ['index.docker.io/acme', '^(((index|registry-1)[.])?docker[.]io(:0*(443|80))?/)?acme/'],
    ['acme', '^(((index|registry-1)[.])?docker[.]io(:0*(443|80))?/)?acme/'],
  ])('images below %s are known by each of their names', async (registry, pattern) => {
    const { spec } = await one(
      'ValidatingAdmissionPolicy/gx-built-images.gx-system',
      rendered({ registry }),
    );
    const { validations } = spec as unknown as { validations: { expression: string }[] };
    expect(validations[0]?.expression).toContain(`matches("${pattern}")`);
  });

  test('their account has no token and no role', async () => {
    const objects = rendered();
    expect(await one('ServiceAccount/gx-builds/gx-build', objects)).toMatchObject({
      automountServiceAccountToken: false,
    });
    const subjects = (await objects).flatMap(
      (object) => (object.subjects ?? []) as { name: string }[],
    );
    expect(subjects.length).toBeGreaterThan(0);
    expect(subjects.filter(({ name }) => name === 'gx-build')).toEqual([]);
  });

  test('the quota holds one build more than run at a time, and a container without limits gets those of a build', async () => {
    const objects = rendered({
      atOnce: 2,
      atOnceInAll: 3,
      cpuMilli: 500,
      memoryMb: 1024,
      diskMb: 2048,
    });
    expect((await one('ResourceQuota/gx-builds/gx-builds', objects)).spec?.hard).toMatchObject({
      pods: '4',
      'limits.cpu': '4000m',
      'limits.memory': '8192Mi',
      'limits.ephemeral-storage': '12288Mi',
    });
    const limits = { cpu: '1000m', memory: '2048Mi', 'ephemeral-storage': '3072Mi' };
    const { spec } = await one('LimitRange/gx-builds/gx-builds', objects);
    expect(spec?.limits).toEqual([
      expect.objectContaining({ type: 'Container', default: limits, max: limits }),
    ]);
  });

  test('the quota has room for the proxy of private indexes beside each build', async () => {
    const objects = rendered({
      indexSecret: 'indexes',
      atOnce: 1,
      atOnceInAll: 2,
      cpuMilli: 500,
      memoryMb: 1024,
      diskMb: 2048,
    });
    expect((await one('ResourceQuota/gx-builds/gx-builds', objects)).spec?.hard).toMatchObject({
      'limits.cpu': '3600m',
      'limits.memory': '6720Mi',
      'limits.ephemeral-storage': '9408Mi',
    });
  });

  test('a build of little gets a core nevertheless', async () => {
    const { spec } = await one('LimitRange/gx-builds/gx-builds', rendered({ cpuMilli: 100 }));
    expect(spec?.limits).toEqual([
      expect.objectContaining({ max: expect.objectContaining({ cpu: '1000m' }) }),
    ]);
  });

  test('nobody reaches them, and they reach names, the world outside, and what is named', async () => {
    const reached = [
      { to: [{ ipBlock: { cidr: '10.1.2.3/32' } }], ports: [{ port: 5000, protocol: 'TCP' }] },
    ];
    const objects = rendered(
      { network: { reached } },
      { settings: { agentNetwork: { apiServer: ['192.0.2.7', '2001:db8::7'] } } },
    );
    const { spec } = await one('NetworkPolicy/gx-builds/gx-builds', objects);
    expect(spec).toMatchObject({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
    expect(spec).not.toHaveProperty('ingress');
    const rules = (spec?.egress ?? []) as {
      to: { ipBlock: { cidr: string; except: string[] } }[];
    }[];
    const [names, namesOfPods, world, ...more] = rules;
    const ports = (port: number) => ['UDP', 'TCP'].map((protocol) => ({ port, protocol }));
    expect(names).toEqual({ ports: ports(53) });
    expect(namesOfPods).toEqual({ to: [{ namespaceSelector: {} }], ports: ports(5353) });
    const [four, six] = world?.to ?? [];
    const closed = [
      '10.0.0.0/8',
      '172.16.0.0/12',
      '192.168.0.0/16',
      '169.254.0.0/16',
      '192.0.2.7/32',
    ];
    expect(four?.ipBlock).toMatchObject({
      cidr: '0.0.0.0/0',
      except: expect.arrayContaining(closed),
    });
    expect(six?.ipBlock).toEqual({
      cidr: '::/0',
      except: ['fc00::/7', 'fe80::/10', '2001:db8::7/128'],
    });
    expect(more).toEqual(reached);
  });

  test('the operator is told all of it, and the images of this version by default', async () => {
    expect(await environment('operator', rendered())).toMatchObject({
      GX_BUILD_IMAGE: 'registry.invalid/gx/gx-builder:0.1.0',
      GX_BUILD_BASE_IMAGE: 'registry.invalid/gx/gx-agent-server:0.1.0',
      GX_BUILD_PYTHON_BASE_IMAGE: 'registry.invalid/gx/gx-agent-server-python:0.1.0',
      GX_BUILD_NAMESPACE: 'gx-builds',
      GX_GIT_NAMESPACE: 'gx-git',
      GX_BUILDER_REPOSITORY: REGISTRY,
      GX_BUILDER_SERVICE_ACCOUNT: 'gx-build',
    });
    const chosen = {
      pushSecret: 'push',
      pullSecret: 'pull',
      indexSecret: 'indexes',
      insecure: true,
      caConfigMap: 'ca',
    };
    const registries = {
      npmRegistry: 'https://npm.example.com',
      pypiIndex: 'https://pypi.example.com/simple',
    };
    const sizes = {
      atOnce: 5,
      memoryMb: 4_194_304,
      cpuMilli: 2000,
      diskMb: 1000,
      deadlineSeconds: 60,
      keepSeconds: 61,
      pollSeconds: 62,
    };
    expect(
      await environment('operator', rendered({ ...chosen, ...sizes, ...registries })),
    ).toMatchObject({
      GX_BUILDER_REGISTRY_SECRET: 'push',
      GX_BUILDER_PULL_SECRET: 'pull',
      GX_BUILD_REGISTRY_INSECURE: 'true',
      GX_BUILD_INDEX_SECRET: 'indexes',
      GX_BUILD_CA_CONFIG_MAP: 'ca',
      GX_BUILD_NPM_REGISTRY: 'https://npm.example.com',
      GX_BUILD_PYPI_INDEX: 'https://pypi.example.com/simple',
      GX_BUILD_PARALLEL: '5',
      GX_BUILD_DISK_MB: '1000',
      GX_BUILDER_CPU_MILLI: '2000',
      GX_BUILDER_MEMORY_MB: '4194304',
      GX_BUILDER_DEADLINE_SECONDS: '60',
      GX_BUILDER_KEEP_SECONDS: '61',
      GX_BUILD_POLL_SECONDS: '62',
    });
  });

  test('lines of Dockerfiles run nowhere unless that is turned on', async () => {
    expect((await rendered()).map(idOf).filter((id) => id.includes('buildkit'))).toEqual([]);
    expect(
      Object.keys(await environment('operator', rendered())).filter((name) =>
        name.startsWith('GX_BUILDKIT'),
      ),
    ).toEqual([]);
  });

  test('lines of Dockerfiles run in a second namespace, with the same bounds and a policy in place of the profile', async () => {
    const objects = rendered({ buildkit: { enabled: true } });
    const namespace = 'gx-builds-buildkit';
    expect((await one(`Namespace/${namespace}`, objects)).metadata.labels).toMatchObject({
      'pod-security.kubernetes.io/enforce': 'privileged',
    });
    for (const kind of ['ResourceQuota', 'LimitRange', 'NetworkPolicy']) {
      const [there, here] = await Promise.all(
        ['gx-builds', namespace].map((each) => one(`${kind}/${each}/gx-builds`, objects)),
      );
      expect(here?.spec).toEqual(there?.spec);
    }
    expect(await one(`ServiceAccount/${namespace}/gx-build`, objects)).toMatchObject({
      automountServiceAccountToken: false,
    });
    const { spec } = await one('ValidatingAdmissionPolicy/gx-buildkit.gx-system', objects);
    expect(spec).toMatchObject({
      failurePolicy: 'Fail',
      matchConstraints: {
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
      },
    });
    expect(
      (await one('ValidatingAdmissionPolicyBinding/gx-buildkit.gx-system', objects)).spec,
    ).toMatchObject({
      validationActions: ['Deny'],
    });
    const names = {
      GX_BUILDKIT_NAMESPACE: namespace,
      GX_BUILDKIT_IMAGE: 'registry.invalid/gx/gx-buildkit:0.1.0',
    };
    expect(await environment('operator', objects)).toMatchObject(names);
    expect(await environment('control-plane', objects)).toMatchObject({
      GX_BUILDKIT_NAMESPACE: namespace,
    });
    expect((await one('ClusterRole/gx-operator-nodes.gx-system', objects)).rules).toEqual([
      { apiGroups: [''], resources: ['nodes'], verbs: ['list'] },
    ]);
  });

  test('the control plane takes both kinds of deployments, unless it is told otherwise', async () => {
    expect(await environment('control-plane', rendered())).toMatchObject({
      GX_HOSTING: 'both',
      GX_BUILD_NAMESPACE: 'gx-builds',
      GX_GIT_NAMESPACE: 'gx-git',
    });
    const cloud = rendered({}, { controlPlane: { hosting: 'cloud' } });
    expect(await environment('control-plane', cloud)).toMatchObject({ GX_HOSTING: 'cloud' });
  });

  test.each([
    ['a registry in capitals', { registry: 'Registry/x' }],
    ['a registry with a scheme', { registry: 'https://registry' }],
    ['no build at a time', { atOnce: 0 }],
    ['places that one tenant could hold', { atOnce: 3, atOnceInAll: 3 }],
    ['a block that is none', { network: { blocked: ['everything'] } }],
    ['an unknown value', { parallel: 2 }],
  ])('%s is refused', async (_situation, builds) => {
    await expect(rendered(builds)).rejects.toMatchObject({ code: 1 });
  });
});
