import { readFileSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readAgentConfig } from '../../src/config/agent/agent.ts';
import { readControlPlaneConfig } from '../../src/config/platform/control-plane.ts';
import { readGatewayConfig } from '../../src/config/platform/gateway.ts';
import { readOperatorConfig } from '../../src/config/platform/operator.ts';
import { KINDS } from '../../src/schema/platform/resources/custom-kinds.ts';
import { idOf, renderer, type KubeYaml, type PodSpec, type Renderer } from './render.ts';

const BUILD = 1_200_000;

let render: Renderer;
beforeAll(async () => {
  render = await renderer();
}, BUILD);

const podsOf = (objects: KubeYaml[]): PodSpec[] =>
  objects.flatMap(({ spec }) => spec?.template?.spec ?? []);
const find = (objects: KubeYaml[], id: string): KubeYaml => {
  const found = objects.find((object) => idOf(object) === id);
  if (found === undefined) throw new Error(`${id} is not among ${objects.map(idOf).join(', ')}`);
  return found;
};
const ofKind = (objects: KubeYaml[], kind: string): KubeYaml[] =>
  objects.filter((object) => object.kind === kind);
const envOf = (objects: KubeYaml[], name: string): Record<string, string> => {
  const container = podsOf([find(objects, `Deployment/gx-system/gx-${name}`)])[0]?.containers[0];
  return Object.fromEntries(
    (container?.env ?? []).flatMap(({ name: key, value }) =>
      value === undefined ? [] : [[key, value]],
    ),
  );
};

/** Everything is switched on, so that templates that need these values are rendered too. */
const WHOLE = {
  networkPolicy: { enabled: true },
  images: { registry: 'registry.internal', pullSecrets: ['registry'] },
  operator: {
    podDisruptionBudget: true,
    replicas: 2,
    podLabels: { team: 'a' },
    nodeSelector: { disk: 'ssd' },
    tolerations: [{ operator: 'Exists' }],
  },
  controlPlane: {
    podDisruptionBudget: true,
    replicas: 2,
    podAnnotations: { note: 'a' },
    affinity: { nodeAffinity: {} },
    priorityClassName: 'high',
  },
};

describe('values', () => {
  test.each([
    ['an unknown value', { replicas: 2 }],
    ['an unknown value inside', { operator: { replica: 2 } }],
    ['an unknown grant', { controlPlane: { allow: ['everything'] } }],
    ['a word that is not one of the choices', { settings: { exposeAs: 'Ingress' } }],
    ['text for a number', { operator: { workers: 'ten' } }],
    ['a namespace that is none', { watchNamespaces: ['Agents'] }],
    ['no pod of a type that has some', { settings: { prodReplicas: 0 } }],
    ['a tenant that is no uuid', { settings: { defaultTenantId: 'me' } }],
    ['a Listener of namespaces that are not watched', { watchNamespaces: ['other'] }],
    [
      'an issuer of a certificate without a Secret for it',
      { controlPlane: { tls: { certManager: { issuer: 'x' } } } },
    ],
    ['all namespaces and some', { watchAllNamespaces: true, watchNamespaces: ['gx-agents'] }],
  ])('%s is refused', async (_situation, values) => {
    await expect(render.chart(values)).rejects.toMatchObject({ code: 1 });
  });

  test('every value has a place in the schema, with a description', () => {
    const values = parse(readFileSync('charts/gx-platform/values.yaml', 'utf8')) as Values;
    const schema = JSON.parse(
      readFileSync('charts/gx-platform/values.schema.json', 'utf8'),
    ) as ValueSchema;
    expect(undescribed(values, schema, '')).toEqual([]);
  });
});

type Values = { [name: string]: unknown };
type ValueSchema = {
  description?: string;
  properties?: Record<string, ValueSchema>;
  $ref?: string;
};

function undescribed(values: Values, schema: ValueSchema, path: string): string[] {
  return Object.entries(values).flatMap(([name, value]) => {
    const place = schema.properties?.[name];
    if (place === undefined) return [`${path}${name}`];
    if (place.$ref !== undefined) return [];
    if (place.properties !== undefined)
      return undescribed(value as Values, place, `${path}${name}.`);
    return place.description === undefined ? [`${path}${name}`] : [];
  });
}

describe.each([
  ['default values', {}],
  ['everything on', WHOLE],
])('pods with %s', (_name, values) => {
  test('pass the restricted pod security standard', async () => {
    const pods = podsOf(await render.chart(values));
    expect(pods).toHaveLength(4);
    for (const pod of pods) {
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 10001,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect([pod.hostNetwork, pod.hostPID, pod.hostIPC]).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      for (const container of pod.containers)
        expect(container.securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      const secrets = (pod.volumes as object[]).filter((volume) => !('emptyDir' in volume));
      expect(secrets).toHaveLength(
        ['gx-console', 'gx-control-plane'].includes(pod.serviceAccountName ?? '') ? 1 : 0,
      );
    }
  });

  test('have probes, requests and a memory limit', async () => {
    for (const { containers } of podsOf(await render.chart(values))) {
      expect(containers[0]).toMatchObject({
        livenessProbe: {
          httpGet: { path: '/healthz', port: expect.stringMatching(/^(http|health)$/) as string },
        },
        readinessProbe: {
          httpGet: { path: '/readyz', port: expect.stringMatching(/^(http|health)$/) as string },
        },
        resources: {
          requests: { cpu: expect.any(String), memory: expect.any(String) },
          limits: { memory: expect.any(String) },
        },
      });
    }
  });
});

/** The section of each process in the values, and the name of its objects. */
const PROCESSES = {
  operator: 'gx-operator',
  controlPlane: 'gx-control-plane',
  gateway: 'gx-gateway',
  console: 'gx-console',
};

test.each(Object.entries(PROCESSES))(
  'the pods of %s stand where they are put, and carry what they are given',
  async (section, name) => {
    const placement = {
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ operator: 'Exists' }],
      affinity: { nodeAffinity: {} },
      priorityClassName: 'high',
    };
    const values = {
      ...placement,
      replicas: 3,
      podDisruptionBudget: true,
      logLevel: 'warn',
      podAnnotations: { note: 'a' },
      podLabels: { team: 'a' },
      serviceAccount: { annotations: { role: 'cloud' } },
      resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { memory: '2Gi' } },
    };
    const objects = await render.chart({ [section]: values });
    const { spec } = find(objects, `Deployment/gx-system/${name}`);
    expect(spec).toMatchObject({
      replicas: 3,
      template: {
        metadata: { annotations: { note: 'a' }, labels: { team: 'a' } },
        spec: { ...placement, containers: [{ resources: values.resources }] },
      },
    });
    expect(envOf(objects, name.slice('gx-'.length))).toMatchObject({ GX_LOG_LEVEL: 'warn' });
    expect(find(objects, `ServiceAccount/gx-system/${name}`).metadata.annotations).toEqual({
      role: 'cloud',
    });
    expect(find(objects, `PodDisruptionBudget/gx-system/${name}`).spec).toMatchObject({
      maxUnavailable: 1,
    });
  },
);

describe('rights', () => {
  const roles = (objects: KubeYaml[]) =>
    objects.filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole');

  test.each([
    ['all namespaces', { watchAllNamespaces: true }],
    ['those of agents, as by default', {}],
    ['some namespaces', { watchNamespaces: ['gx-agents', 'more'] }],
  ])(
    'watching %s, no rule has a wildcard, or a right over rights, nodes or namespaces but to read one by its name',
    async (_mode, values) => {
      const rules = roles(await render.chart(values)).flatMap((role) => role.rules ?? []);
      expect(rules.length).toBeGreaterThan(10);
      const ofNamespaces = rules.filter(({ resources }) => resources.includes('namespaces'));
      expect(new Set(ofNamespaces.flatMap(({ verbs }) => verbs))).toEqual(new Set(['get']));
      const words = rules.flatMap(({ apiGroups, resources, verbs }) => [
        ...apiGroups,
        ...resources,
        ...verbs,
      ]);
      expect(words).not.toContain('*');
      const dangerous =
        /^(roles|rolebindings|clusterroles|clusterrolebindings|nodes|serviceaccounts\/token|pods\/exec|customresourcedefinitions)$/;
      expect(
        words.filter(
          (word) => dangerous.test(word) || ['escalate', 'bind', 'impersonate'].includes(word),
        ),
      ).toEqual([]);
    },
  );

  test('by default there are Roles alone, in the namespaces of agents and the own one, and for one object of the namespace default', async () => {
    const objects = await render.chart({ agents: { namespaces: ['a', 'b'] } });
    const granted = objects.filter(({ kind }) => kind.endsWith('Role')).map(idOf);
    const expected = ['a', 'b'].flatMap((namespace) => [
      `Role/${namespace}/gx-control-plane-watched`,
      `Role/${namespace}/gx-gateway-watched`,
      `Role/${namespace}/gx-operator-watched`,
    ]);
    const platform = ['api-key', 'control-plane', 'gateway', 'operator'].map(
      (component) => `Role/gx-system/gx-${component}`,
    );
    const own = ['Role/default/gx-operator-api-server.gx-system', ...platform];
    expect(granted.toSorted()).toEqual([...expected, ...own]);
    expect(envOf(objects, 'operator')).toMatchObject({ GX_WATCH_NAMESPACES: 'a,b' });
  });

  test('watching all namespaces, Secrets are within reach, and workloads are made, in none but those of agents', async () => {
    const objects = await render.chart({
      watchAllNamespaces: true,
      agents: { namespaces: ['a', 'b'] },
    });
    const ofSecrets = roles(objects).filter(
      ({ kind, rules }) =>
        kind === 'ClusterRole' && rules?.some(({ resources }) => resources.includes('secrets')),
    );
    expect(ofSecrets.map(idOf).toSorted()).toEqual([
      'ClusterRole/gx-control-plane-secrets',
      'ClusterRole/gx-operator-secrets',
    ]);
    const clusterWide = roles(objects).filter(({ metadata }) =>
      /^gx-(operator|control-plane)[.]gx-system$/.test(metadata.name),
    );
    const making = clusterWide
      .filter(({ kind }) => kind === 'ClusterRole')
      .flatMap(({ rules = [] }) => rules)
      .filter(
        ({ apiGroups, verbs }) =>
          !['gx.dev', 'events.k8s.io'].includes(apiGroups[0] ?? '') &&
          /create|patch|update/.test(verbs.join()),
      );
    expect(making).toEqual([]);
    const bound = objects.filter((object) =>
      ofSecrets.some(
        ({ metadata }) => (object.roleRef as { name?: string } | undefined)?.name === metadata.name,
      ),
    );
    const places = ['a', 'b'].flatMap((namespace) => [
      `RoleBinding/${namespace}/gx-control-plane-secrets`,
      `RoleBinding/${namespace}/gx-operator-secrets`,
    ]);
    expect(bound.map(idOf).toSorted()).toEqual(places);
    expect(envOf(objects, 'operator')).not.toHaveProperty('GX_WATCH_NAMESPACES');
  });

  test('where the API server is, the operator reads of one object, unless it is told', async () => {
    const id = 'Role/default/gx-operator-api-server.gx-system';
    const rule = {
      apiGroups: ['discovery.k8s.io'],
      resources: ['endpointslices'],
      resourceNames: ['kubernetes'],
      verbs: ['list', 'watch'],
    };
    expect(find(await render.chart({}), id).rules).toEqual([rule]);
    expect(find(await render.chart({ watchAllNamespaces: true }), id).rules).toEqual([rule]);
    const told = await render.chart({
      settings: { agentNetwork: { apiServer: ['192.0.2.1', '192.0.2.2'] } },
    });
    expect(told.map(idOf).filter((one) => one.includes('api-server'))).toEqual([]);
    expect(envOf(told, 'operator')).toMatchObject({
      GX_API_SERVER_ADDRESSES: '192.0.2.1,192.0.2.2',
    });
  });

  test('what goes to one kind of object alone is known to the operator, which writes it, and to the REST API, which allows it', async () => {
    const objects = await render.chart({
      controlPlane: {
        podKeys: ['mesh/'],
        serviceKeys: ['lb/', 'dns/name'],
        claimKeys: ['backup/'],
      },
    });
    const keys = { pods: ['mesh/'], services: ['lb/', 'dns/name'], claims: ['backup/'] };
    expect(readOperatorConfig(envOf(objects, 'operator')).settings.objectKeys).toEqual(keys);
    expect(readControlPlaneConfig(envOf(objects, 'control-plane')).objectKeys).toEqual(keys);
  });

  test('the network of agents reaches the operator as it is written', async () => {
    const gateways = [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }];
    const agentNetwork = {
      ingress: 'Namespace',
      egress: 'Open',
      gateways,
      blocked: ['10.0.0.0/8'],
    };
    const env = envOf(await render.chart({ settings: { agentNetwork } }), 'operator');
    expect(readOperatorConfig(env).settings.agentNetwork).toEqual({
      ...agentNetwork,
      apiServer: [],
    });
  });

  test('watching some namespaces, nothing is granted beyond them but where the API server is', async () => {
    const objects = await render.chart({ watchNamespaces: ['gx-agents', 'more'] });
    expect(ofKind(objects, 'ClusterRole')).toEqual([]);
    expect(ofKind(objects, 'ClusterRoleBinding')).toEqual([]);
    expect(ofKind(objects, 'Role').map(idOf).toSorted()).toEqual([
      'Role/default/gx-operator-api-server.gx-system',
      'Role/gx-agents/gx-control-plane-watched',
      'Role/gx-agents/gx-gateway-watched',
      'Role/gx-agents/gx-operator-watched',
      'Role/gx-system/gx-api-key',
      'Role/gx-system/gx-control-plane',
      'Role/gx-system/gx-gateway',
      'Role/gx-system/gx-operator',
      'Role/more/gx-control-plane-watched',
      'Role/more/gx-gateway-watched',
      'Role/more/gx-operator-watched',
    ]);
  });

  test('the control plane reads secrets by name only, unless `kubectl exec` in its pod makes keys', async () => {
    const verbs = async (values: object) => {
      const own = roles(await render.chart(values)).filter(({ metadata }) =>
        metadata.name.startsWith('gx-control-plane'),
      );
      return Object.fromEntries(
        own.map((role) => [
          idOf(role),
          (role.rules ?? []).flatMap((rule) =>
            rule.resources.includes('secrets') ? rule.verbs : [],
          ),
        ]),
      );
    };
    const watched = { 'Role/gx-agents/gx-control-plane-watched': ['get', 'create', 'delete'] };
    expect(await verbs({})).toEqual({ ...watched, 'Role/gx-system/gx-control-plane': ['get'] });
    const byExec = {
      ...watched,
      'Role/gx-system/gx-control-plane': ['get', 'list', 'create', 'delete'],
    };
    expect(await verbs({ controlPlane: { apiKeysByExec: true } })).toEqual(byExec);
  });

  test('every binding gives an existing role to the account of the same process', async () => {
    const objects = await render.chart({ watchNamespaces: ['gx-agents'] });
    for (const binding of ofKind(objects, 'RoleBinding')) {
      const { roleRef, subjects } = binding as unknown as {
        roleRef: { kind: string; name: string };
        subjects: { name: string; namespace: string }[];
      };
      find(objects, `${roleRef.kind}/${binding.metadata.namespace}/${roleRef.name}`);
      expect(subjects).toHaveLength(1);
      find(objects, `ServiceAccount/${subjects[0]?.namespace}/${subjects[0]?.name}`);
      expect(roleRef.name.startsWith(subjects[0]?.name ?? '-')).toBe(true);
    }
  });

  test.each([
    ['those of agents', {}, ['gx-agents']],
    ['some', { watchNamespaces: ['gx-agents', 'more'] }, ['gx-agents', 'more']],
    ['all', { watchAllNamespaces: true }, undefined],
    ['those of agents, without policies', { admissionPolicies: { enabled: false } }, undefined],
  ])('watching %s, others are warned of, and nothing is refused', async (_, values, watched) => {
    const policies = (await render.chart(values)).filter(
      ({ metadata }) => metadata.name === 'gx-namespaces.gx-system',
    );
    const selected = { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: watched };
    expect(policies).toMatchObject(
      watched === undefined
        ? []
        : [
            {
              spec: {
                failurePolicy: 'Ignore',
                matchConstraints: { namespaceSelector: { matchExpressions: [selected, {}] } },
              },
            },
            { spec: { validationActions: ['Warn'] } },
          ],
    );
  });
});

describe('settings', () => {
  test('reach both processes, which accept them', async () => {
    const objects = await render.chart({
      watchNamespaces: ['gx-agents', 'more'],
      agents: { namespaces: ['gx-agents'] },
      settings: {
        profile: 'small',
        cpuMilli: 250,
        memoryMb: 512,
        dbStorageGi: 1,
        replicas: 0,
        prodReplicas: 3,
        prodMaxReplicas: 9,
        exposeAs: 'NodePort',
        nodeHost: 'node',
        storageClass: 'fast',
        deletionPolicy: 'Delete',
        clusterDomain: 'cluster.example',
        progressDeadlineSeconds: 1800,
        imagePullPatienceSeconds: 300,
      },
      operator: { workers: 3, logLevel: 'debug' },
      controlPlane: {
        hosting: 'cloud',
        allow: ['nfs', 'secrets'],
        bodyLimitBytes: 100_000_000,
        limits: { streamsPerKey: 7, streamsPerTenant: 0 },
        shutdownDelaySeconds: 30,
      },
    });
    const operator = readOperatorConfig(envOf(objects, 'operator'));
    expect(operator).toMatchObject({
      namespaces: ['gx-agents', 'more'],
      workers: 3,
      logLevel: 'debug',
      leaseName: 'gx-operator',
      port: 8081,
    });
    expect(operator.settings).toMatchObject({
      databaseImage: 'registry.invalid/gx/gx-postgres:0.1.0',
      storeImage: 'registry.invalid/gx/gx-valkey:0.1.0',
      exposeAs: 'NodePort',
      nodeHost: 'node',
      storageClass: 'fast',
      deletionPolicy: 'Delete',
      clusterDomain: 'cluster.example',
      controlPlaneUrl: 'http://gx-control-plane.gx-system.svc.cluster.example:80',
      progressDeadlineSeconds: 1800,
      imagePullPatienceSeconds: 300,
      profile: {
        cpu: 0.25,
        memoryMb: 512,
        replicas: 0,
        prod: { least: 3, most: 9 },
        database: { storageGi: 1 },
      },
    });
    expect(readGatewayConfig(envOf(objects, 'gateway'))).toMatchObject({
      clusterDomain: 'cluster.example',
    });
    const controlPlane = readControlPlaneConfig(envOf(objects, 'control-plane'));
    expect(controlPlane).toMatchObject({
      namespaces: ['gx-agents', 'more'],
      hosting: 'cloud',
      port: 8080,
      body: { bytes: 100_000_000 },
    });
    expect(controlPlane).toMatchObject({
      limits: { streamsPerKey: 7, streamsPerTenant: 0 },
      shutdownDelaySeconds: 30,
    });
    // The delay, the grace of open requests, and ten seconds to end the process.
    expect(podsOf([find(objects, 'Deployment/gx-system/gx-control-plane')])[0]).toMatchObject({
      terminationGracePeriodSeconds: 60,
    });
    expect(controlPlane.grants.toSorted()).toEqual(['nfs', 'secrets']);
  });

  test('of bearer tokens reach the control plane, with the certificate authority of a private issuer', async () => {
    const oidc = {
      issuer: 'https://login.internal',
      audience: ['gx', 'api'],
      jwksUrl: 'https://login.internal/keys',
      algorithms: ['ES384'],
      clockSkewSeconds: 0,
      tenantClaim: 'org',
      roleClaim: 'groups',
      adminValues: ['gx-admins'],
      writeValues: ['gx-writers'],
      readValues: ['staff'],
      caConfigMap: 'login-ca',
    };
    const objects = await render.chart({ controlPlane: { oidc } });
    const { oidc: read } = readControlPlaneConfig(envOf(objects, 'control-plane'));
    expect(read).toEqual({
      issuer: 'https://login.internal',
      audiences: ['gx', 'api'],
      jwksUrl: 'https://login.internal/keys',
      algorithms: ['ES384'],
      clockSkewSeconds: 0,
      tenant: { claim: 'org' },
      roleClaim: 'groups',
      adminValues: ['gx-admins'],
      writeValues: ['gx-writers'],
      readValues: ['staff'],
    });
    const [pod] = podsOf([find(objects, 'Deployment/gx-system/gx-control-plane')]);
    expect(pod?.containers[0]?.volumeMounts).toContainEqual({
      name: 'authorities',
      mountPath: '/etc/gx/authorities',
      readOnly: true,
    });
    expect(envOf(objects, 'control-plane').NODE_EXTRA_CA_CERTS).toBe('/etc/gx/authorities/ca.crt');
    expect(pod?.volumes).toContainEqual({ name: 'authorities', configMap: { name: 'login-ca' } });
    const overlay = readControlPlaneConfig(
      envOf(await render.kustomize('config/oidc'), 'control-plane'),
    );
    expect(overlay.oidc).toMatchObject({ audiences: ['gx-platform'] });
  });

  test("left alone, are the processes' own defaults", async () => {
    const [objects, own] = [await render.chart(), readOperatorConfig({}).settings];
    expect(readOperatorConfig(envOf(objects, 'operator')).settings).toEqual({
      ...own,
      agentNamespaces: ['gx-agents'],
      gateway: { service: 'gx-gateway', namespace: expect.any(String) as string },
      console: { namespace: expect.any(String) as string },
      controlPlaneUrl: 'http://gx-control-plane.gx-system.svc.cluster.local:80',
      databaseImage: 'registry.invalid/gx/gx-postgres:0.1.0',
      storeImage: 'registry.invalid/gx/gx-valkey:0.1.0',
      backups: { ...own.backups, image: 'registry.invalid/gx/gx-platform:0.1.0' },
    });
    const {
      namespace: _namespace,
      namespaces: _all,
      agentNamespaces: _agents,
      ...rest
    } = readControlPlaneConfig({});
    expect(readControlPlaneConfig(envOf(objects, 'control-plane'))).toMatchObject({
      ...rest,
      clientKeyFile: '/etc/gx/console/client-key',
    });
  });

  test('one registry prefix moves every image', async () => {
    const objects = await render.chart(WHOLE);
    const images = [
      ...podsOf(objects).flatMap(({ containers }) => containers.map(({ image }) => image)),
      envOf(objects, 'operator').GX_POSTGRES_IMAGE,
      envOf(objects, 'operator').GX_VALKEY_IMAGE,
    ];
    expect(images.every((image) => image?.startsWith('registry.internal/gx/gx-'))).toBe(true);
  });

  test('the port that the base image of agents serves is the one that its Dockerfile exposes', () => {
    const { port } = readAgentConfig({ DATABASE_URI: 'postgres://x' }, []);
    expect(readFileSync('Dockerfile', 'utf8')).toContain(`EXPOSE ${port}`);
  });
});

describe('TLS', () => {
  const tls = { secretName: 'api-tls' };
  const portsOf = (object: KubeYaml) =>
    (object.spec as { ports: { name: string; port: number; targetPort: string }[] }).ports;

  test('with a Secret the control plane serves its certificate; probes, Service and network policy follow', async () => {
    const objects = await render.chart({ controlPlane: { tls }, networkPolicy: { enabled: true } });
    expect(readControlPlaneConfig(envOf(objects, 'control-plane')).tls).toEqual({
      cert: '/etc/gx/tls/tls.crt',
      key: '/etc/gx/tls/tls.key',
    });
    const [pod] = podsOf([find(objects, 'Deployment/gx-system/gx-control-plane')]);
    const container = pod?.containers[0];
    expect(pod?.volumes).toContainEqual({ name: 'tls', secret: { secretName: 'api-tls' } });
    expect(container?.volumeMounts).toContainEqual({
      name: 'tls',
      mountPath: '/etc/gx/tls',
      readOnly: true,
    });
    expect(container?.ports).toContainEqual({ name: 'https', containerPort: 8080 });
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(container?.[probe]).toMatchObject({ httpGet: { port: 'https', scheme: 'HTTPS' } });
    expect(portsOf(find(objects, 'Service/gx-system/gx-control-plane'))).toEqual([
      { name: 'https', port: 443, targetPort: 'https' },
    ]);
    const { spec: policy } = find(objects, 'NetworkPolicy/gx-system/gx-control-plane');
    expect(policy?.ingress).toEqual(['https', 'health'].map((port) => ({ ports: [{ port }] })));
  });

  test('a port that was set stays, and without TLS the Service has port 80', async () => {
    const service = async (controlPlane: object) =>
      portsOf(find(await render.chart({ controlPlane }), 'Service/gx-system/gx-control-plane'));
    expect(await service({ tls, service: { port: 8443 } })).toEqual([
      { name: 'https', port: 8443, targetPort: 'https' },
    ]);
    expect(await service({ service: { type: 'NodePort', nodePort: 30_080 } })).toMatchObject([
      { port: 80, nodePort: 30_080 },
    ]);
    expect(await service({})).toEqual([{ name: 'http', port: 80, targetPort: 'http' }]);
  });

  test('the Service carries annotations, by which clouds know their load balancers', async () => {
    const annotations = { 'cloud.example/internal': 'true' };
    const objects = await render.chart({
      controlPlane: { service: { type: 'LoadBalancer', annotations } },
    });
    expect(find(objects, 'Service/gx-system/gx-control-plane')).toMatchObject({
      metadata: { annotations },
      spec: { type: 'LoadBalancer' },
    });
  });

  test('cert-manager is asked for the Secret, for the names of the Service and others', async () => {
    const certManager = {
      issuer: 'internal',
      issuerKind: 'ClusterIssuer',
      dnsNames: ['gx.example.com'],
    };
    const [certificate] = ofKind(
      await render.chart({ controlPlane: { tls: { ...tls, certManager } } }),
      'Certificate',
    );
    expect(certificate?.spec).toMatchObject({
      secretName: 'api-tls',
      issuerRef: { kind: 'ClusterIssuer', name: 'internal' },
      dnsNames: [
        'gx-control-plane.gx-system.svc',
        'gx-control-plane.gx-system.svc.cluster.local',
        'gx.example.com',
      ],
    });
  });
});

describe('what stays and what goes', () => {
  test('definitions are kept on uninstall, unless told otherwise, and can be left out', async () => {
    const kept = async (values: object) =>
      ofKind(await render.chart(values), 'CustomResourceDefinition').map(
        ({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'],
      );
    expect(await kept({})).toEqual(KINDS.map(() => 'keep'));
    expect(await kept({ crds: { keep: false } })).toEqual(KINDS.map(() => undefined));
    expect(await kept({ crds: { install: false } })).toEqual([]);
  });

  test('the namespaces of agents are made with restricted pod security, and kept', async () => {
    const [namespace] = ofKind(await render.chart(), 'Namespace');
    expect(namespace?.metadata).toMatchObject({
      name: 'gx-agents',
      labels: { 'pod-security.kubernetes.io/enforce': 'restricted' },
      annotations: { 'helm.sh/resource-policy': 'keep' },
    });
    expect(
      ofKind(await render.chart({ agents: { createNamespaces: false } }), 'Namespace'),
    ).toEqual([]);
    expect(
      ofKind(await render.chart({ agents: { namespaces: ['gx-system'] } }), 'Namespace'),
    ).toEqual([]);
  });

  test('the default Listener is a plain object that outlives the release, and follows the namespaces of agents', async () => {
    const [listener] = ofKind(
      await render.chart({ agents: { namespaces: ['a', 'b'] } }),
      'Listener',
    );
    const metadata = { annotations: { 'helm.sh/resource-policy': 'keep' } };
    expect(listener).toMatchObject({
      metadata,
      spec: { namespaces: ['a', 'b'], computeId: 'default' },
    });
  });

  test('the namespaces that it makes join the default tenant, and both processes know that they do', async () => {
    const defaultTenantId = '99999999-0000-4000-8000-000000000000';
    const objects = await render.chart({
      watchAllNamespaces: true,
      agents: { namespaces: ['a', 'b'] },
      settings: { defaultTenantId },
    });
    for (const { metadata } of ofKind(objects, 'Namespace'))
      expect(metadata.labels?.['gx.dev/tenant']).toBe(defaultTenantId);
    const known = [
      readControlPlaneConfig(envOf(objects, 'control-plane')),
      readOperatorConfig(envOf(objects, 'operator')).settings,
    ];
    for (const one of known)
      expect(one).toMatchObject({ agentNamespaces: ['a', 'b'], defaultTenantId });
  });
});
