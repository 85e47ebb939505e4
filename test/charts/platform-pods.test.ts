import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import { idOf, renderer, type KubeYaml, type PodSpec, type Renderer } from './render.ts';

/* What an administrator may say about the pods of the platform, and about the names and labels of all objects. */

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, 1_200_000);

const SECTIONS = {
  operator: 'gx-operator',
  controlPlane: 'gx-control-plane',
  gateway: 'gx-gateway',
  console: 'gx-console',
};

type Template = { metadata: { labels: Record<string, string> }; spec: PodSpec };
function template(objects: KubeYaml[], name: string): Template {
  const found = objects.find((object) => idOf(object) === `Deployment/gx-system/${name}`);
  if (found === undefined) throw new Error(`${name} is not among ${objects.map(idOf).join(', ')}`);
  return found.spec?.template as Template;
}
const pods = (objects: KubeYaml[]): PodSpec[] =>
  Object.values(SECTIONS).map((name) => template(objects, name).spec);
const budgets = (objects: KubeYaml[]): string[] =>
  objects.filter(({ kind }) => kind === 'PodDisruptionBudget').map(({ metadata }) => metadata.name);

/** The Secrets that a process reads from its volumes. */
const SECRETS: Record<string, { name: string; mountPath: string }[]> = {
  console: [{ name: 'session', mountPath: '/etc/gx/session' }],
  controlPlane: [{ name: 'console', mountPath: '/etc/gx/console' }],
};

test('Services of the namespace put no variables into any pod of the platform', async () => {
  const values = { builds: { registry: 'registry.example/agents' } };
  const objects = [...(await render.chart(values)), ...(await render.tests(values))];
  const specs = objects.flatMap(({ kind, spec }) =>
    kind === 'Pod'
      ? [spec as PodSpec]
      : ['Deployment', 'Job', 'StatefulSet'].includes(kind)
        ? [(spec as { template: Template }).template.spec]
        : [],
  );
  expect(specs.length).toBeGreaterThanOrEqual(4);
  for (const spec of specs) expect(spec).toMatchObject({ enableServiceLinks: false });
});

test('the gateway starts as its image does, with a smaller heap', async () => {
  const { command = [] } = template(await render.chart({}), 'gx-gateway').spec.containers[0]!;
  const [, entry = '[]'] =
    /^FROM cluster-app AS gx-platform$[^]*?^ENTRYPOINT (.+)$/m.exec(
      readFileSync('Dockerfile', 'utf8'),
    ) ?? [];
  const isHeap = (word: string): boolean => word.startsWith('--max-old-space-size-percentage=');
  expect(command.filter((word) => !isHeap(word))).toEqual(JSON.parse(entry));
  expect(command.some(isHeap)).toBe(true);
});

describe.each(Object.entries(SECTIONS))('%s', (section, name) => {
  const labelSelector = {
    matchLabels: {
      'app.kubernetes.io/name': 'gx-platform',
      'app.kubernetes.io/instance': 'gx',
      'app.kubernetes.io/component': name.slice('gx-'.length),
    },
  };
  const spreadWith = async (values: object): Promise<unknown> =>
    template(await render.chart({ [section]: values }), name).spec.topologySpreadConstraints;

  test('with several pods, they are spread over nodes and zones, and drains take one at a time', async () => {
    const objects = await render.chart({ [section]: { replicas: 2 } });
    const { topologySpreadConstraints } = template(objects, name).spec;
    const usual = { maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway', labelSelector };
    const places = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'];
    expect(topologySpreadConstraints).toEqual(
      places.map((topologyKey) => ({ ...usual, topologyKey })),
    );
    expect(budgets(objects)).toContain(name);
  });

  test('a single pod has neither, and both may be turned off or chosen', async () => {
    expect(await spreadWith({ replicas: 1 })).toBeUndefined();
    expect(await spreadWith({ replicas: 2, topologySpreadConstraints: [] })).toBeUndefined();
    const own = { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' };
    expect(await spreadWith({ replicas: 1, topologySpreadConstraints: [own] })).toEqual([
      { ...own, labelSelector },
    ]);
    expect(budgets(await render.chart({ [section]: { replicas: 1 } }))).not.toContain(name);
    expect(
      budgets(await render.chart({ [section]: { replicas: 2, podDisruptionBudget: false } })),
    ).not.toContain(name);
    expect(
      budgets(await render.chart({ [section]: { replicas: 1, podDisruptionBudget: true } })),
    ).toContain(name);
  });

  test('its pods have further variables, volumes and a runtime class', async () => {
    const values = {
      runtimeClassName: 'gvisor',
      extraEnv: [
        { name: 'HTTPS_PROXY', valueFrom: { secretKeyRef: { name: 'proxy', key: 'url' } } },
      ],
      extraVolumes: [{ name: 'extra', configMap: { name: 'extra' } }],
      extraVolumeMounts: [{ name: 'extra', mountPath: '/extra' }],
    };
    const { spec } = template(await render.chart({ [section]: values }), name);
    const own = [
      { name: 'tmp', mountPath: '/tmp' },
      ...(SECRETS[section] ?? []).map((secret) => ({ ...secret, readOnly: true })),
    ];
    const volumes = [...own.map(({ name: volume }) => ({ name: volume })), ...values.extraVolumes];
    expect(spec).toMatchObject({ runtimeClassName: 'gvisor', volumes });
    expect(spec.containers[0]?.env).toContainEqual(values.extraEnv[0]);
    expect(spec.containers[0]?.volumeMounts).toEqual([...own, ...values.extraVolumeMounts]);
  });

  test.each([
    [
      'extraEnv',
      { extraEnv: [{ name: 'GX_LOG_LEVEL', value: 'debug' }] },
      `${section}.extraEnv: GX_LOG_LEVEL is set by the chart`,
    ],
    [
      'podLabels',
      { podLabels: { 'app.kubernetes.io/name': 'x' } },
      `${section}.podLabels: app.kubernetes.io/name is a label of the chart`,
    ],
  ])('%s that the chart sets itself are refused', async (_value, values, sentence) => {
    await expect(render.chart({ [section]: values })).rejects.toThrow(sentence);
  });
});

describe('users and groups', () => {
  const users = async (values: object, apis: string[] = []) =>
    pods(await render.chart(values, apis)).map(({ securityContext }) => [
      securityContext?.runAsUser,
      securityContext?.runAsGroup,
    ]);
  const fixed = Array.from({ length: 4 }, () => [10001, 10001]);
  const free = Array.from({ length: 4 }, () => [undefined, undefined]);
  const openShift = ['security.openshift.io/v1'];

  test('are fixed, but on OpenShift, where each namespace has its own', async () => {
    expect(await users({})).toEqual(fixed);
    expect(await users({}, openShift)).toEqual(free);
  });

  test('of what the operator makes follow', async () => {
    const fixedIds = async (values: object, apis: string[] = []) => {
      const { env = [] } =
        template(await render.chart(values, apis), 'gx-operator').spec.containers[0] ?? {};
      return readOperatorConfig(Object.fromEntries(env.map(({ name, value }) => [name, value])))
        .settings.fixedIds;
    };
    expect(await fixedIds({})).toBe(true);
    expect(await fixedIds({}, openShift)).toBe(false);
    expect(await fixedIds({ fixedIds: 'never' })).toBe(false);
    expect(await fixedIds({ fixedIds: 'always' }, openShift)).toBe(true);
  });

  test('are as the values say', async () => {
    expect(await users({ fixedIds: 'never' })).toEqual(free);
    expect(await users({ fixedIds: 'always' }, openShift)).toEqual(fixed);
    for (const { securityContext } of pods(await render.chart({ fixedIds: 'never' })))
      expect(securityContext?.runAsNonRoot).toBe(true);
  });
});

describe('names and labels of all', () => {
  const WHOLE = {
    networkPolicy: { enabled: true },
    builds: { registry: 'registry.example.com', buildkit: { enabled: true } },
  };

  test.each([
    [{ nameOverride: 'ai' }, 'gx-ai'],
    [{ fullnameOverride: 'agents' }, 'agents'],
    [{ nameOverride: 'ai', fullnameOverride: 'agents' }, 'agents'],
  ])(
    '%j changes the beginning of every name, and nothing keeps the former one',
    async (values, prefix) => {
      const named = await render.chart({ ...WHOLE, ...values });
      const ofNobody = ['CustomResourceDefinition', 'Listener'];
      const own = named.filter(
        ({ kind, metadata: { namespace = 'gx-system' } }) =>
          namespace === 'gx-system' && !ofNobody.includes(kind),
      );
      expect(own.length).toBeGreaterThan(20);
      expect(own.map(idOf).filter((id) => !id.split('/').at(-1)!.startsWith(`${prefix}-`))).toEqual(
        ['Namespace/gx-agents'],
      );
      const accounts = named.flatMap(({ subjects }) =>
        ((subjects ?? []) as { name: string }[]).map(({ name }) => name),
      );
      expect(accounts.length).toBeGreaterThan(5);
      expect(accounts.filter((name) => !name.startsWith(`${prefix}-`))).toEqual([]);
    },
  );

  test('a name that leaves no room for those of namespaces is refused', async () => {
    await expect(render.chart({ fullnameOverride: 'a'.repeat(48) })).rejects.toThrow(
      'longer than 47 characters',
    );
    expect((await render.chart({ fullnameOverride: 'a'.repeat(47) })).length).toBeGreaterThan(10);
  });

  test('common labels are those of every object but the definitions, and of the pods', async () => {
    const objects = await render.chart({ ...WHOLE, commonLabels: { team: 'ai' } });
    const without = objects.filter(
      ({ kind, metadata }) => kind !== 'CustomResourceDefinition' && metadata.labels?.team !== 'ai',
    );
    expect(without.map(idOf)).toEqual([]);
    for (const name of Object.values(SECTIONS))
      expect(template(objects, name).metadata.labels).toMatchObject({ team: 'ai' });
  });

  test.each(['app.kubernetes.io/part-of', 'gx.dev/tenant', 'pod-security.kubernetes.io/enforce'])(
    '%s is refused as one',
    async (key) => {
      await expect(render.chart({ commonLabels: { [key]: 'x' } })).rejects.toThrow(
        `commonLabels: ${key} is a label of the chart`,
      );
    },
  );
});
