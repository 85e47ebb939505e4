import { expect, test } from 'vitest';
import { desiredDeployment } from '../../kit/facts.ts';
import { buildLabelPatch } from '../../../src/operator/database/own/claim-words.ts';
import { buildRevisionWorkloads } from '../../../src/operator/revision/desired.ts';
import type { KubeObject } from '../../../src/kube/kube.ts';
import { deployment, revision, settings } from '../../kit/objects.ts';

/* Which objects get the labels and annotations of a resource spec. */

const objectKeys = {
  pods: ['mesh.example/'],
  services: ['external-dns.alpha.kubernetes.io/', 'lb.example/scheme'],
  claims: ['backup.example/'],
};
const labels = {
  team: 'a',
  'app.kubernetes.io/version': '2',
  'app.kubernetes.io/instance': 'theirs',
  'mesh.example/inject': 'yes',
};
const annotations = {
  note: 'b',
  'prometheus.io/scrape': 'true',
  'external-dns.alpha.kubernetes.io/hostname': 'chat.example',
  'lb.example/scheme': 'internal',
  'lb.example/other': 'asked by kubectl',
  'backup.example/keep': 'a year',
};

const resourceSpec = { labels, annotations, minScale: 2, redisMemoryMb: 64 };
const given = settings({ objectKeys, gateway: { service: 'gateway', namespace: 'gx-system' } });

function made(): KubeObject[] {
  const of = deployment({
    spec: { database: { podDisruptionBudget: true } },
    template: { resourceSpec },
  });
  const wish = {
    wish: { api: 2, queue: 2 },
    secretName: undefined,
    address: { secretName: 'db', key: 'uri' },
  };
  return [
    ...desiredDeployment(of, given, { active: 'chat-00001' }),
    ...buildRevisionWorkloads(revision(of), wish, given),
  ];
}

type Metadata = { labels?: Record<string, string>; annotations?: Record<string, string> };
const keysOf = ({ labels: of = {}, annotations: notes = {} }: Metadata): string[] =>
  [...Object.keys(of), ...Object.keys(notes)]
    .filter((key) => key in labels || key in annotations)
    .toSorted();
const COMMON = ['app.kubernetes.io/version', 'note', 'team'];

test('every object of a deployment gets what nothing in a cluster obeys', () => {
  const objects = made();
  const kinds = new Set(objects.map(({ kind }) => kind));
  expect([...kinds].toSorted()).toEqual([
    'Deployment',
    'NetworkPolicy',
    'PodDisruptionBudget',
    'Service',
    'StatefulSet',
  ]);
  const others = objects.filter(
    ({ kind, metadata }) => kind !== 'Service' || metadata.name !== 'chat-agent',
  );
  for (const { kind, metadata } of others)
    expect([kind, metadata.name, keysOf(metadata)]).toEqual([kind, metadata.name, COMMON]);
});

test('the Service that clients reach gets what is allowed for Services, and no other object does', () => {
  const [service] = made().filter(
    ({ kind, metadata }) => kind === 'Service' && metadata.name === 'chat-agent',
  );
  expect(keysOf(service!.metadata)).toEqual(
    [...COMMON, 'external-dns.alpha.kubernetes.io/hostname', 'lb.example/scheme'].toSorted(),
  );
});

test("the agents' pods get what is allowed for pods, what reads metrics, and what nobody allowed; the database's pods nothing", () => {
  const pods = made().flatMap(({ kind, spec }) => {
    const { template } = spec as { template?: { metadata: Metadata } };
    return template === undefined ? [] : [[kind, keysOf(template.metadata)] as const];
  });
  const ofAgents = [
    ...COMMON,
    'app.kubernetes.io/instance',
    'lb.example/other',
    'mesh.example/inject',
    'prometheus.io/scrape',
  ].toSorted();
  expect(pods.filter(([kind]) => kind === 'Deployment').map(([, keys]) => keys)).toEqual([
    ofAgents,
    ofAgents,
  ]);
  expect(pods.filter(([kind]) => kind === 'StatefulSet').map(([, keys]) => keys)).toEqual([[], []]);
});

test('none of them is one by which the platform finds its own', () => {
  const own = {
    'gx.dev/deployment': 'other',
    'app.kubernetes.io/managed-by': 'me',
    'app.kubernetes.io/name': 'gx-platform',
    'gx.dev/x': 'y',
  };
  const of = (words: object): KubeObject[] =>
    desiredDeployment(
      deployment({ template: { resourceSpec: { labels: { ...words } } } }),
      given,
      {},
    );
  expect(of(own)).toEqual(of({}));
});

test('words that the API server refuses fail the revision, by its pods alone', () => {
  const refused = { 'a b': 'x', team: 'no spaces here' };
  const of = deployment({
    template: { resourceSpec: { labels: refused, annotations: { 'a b': 'x' } } },
  });
  expect(desiredDeployment(of, given, {})).toEqual(desiredDeployment(deployment(), given, {}));
  const wish = {
    wish: { api: 1 },
    secretName: undefined,
    address: { secretName: 'db', key: 'uri' },
  };
  const [{ metadata, spec }] = buildRevisionWorkloads(revision(of), wish, given) as [KubeObject];
  expect(keysOf(metadata)).toEqual([]);
  expect((spec as { template: { metadata: Metadata } }).template.metadata.labels).toMatchObject(
    refused,
  );
});

test('a claim keeps what others wrote, loses what the spec no longer says, and is patched once', () => {
  const others = {
    labels: { 'gx.dev/deployment': 'chat', zone: 'theirs' },
    annotations: { bound: 'yes' },
  };
  const after = (
    live: Metadata,
    words: { labels: Record<string, string>; annotations: Record<string, string> },
  ): Metadata => {
    const patch = buildLabelPatch(
      { metadata: { name: 'data', resourceVersion: '7', ...live } },
      words,
    );
    const at = (path: string): Record<string, string> =>
      (patch.find((step) => step.path === path) as { value: Record<string, string> }).value;
    return patch.length === 0
      ? live
      : { labels: at('/metadata/labels'), annotations: at('/metadata/annotations') };
  };
  const first = after(others, { labels: { team: 'a', zone: 'ours' }, annotations: { note: 'b' } });
  expect(first.labels).toEqual({ ...others.labels, team: 'a' });
  expect(first.annotations).toMatchObject({ bound: 'yes', note: 'b' });
  expect(
    buildLabelPatch(
      { metadata: { name: 'data', ...first } },
      { labels: { team: 'a', zone: 'ours' }, annotations: { note: 'b' } },
    ),
  ).toEqual([]);
  const second = after(first, { labels: { cost: 'c' }, annotations: {} });
  expect(second).toMatchObject({ labels: { ...others.labels, cost: 'c' } });
  expect(second.annotations).not.toHaveProperty('note');
  expect(after(second, { labels: {}, annotations: {} })).toEqual(others);
});
