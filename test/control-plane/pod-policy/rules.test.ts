import { describe, expect, test } from 'vitest';
import type { Grant } from '../../../src/config/platform/control-plane.ts';
import { checkPodRules } from '../../../src/control-plane/pod-policy/rules.ts';
import { NO_KEYS } from '../../../src/schema/platform/objects/object-keys.ts';
import type { ResourceSpec } from '../../../src/schema/platform/spec/resource-spec.ts';

const sidecar = (parts: object): ResourceSpec => ({
  sidecars: [{ name: 's', image: 'i', ...parts }],
});
const volume = (source: object): ResourceSpec => ({ volumes: [{ name: 'v', ...source }] });
const context = (securityContext: object): ResourceSpec => sidecar({ securityContext });
const env = (entry: object): ResourceSpec => sidecar({ env: [{ name: 'E', ...entry }] });

const REACHING_OUT: [string, ResourceSpec, string, Grant?][] = [
  [
    'a privileged container',
    context({ privileged: true }),
    'sidecars.0.securityContext.privileged',
    'privileged',
  ],
  ['root', context({ runAsUser: 0 }), 'sidecars.0.securityContext.runAsUser', 'privileged'],
  [
    'root by another word',
    context({ runAsNonRoot: false }),
    'sidecars.0.securityContext.runAsNonRoot',
    'privileged',
  ],
  [
    'escalation',
    context({ allowPrivilegeEscalation: true }),
    'sidecars.0.securityContext.allowPrivilegeEscalation',
    'privileged',
  ],
  [
    'a capability',
    context({ capabilities: { add: ['SYS_ADMIN'] } }),
    'sidecars.0.securityContext.capabilities',
    'privileged',
  ],
  [
    'every capability of the runtime',
    context({ capabilities: { drop: [] } }),
    'sidecars.0.securityContext.capabilities',
    'privileged',
  ],
  [
    'most of them',
    context({ capabilities: { drop: ['NET_RAW'] } }),
    'sidecars.0.securityContext.capabilities',
    'privileged',
  ],
  [
    'no seccomp',
    context({ seccompProfile: { type: 'Unconfined' } }),
    'sidecars.0.securityContext.seccompProfile',
    'privileged',
  ],
  [
    'the host of Windows',
    context({ windowsOptions: { hostProcess: true } }),
    'sidecars.0.securityContext.windowsOptions',
    'privileged',
  ],
  [
    'a key that Kubernetes may get one day',
    context({ hostNetwork: true }),
    'sidecars.0.securityContext.hostNetwork',
    'privileged',
  ],
  [
    'a name from the prototype',
    context({ constructor: true }),
    'sidecars.0.securityContext.constructor',
    'privileged',
  ],
  [
    'mounts that reach the host',
    {
      ...volume({ emptyDir: {} }),
      volume_mounts: [{ name: 'v', mountPath: '/v', mountPropagation: 'Bidirectional' }],
    },
    'volume_mounts.0.mountPropagation',
    'privileged',
  ],
  ['a Secret as a volume', volume({ secret: { secretName: 'x' } }), 'volumes.0.secret', 'secrets'],
  [
    'a Secret as a variable',
    env({ valueFrom: { secretKeyRef: { name: 'x', key: 'k' } } }),
    'sidecars.0.env.0.valueFrom.secretKeyRef',
    'secrets',
  ],
  [
    'a Secret as many variables',
    sidecar({ envFrom: [{ secretRef: { name: 'x' } }] }),
    'sidecars.0.envFrom.0.secretRef',
    'secrets',
  ],
  [
    'a token of the service account',
    volume({ projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }),
    'volumes.0.projected',
    'projected',
  ],
  [
    'the token of its service account',
    { service_account_name: 'theirs', automount_service_account_token: true },
    'automount_service_account_token',
    'tokens',
  ],
  [
    'a driver of the cluster',
    volume({ csi: { driver: 'secrets-store.csi.k8s.io' } }),
    'volumes.0.csi',
    'csi',
  ],
  ['a server of files', volume({ nfs: { server: 'a', path: '/' } }), 'volumes.0.nfs', 'nfs'],
  [
    'a volume claim',
    volume({ persistentVolumeClaim: { claimName: 'data-other-db-0' } }),
    'volumes.0.persistentVolumeClaim',
    'claims',
  ],
];

describe('without a grant, a REST user may not ask for', () => {
  test.each(REACHING_OUT)('%s', (_, spec, path, grant) => {
    expect(checkPodRules(spec, [])).toEqual([
      expect.stringMatching(new RegExp(`^source_config.resource_spec.${path}: `)),
    ]);
    expect(checkPodRules(spec, grant === undefined ? [] : [grant])).toEqual([]);
  });
});

test.each([
  ['nothing', {}],
  [
    'a container as the restricted profile wants it',
    context({
      allowPrivilegeEscalation: false,
      privileged: false,
      runAsNonRoot: true,
      runAsUser: 1000,
      capabilities: { drop: ['ALL'], add: ['NET_BIND_SERVICE'] },
      seccompProfile: { type: 'RuntimeDefault' },
      readOnlyRootFilesystem: true,
    }),
  ],
  [
    'a capability to add, without a word of others',
    context({ capabilities: { drop: null, add: ['NET_BIND_SERVICE'] } }),
  ],
  [
    'a field of the pod as a variable',
    env({ valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }),
  ],
  ['no token', { service_account_name: 'theirs', automount_service_account_token: false }],
  [
    'a ConfigMap',
    {
      ...volume({ configMap: { name: 'c' } }),
      volume_mounts: [{ name: 'v', mountPath: '/etc/c' }],
    },
  ],
  [
    'labels of its own',
    {
      labels: { team: 'a', 'app.kubernetes.io/version': '1' },
      annotations: { 'prometheus.io/scrape': 'true' },
    },
  ],
] as [string, ResourceSpec][])('a REST user may ask for %s', (_, spec) => {
  expect(checkPodRules(spec, [])).toEqual([]);
});

test.each([
  [
    'two volumes of one name',
    {
      volumes: [
        { name: 'v', emptyDir: {} },
        { name: 'v', emptyDir: {} },
      ],
    },
    'volumes',
  ],
  ['a volume without a source', { volumes: [{ name: 'v' }] }, 'volumes.0'],
  [
    'a volume with two sources',
    { volumes: [{ name: 'v', emptyDir: {}, configMap: { name: 'c' } }] },
    'volumes.0',
  ],
  [
    'a volume named like one of ours',
    { volumes: [{ name: 'gx-tmp', emptyDir: {} }] },
    'volumes.0.name',
  ],
  [
    'a mount of a volume that is not there',
    { volume_mounts: [{ name: 'v', mountPath: '/v' }] },
    'volume_mounts.0.name',
  ],
  [
    'two mounts at one path',
    {
      ...volume({ emptyDir: {} }),
      volume_mounts: [
        { name: 'v', mountPath: '/v' },
        { name: 'v', mountPath: '/v/' },
      ],
    },
    'volume_mounts',
  ],
  [
    'a mount where the server keeps its own files',
    { ...volume({ emptyDir: {} }), volume_mounts: [{ name: 'v', mountPath: '/tmp' }] },
    'volume_mounts',
  ],
  [
    'two containers of one name',
    { init_containers: [{ name: 's', image: 'i' }], sidecars: [{ name: 's', image: 'i' }] },
    'init_containers and sidecars',
  ],
  ['a sidecar that may end', sidecar({ restartPolicy: 'OnFailure' }), 'sidecars.0.restartPolicy'],
  ["a container named like the server's", sidecar({ name: 'agent' }), 'sidecars.0.name'],
  [
    'a variable with a value and a source',
    env({ value: 'x', valueFrom: { fieldRef: { fieldPath: 'a' } } }),
    'sidecars.0.env.0.valueFrom',
  ],
  [
    'a token of no account in particular',
    { automount_service_account_token: true },
    'automount_service_account_token',
  ],
  ['a label of ours', { labels: { 'gx.dev/tenant': 'x' } }, 'labels'],
  ['a label that says who manages', { labels: { 'app.kubernetes.io/managed-by': 'x' } }, 'labels'],
  ['a key that is none', { annotations: { 'a b': 'x' } }, 'annotations'],
  ['a label value that is none', { labels: { a: 'b c' } }, 'labels'],
  [
    'an annotation that switches AppArmor off',
    { annotations: { 'container.apparmor.security.beta.kubernetes.io/agent': 'unconfined' } },
    'annotations',
  ],
] as [string, ResourceSpec, string][])('%s is refused whatever is granted', (_, spec, path) => {
  expect(
    checkPodRules(spec, [
      'secrets',
      'claims',
      'projected',
      'csi',
      'nfs',
      'privileged',
      'tokens',
    ])[0],
  ).toMatch(new RegExp(`^source_config.resource_spec.${path}: `));
});

test.each([
  ['labels', 'azure.workload.identity/use'],
  ['labels', 'aadpodidbinding'],
  ['labels', 'example.com/cost-center'],
  ['annotations', 'iam.amazonaws.com/role'],
  ['annotations', 'sidecar.istio.io/inject'],
  ['annotations', 'external-dns.alpha.kubernetes.io/hostname'],
])(
  '%s with the key %s, which something in the cluster may obey, need the administrator',
  (field, key) => {
    const spec = { [field]: { [key]: 'x' } };
    expect(checkPodRules(spec, [])).toEqual([
      expect.stringContaining(`${field}: ${key} is not allowed here`),
    ]);
    const prefix = key.slice(0, key.indexOf('/') + 1) || key;
    for (const of of ['pods', 'services', 'claims'] as const)
      for (const allowed of [key, prefix])
        expect(checkPodRules(spec, [], { ...NO_KEYS, [of]: [allowed] })).toEqual([]);
  },
);

test.each([
  '/etc/gx-key',
  '/etc/gx-database/',
  '/etc/gx-key/more',
  '/app',
  '/app/',
  '//app',
  '/app/.',
  '/x/../app/src',
  'app',
  '/tmp/../tmp/',
])('nothing is mounted over %s', (mountPath) => {
  const spec = { ...volume({ emptyDir: {} }), volume_mounts: [{ name: 'v', mountPath }] };
  expect(checkPodRules(spec, [])).toEqual([
    expect.stringMatching(
      /^source_config\.resource_spec\.volume_mounts: .* is a folder of the platform$/,
    ),
  ]);
});

test.each(['/tmp/cache', '/etc/gx-keys', '/application', '/agent/data'])(
  'a volume may be mounted at %s',
  (mountPath) => {
    expect(
      checkPodRules({ ...volume({ emptyDir: {} }), volume_mounts: [{ name: 'v', mountPath }] }, []),
    ).toEqual([]);
  },
);
