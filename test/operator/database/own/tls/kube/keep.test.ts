import { randomBytes, X509Certificate } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { kinds } from '../../../../../../src/kube/kinds.ts';
import type { Kube, KubeObject } from '../../../../../../src/kube/kube.ts';
import { createCertificate } from '../../../../../../src/operator/database/own/tls/certificate.ts';
import { auditEvents } from '../../../../../kit/audit-log.ts';
import { still, until } from '../../../../../kit/until.ts';
import { newDeployment } from '../../../../../kit/objects.ts';
import { look, metricOf, untilIdle, type RunningOperator } from '../../../../../kit/operator.ts';
import { setStage, type OperatedStage } from '../../../../../kit/stage.ts';

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
type Volume = { secret?: { secretName: string; items?: { key: string }[] } };
type PodSpec = {
  volumes: Volume[];
  containers: { env: { name: string; value?: string }[]; args?: string[] }[];
};

const deploy = (name: string, spec: object = {}): Promise<object> =>
  kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name }, spec }));
const tls = async (name: string) => {
  const [{ metadata, data }, own] = await Promise.all([
    see.secret(`${name}-db-tls`),
    see.secret(`${name}-db-ca`),
  ]);
  const text = (from: typeof data, key: string): string =>
    Buffer.from(from?.[key] ?? '', 'base64').toString();
  return {
    metadata,
    authority: { certificate: text(own.data, 'ca.crt'), key: text(own.data, 'ca.key') },
    trusted: text(data, 'ca.crt'),
    server: { certificate: text(data, 'tls.crt'), key: text(data, 'tls.key') },
  };
};
const encoded = (text: string): string => Buffer.from(text).toString('base64');
/** Which keys each of the two Secrets of a deployment has, and whose it is. */
const held = (name: string): Promise<object[]> =>
  Promise.all(
    ['ca', 'tls'].map(async (which) => {
      const { metadata, data = {}, type } = await see.secret(`${name}-db-${which}`);
      const owner = metadata.ownerReferences?.[0];
      const of = owner?.controller === true ? `${owner.kind} ${owner.name}` : undefined;
      return {
        type,
        of,
        label: metadata.labels?.['gx.dev/secrets-of'],
        keys: Object.keys(data).toSorted(),
      };
    }),
  );
const apart = (name: string): object[] => {
  const whose = { of: `Deployment ${name}`, label: name };
  return [
    { ...whose, type: 'Opaque', keys: ['ca.crt', 'ca.key'] },
    { ...whose, type: 'kubernetes.io/tls', keys: ['ca.crt', 'tls.crt', 'tls.key'] },
  ];
};
const pods = (name: string): Promise<KubeObject[]> =>
  kube.listAll(kinds.pod, { namespace, labelSelector: `gx.dev/deployment=${name}` });
const untilOf = async (name: string): Promise<Date> =>
  new Date((await see.deployment(name)).status?.databaseCertificateUntil ?? 0);
const annotate = (name: string, key: string, value: string): Promise<object> =>
  kube.patchJson(kinds.deployment, { namespace, name }, [
    { op: 'add', path: '/metadata/annotations', value: { [`gx.dev/${key}`]: value } },
  ]);
const restart = async (identity: string): Promise<void> => {
  operator = await stage.startOperator({ identity });
};
const agent = async (name: string): Promise<PodSpec> =>
  ((await see.workload(`${name}-00001-api`)).spec as { template: { spec: PodSpec } }).template.spec;
const addressOf = async (name: string): Promise<(string | undefined)[]> =>
  (await agent(name)).containers[0]?.env
    .filter(({ name: known }) => /DATABASE/.test(known))
    .map(({ value }) => value) ?? [];
const ENCRYPTED = '$(GX_DATABASE_ADDRESS)?sslmode=verify-full&sslrootcert=/etc/gx-database/ca.crt';

test('a database is made with an authority of its own, whose key no pod gets, and its agents know it by that', async () => {
  await deploy('made');
  await see.untilReady('made');
  const { metadata, authority, trusted, server } = await tls('made');
  expect(await held('made')).toEqual(apart('made'));
  expect(trusted).toBe(authority.certificate);
  const { databaseSecret = '' } = (await see.deployment('made')).status ?? {};
  const uri = Buffer.from((await see.secret(databaseSecret)).data?.uri ?? '', 'base64').toString();
  const read = new X509Certificate(server.certificate);
  expect(read.verify(new X509Certificate(authority.certificate).publicKey)).toBe(true);
  expect(read.checkHost(new URL(uri).hostname)).toBe(new URL(uri).hostname);
  expect(await untilOf('made')).toEqual(read.validToDate);
  expect(await addressOf('made')).toEqual([undefined, ENCRYPTED]);
  const all = (await pods('made')).map(({ spec }) => spec as PodSpec);
  expect(all).toHaveLength(3);
  const given = all.flatMap(({ volumes }) =>
    volumes.flatMap(({ secret }) => (secret?.secretName === metadata.name ? [secret] : [])),
  );
  const files = given.map(({ items = [] }) => items.map(({ key }) => key).join());
  expect(files.toSorted()).toEqual(['ca.crt', 'ca.crt', 'tls.crt,tls.key,ca.crt']);
  expect(JSON.stringify(all)).not.toContain('ca.key');
  expect(JSON.stringify(all)).not.toContain('made-db-ca');
  expect(all.flatMap(({ containers }) => containers[0]?.args ?? [])).toContain('ssl=on');
});

test('while a certificate holds, an operator reads no Secret; two thirds over, it is renewed in place and no pod notices', async () => {
  await deploy('aged');
  await see.untilReady('aged');
  await operator.stop();
  await restart('calm');
  await until(
    'it has looked at both',
    async () => (await metricOf(operator, 'controller_runtime_reconcile_total')) >= 4,
  );
  await untilIdle(operator);
  const asked = auditEvents(inject('auditLog'), operator.userAgent).filter(
    ({ objectRef }) => objectRef?.resource === 'secrets',
  );
  expect(asked.map(({ verb, requestURI }) => `${verb} ${requestURI}`)).toEqual([]);

  const before = await tls('aged');
  const identity = async (): Promise<string[]> =>
    (await pods('aged')).map(({ metadata }) => `${metadata.name} ${metadata.uid}`);
  const known = await still('its pods', identity);
  const old = { now: new Date(Date.now() - 61 * DAY), random: randomBytes };
  const made = createCertificate(before.authority, ['aged-db'], old);
  await kube.patchJson(kinds.secret, { namespace, name: 'aged-db-tls' }, [
    { op: 'replace', path: '/data/tls.crt', value: encoded(made.certificate) },
    { op: 'replace', path: '/data/tls.key', value: encoded(made.key) },
  ]);
  const databaseCertificateUntil = made.until.toISOString();
  await kube.patchStatus(
    kinds.deployment,
    { namespace, name: 'aged' },
    { databaseCertificateUntil },
  );
  await until(
    'it is renewed',
    async () => (await untilOf('aged')) > new Date(Date.now() + 89 * DAY),
  );
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
  await kube.patchJson(kinds.secret, { namespace, name: 'spoilt-db-tls' }, [
    { op: 'replace', path: '/data/tls.key', value: '' },
  ]);
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
  const again = await tls('spoilt');
  expect([again.authority, again.trusted]).toEqual([first.authority, first.trusted]);
  expect(again.server).not.toEqual(second.server);
  await kube.delete(kinds.secret, { namespace, name: 'spoilt-db-ca' });
  await annotate('spoilt', 'reconcile-requested-at', 'without');
  await until('pods trust another authority', () =>
    tls('spoilt').then(
      ({ trusted }) => trusted !== first.trusted,
      () => false,
    ),
  );
  const third = await tls('spoilt');
  expect(third.authority).not.toEqual(first.authority);
  expect(third.trusted).toBe(third.authority.certificate);
  // The Secret is as a backup brings it back.
  for (const name of ['spoilt-db-ca', 'spoilt-db-tls'])
    await kube.patchJson(kinds.secret, { namespace, name }, [
      { op: 'remove', path: '/metadata/ownerReferences' },
    ]);
  await annotate('spoilt', 'reconcile-requested-at', 'three');
  await until("both are the deployment's again", async () =>
    isDeepStrictEqual(await held('spoilt'), apart('spoilt')),
  );
  expect(await tls('spoilt')).toMatchObject({ authority: third.authority, server: third.server });
  await see.untilReady('spoilt');
});

test.each(['Retain', 'Delete'])(
  'both Secrets go with their deployment, whatever becomes of the data: %s',
  async (deletionPolicy) => {
    const name = `gone-${deletionPolicy.toLowerCase()}`;
    await deploy(name, { deletionPolicy });
    await see.untilReady(name);
    expect(await held(name)).toEqual(apart(name));
    await kube.delete(kinds.deployment, { namespace, name });
    await until('the deployment is gone', async () =>
      (await kube.listAll(kinds.deployment, { namespace })).every(
        ({ metadata }) => metadata.name !== name,
      ),
    );
    for (const which of ['ca', 'tls'])
      await expect(see.secret(`${name}-db-${which}`)).rejects.toThrow(/not found/);
  },
);
