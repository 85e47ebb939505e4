import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { checkBackup } from '../../src/backup/restore.ts';
import { backUp } from '../../src/backup/run.ts';
import { sha256, signed } from '../../src/backup/s3/sign.ts';
import { S3Store } from '../../src/backup/s3/store.ts';
import { S3_KEYS, startS3Server, type S3Server } from '../kit/s3-server.ts';
import { backupsAt } from './backups-at.ts';

/* The policy of the page, at a real S3 server that holds a credential to it. */

const USER = { accessKeyId: 'a-tenant', secretAccessKey: 'the-secret-of-a-tenant' };
const TENANT = '00000000-0000-4000-8000-000000000000';
const OTHERS = 'gx/11111111-1111-4111-8111-111111111111/an-id';
const { signal } = new AbortController();
let store: S3Server;
let pipe: string;
const at = backupsAt(() => ({ target: store.target, mount: '/none', pipe }));
const as = (keys: typeof USER): S3Store => new S3Store(store.target, keys, { signal, pauses: [] });

type Policy = { Version: string; Statement: object[] };
/** Returns the policy of the page as one of a bucket, which says whose it is. */
function policyOfPage(): Policy {
  const [, text = ''] = /^```json\n(.*?)^```$/ms.exec(readFileSync('docs/how-to/backups.md', 'utf8')) ?? [];
  const { Version, Statement } = JSON.parse(text.replaceAll('our-backups', store.target.bucket)) as Policy;
  return { Version, Statement: Statement.map((statement) => ({ ...statement, Principal: { AWS: [USER.accessKeyId] } })) };
}

async function putPolicy(policy: Policy): Promise<void> {
  const url = new URL(`${store.target.endpoint}/${store.target.bucket}?policy=`);
  const body = JSON.stringify(policy);
  const signing = { method: 'PUT', url, bodyHash: sha256(body), region: store.target.region, keys: S3_KEYS, now: new Date() };
  const answer = await fetch(url, { method: 'PUT', headers: signed(signing), body });
  if (!answer.ok) throw new Error(await answer.text());
}

beforeAll(async () => {
  store = await startS3Server({ user: USER });
  await as(S3_KEYS).write(`${OTHERS}/owner.json`, '{}');
});
afterAll(() => store.stop());
beforeEach(async () => {
  pipe = await mkdtemp(join(tmpdir(), 'gx-pipe-'));
});
afterEach(() => rm(pipe, { recursive: true }));

test('without it the credential may do nothing', async () => {
  await expect(backUp(at.configFor(at.order(), { keys: USER }), signal)).rejects.toMatchObject({ reason: 'TargetRefused' });
});

test('with it backups of the tenant are made, removed and looked at', async () => {
  await putPolicy(policyOfPage());
  const order = at.order({ keep: { count: 1 } });
  const bytes = randomBytes(40 * 1_048_576);
  for (const name of ['20261126t020000z', '20261127t020000z'])
    expect(await at.run({ ...order, name }, bytes, { keys: USER })).not.toHaveProperty('trouble');
  const folder = at.folderOf(order);
  expect((await store.keys()).filter((key) => key.startsWith(folder))).toEqual([
    `${folder}/catalogue/20261127t020000z.json`,
    `${folder}/dumps/20261127t020000z`,
    `${folder}/owner.json`,
  ]);
  await writeFile(join(pipe, 'found'), '17.6\nempty\n');
  const { owner, target } = order;
  const asked = { order: { target, owner, into: 'another', resume: true }, encryptionKeys: [], terminationLog: '/dev/null' };
  const look = checkBackup({ ...asked, keys: USER, mount: '/none', pipe, pauses: [] }, signal);
  await expect(look).rejects.toMatchObject({ reason: 'KeysMissing' });
});

test('and nothing of another tenant is read, written, removed or listed', async () => {
  const user = as(USER);
  const refused = { reason: 'TargetRefused', message: expect.stringContaining('AccessDenied') as string };
  await expect(user.read(`${OTHERS}/owner.json`)).rejects.toMatchObject(refused);
  await expect(user.write(`${OTHERS}/owner.json`, 'mine')).rejects.toMatchObject(refused);
  await expect(user.remove(`${OTHERS}/owner.json`)).rejects.toMatchObject(refused);
  for (const folder of [`${OTHERS}/`, 'gx/', '']) await expect(user.keysBelow(folder)).rejects.toMatchObject(refused);
  expect((await store.content(`${OTHERS}/owner.json`)).toString()).toBe('{}');
  expect((await user.keysBelow(`gx/${TENANT}/`)).length).toBeGreaterThan(0);
});
