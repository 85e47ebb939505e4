import { randomBytes, X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { kinds, type Kube, type KubeObject } from '../../../../../src/kube/kube.ts';
import { newCertificate } from '../../../../../src/operator/database/own/tls/certificate.ts';
import { seenTemplate, withTemplateHash } from '../../../../../src/operator/pods/settled-template.ts';
import { auditEvents } from '../../../../kit/audit-log.ts';
import { still, until } from '../../../../kit/until.ts';
import { newDeployment } from '../../../../kit/objects.ts';
import { look, metricOf, untilIdle, type RunningOperator } from '../../../../kit/operator.ts';
import { setStage, type OperatedStage } from '../../../../kit/stage.ts';

let kube: Kube;
let namespace: string;
let operator: RunningOperator;
let see: ReturnType<typeof look>;

let stage: OperatedStage;
beforeAll(async () => {
  stage = await setStage('tls');
  ({ kube, namespace, operator, see } = stage);
});
afterAll(() => stage.stop());

const DAY = 86_400_000;
const KEYS = ['ca.crt', 'ca.key', 'tls.crt', 'tls.key'] as const;
type Volume = { secret?: { secretName: string; items?: { key: string }[] } };
type PodSpec = { volumes: Volume[]; containers: { env: { name: string; value?: string }[]; args?: string[] }[] };

const deploy = (name: string, spec: object = {}): Promise<object> =>
  kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name }, spec }));
const tls = async (name: string) => {
  const { metadata, data } = await see.secret(`${name}-db-tls`);
  const [ca = '', key = '', crt = '', own = ''] = KEYS.map((at) => Buffer.from(data?.[at] ?? '', 'base64').toString());
  return { metadata, authority: { certificate: ca, key }, server: { certificate: crt, key: own } };
};
const pods = (name: string): Promise<KubeObject[]> => kube.all(kinds.pod, { namespace, labelSelector: `gx.dev/deployment=${name}` });
const untilOf = async (name: string): Promise<Date> => new Date((await see.deployment(name)).status?.databaseCertificateUntil ?? 0);
const annotate = (name: string, key: string, value: string): Promise<object> =>
  kube.jsonPatch(kinds.deployment, { namespace, name }, [
    { op: 'add', path: '/metadata/annotations', value: { [`gx.dev/${key}`]: value } },
  ]);
const restart = async (identity: string): Promise<void> => {
  operator = await stage.startOperator({ identity });
};
const agent = async (name: string): Promise<PodSpec> =>
  ((await see.workload(`${name}-00001-api`)).spec as { template: { spec: PodSpec } }).template.spec;
const addressOf = async (name: string): Promise<(string | undefined)[]> =>
  (await agent(name)).containers[0]?.env.filter(({ name: known }) => /DATABASE/.test(known)).map(({ value }) => value) ?? [];
const ENCRYPTED = '$(GX_DATABASE_ADDRESS)?sslmode=verify-full&sslrootcert=/etc/gx-database/ca.crt';

test('a database is made with an authority of its own, whose key no pod gets, and its agents know it by that', async () => {
  await deploy('made');
  await see.untilReady('made');
  const { metadata, authority, server } = await tls('made');
  expect(metadata.ownerReferences).toMatchObject([{ kind: 'Deployment', name: 'made', controller: true }]);
  const { databaseSecret = '' } = (await see.deployment('made')).status ?? {};
  const uri = Buffer.from((await see.secret(databaseSecret)).data?.uri ?? '', 'base64').toString();
  const read = new X509Certificate(server.certificate);
  expect(read.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
  expect(read.checkHost(new URL(uri).hostname)).toBe(new URL(uri).hostname);
  expect(await untilOf('made')).toEqual(read.validToDate);
  expect(await addressOf('made')).toEqual([undefined, ENCRYPTED]);
  const all = (await pods('made')).map(({ spec }) => spec as PodSpec);
  expect(all).toHaveLength(3);
  const given = all.flatMap(({ volumes }) => volumes.flatMap(({ secret }) => (secret?.secretName === metadata.name ? [secret] : [])));
  expect(given.map(({ items = [] }) => items.map(({ key }) => key).join()).toSorted()).toEqual(['ca.crt', 'ca.crt', 'tls.crt,tls.key']);
  expect(JSON.stringify(all)).not.toContain('ca.key');
  expect(all.flatMap(({ containers }) => containers[0]?.args ?? [])).toContain('ssl=on');
});

test('while a certificate holds, an operator reads no Secret; two thirds over, it is renewed in place and no pod notices', async () => {
  await deploy('aged');
  await see.untilReady('aged');
  await operator.stop();
  await restart('calm');
  await until('it has looked at both', async () => (await metricOf(operator, 'controller_runtime_reconcile_total')) >= 4);
  await untilIdle(operator);
  const asked = auditEvents(inject('auditLog'), operator.userAgent).filter(({ objectRef }) => objectRef?.resource === 'secrets');
  expect(asked.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([]);

  const before = await tls('aged');
  const identity = async (): Promise<string[]> => (await pods('aged')).map(({ metadata }) => `${metadata.name} ${metadata.uid}`);
  const known = await still('its pods', identity);
  const old = { now: new Date(Date.now() - 61 * DAY), random: randomBytes };
  const made = newCertificate(before.authority, ['aged-db'], old);
  const encoded = (text: string): string => Buffer.from(text).toString('base64');
  await kube.jsonPatch(kinds.secret, { namespace, name: 'aged-db-tls' }, [
    { op: 'replace', path: '/data/tls.crt', value: encoded(made.certificate) },
    { op: 'replace', path: '/data/tls.key', value: encoded(made.key) },
  ]);
  const databaseCertificateUntil = made.until.toISOString();
  await kube.patchStatus(kinds.deployment, { namespace, name: 'aged' }, { databaseCertificateUntil });
  await until('it is renewed', async () => (await untilOf('aged')) > new Date(Date.now() + 89 * DAY));
  const after = await tls('aged');
  expect(new X509Certificate(after.server.certificate).validToDate).toEqual(await untilOf('aged'));
  expect(after.authority).toEqual(before.authority);
  expect(after.metadata.uid).toBe(before.metadata.uid);
  expect(await identity()).toEqual(known);
});

test('what is spoilt by hand, or gone, is made again: with its authority where that is there', async () => {
  await deploy('spoilt');
  await see.untilReady('spoilt');
  const first = await tls('spoilt');
  await kube.jsonPatch(kinds.secret, { namespace, name: 'spoilt-db-tls' }, [{ op: 'replace', path: '/data/tls.key', value: '' }]);
  await annotate('spoilt', 'reconcile-requested-at', 'one');
  await until('there is a key again', async () => (await tls('spoilt')).server.key !== '');
  const second = await tls('spoilt');
  expect(second.authority).toEqual(first.authority);
  expect(second.server).not.toEqual(first.server);
  await kube.delete(kinds.secret, { namespace, name: 'spoilt-db-tls' });
  await annotate('spoilt', 'reconcile-requested-at', 'two');
  await until('it is there again', () =>
    tls('spoilt').then(
      () => true,
      () => false,
    ),
  );
  const third = await tls('spoilt');
  expect(third.authority).not.toEqual(first.authority);
  // The Secret is as a backup brings it back.
  await kube.jsonPatch(kinds.secret, { namespace, name: 'spoilt-db-tls' }, [{ op: 'remove', path: '/metadata/ownerReferences' }]);
  await annotate('spoilt', 'reconcile-requested-at', 'three');
  await until("it is the deployment's again", async () => (await tls('spoilt')).metadata.ownerReferences !== undefined);
  expect(await tls('spoilt')).toMatchObject({ authority: third.authority, server: third.server });
  await see.untilReady('spoilt');
});

test('a database of before serves no TLS, and its agents go on without, until it is asked to be as one of today', async () => {
  await deploy('elder');
  await see.untilReady('elder');
  await operator.stop();
  const name = 'elder-db';
  const set = await kube.get(kinds.statefulSet, { namespace, name });
  const plain = withTemplateHash(withoutTls(set));
  const { template } = plain.spec as { template: object };
  const { annotations } = plain.metadata;
  const stored = await kube.jsonPatch(kinds.statefulSet, { namespace, name }, [
    { op: 'replace', path: '/spec/template', value: template },
    { op: 'replace', path: '/metadata/annotations', value: annotations },
  ]);
  await kube.patchStatus(
    kinds.deployment,
    { namespace, name: 'elder' },
    { databaseTemplate: seenTemplate(stored, undefined), databaseCertificateUntil: null },
  );
  await kube.delete(kinds.secret, { namespace, name: 'elder-db-tls' });
  await restart('newer');
  await until('the agents have the address alone', async () => (await addressOf('elder')).length === 1);
  await see.untilReady('elder');
  expect(JSON.stringify((await agent('elder')).volumes)).not.toContain('gx-database');
  await expect(tls('elder')).rejects.toThrow(/not found/);

  await annotate('elder', 'renew-database', 'today');
  await until('the agents know the authority', async () => (await addressOf('elder')).length === 2);
  // A variable can only refer to those before it.
  expect(await addressOf('elder')).toEqual([undefined, ENCRYPTED]);
  expect(JSON.stringify((await agent('elder')).volumes)).toContain('gx-database');
  expect(JSON.stringify(await kube.get(kinds.statefulSet, { namespace, name }))).toContain('ssl=on');
  expect(await untilOf('elder')).toEqual(new X509Certificate((await tls('elder')).server.certificate).validToDate);
  await see.untilReady('elder');
});

function withoutTls(set: KubeObject): KubeObject {
  const spec = set.spec as {
    template: { spec: { volumes: { name: string }[]; containers: { volumeMounts: { name: string }[]; args: string[] }[] } };
  };
  const others = ({ name }: { name: string }): boolean => name !== 'tls';
  const { volumes, containers } = spec.template.spec;
  // There was nothing beside Postgres either.
  const bare = containers.slice(0, 1).map(({ args, volumeMounts, ...container }) => ({
    ...container,
    args: args.filter((_, index) => !`${args[index]} ${args[index + 1]}`.includes('ssl')),
    volumeMounts: volumeMounts.filter(others),
  }));
  const pod = { ...spec.template.spec, volumes: volumes.filter(others), containers: bare };
  return { ...set, spec: { ...spec, template: { ...spec.template, spec: pod } } };
}

test('it goes with its deployment, whatever becomes of the data', async () => {
  await deploy('gone', { deletionPolicy: 'Retain' });
  await see.untilReady('gone');
  await kube.delete(kinds.deployment, { namespace, name: 'gone' });
  await until('the deployment is gone', async () =>
    (await kube.all(kinds.deployment, { namespace })).every(({ metadata }) => metadata.name !== 'gone'),
  );
  await expect(tls('gone')).rejects.toThrow(/not found/);
});
