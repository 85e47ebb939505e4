import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { checkBackup } from '../../src/backup/restore.ts';
import { createBackup } from '../../src/backup/run.ts';
import { hashSha256, signS3Request } from '../../src/backup/s3/sign.ts';
import { S3Store } from '../../src/backup/s3/store.ts';
import { POLICY_TENANT, POLICY_USER, policyOfPage, type BucketPolicy } from '../kit/page-policy.ts';
import { S3_KEYS, startS3Server, type S3Server } from '../kit/s3-server.ts';
import { backupsAt } from './backups-at.ts';
import { newPipe } from './dump-double.ts';

/* The policy of the page, at a real S3 server that holds a credential to it. */

const OTHERS = 'gx/11111111-1111-4111-8111-111111111111/an-id';
const { signal } = new AbortController();
let store: S3Server;
let pipe: string;
const at = backupsAt(() => ({ target: store.target, mount: '/none', pipe }));
const as = (keys: typeof POLICY_USER): S3Store =>
  new S3Store(store.target, keys, { signal, pauses: [] });

async function putPolicy(policy: BucketPolicy): Promise<void> {
  const url = new URL(`${store.target.endpoint}/${store.target.bucket}?policy=`);
  const body = JSON.stringify(policy);
  const signing = {
    method: 'PUT',
    url,
    bodyHash: hashSha256(body),
    region: store.target.region,
    keys: S3_KEYS,
    now: new Date(),
  };
  const answer = await fetch(url, { method: 'PUT', headers: signS3Request(signing), body });
  if (!answer.ok) throw new Error(await answer.text());
}

beforeAll(async () => {
  store = await startS3Server({ user: POLICY_USER });
  await as(S3_KEYS).write(`${OTHERS}/owner.json`, '{}');
});
afterAll(() => store.stop());
beforeEach(async () => {
  pipe = await newPipe();
});
afterEach(() => rm(pipe, { recursive: true }));

test('without it the credential may do nothing', async () => {
  await expect(
    createBackup(at.configFor(at.order(), { keys: POLICY_USER }), signal),
  ).rejects.toMatchObject({ reason: 'TargetRefused' });
});

test('with it backups of the tenant are made, removed and looked at', async () => {
  await putPolicy(policyOfPage(store.target.bucket));
  const order = at.order({ keep: { count: 1 } });
  const bytes = randomBytes(40 * 1_048_576);
  for (const name of ['20261126t020000z', '20261127t020000z'])
    expect(await at.run({ ...order, name }, bytes, { keys: POLICY_USER })).not.toHaveProperty(
      'trouble',
    );
  const folder = at.folderOf(order);
  expect((await store.keys()).filter((key) => key.startsWith(folder))).toEqual([
    `${folder}/catalogue/20261127t020000z.json`,
    `${folder}/dumps/20261127t020000z`,
    `${folder}/owner.json`,
  ]);
  await writeFile(join(pipe, 'answers', 'found'), '17.6\nempty\n');
  const { owner, target } = order;
  const asked = {
    order: { target, owner, into: 'another', resume: true },
    encryptionKeys: [],
    terminationLog: '/dev/null',
  };
  const look = checkBackup(
    { ...asked, keys: POLICY_USER, mount: '/none', pipe, copier: '/none', pauses: [] },
    signal,
  );
  await expect(look).rejects.toMatchObject({ reason: 'KeysMissing' });
});

test('and nothing of another tenant is read, written, removed or listed', async () => {
  const user = as(POLICY_USER);
  const refused = {
    reason: 'TargetRefused',
    message: expect.stringContaining('AccessDenied') as string,
  };
  await expect(user.read(`${OTHERS}/owner.json`)).rejects.toMatchObject(refused);
  await expect(user.write(`${OTHERS}/owner.json`, 'mine')).rejects.toMatchObject(refused);
  await expect(user.remove(`${OTHERS}/owner.json`)).rejects.toMatchObject(refused);
  for (const folder of [`${OTHERS}/`, 'gx/', ''])
    await expect(user.listKeys(folder)).rejects.toMatchObject(refused);
  expect((await store.content(`${OTHERS}/owner.json`)).toString()).toBe('{}');
  expect((await user.listKeys(`gx/${POLICY_TENANT}/`)).length).toBeGreaterThan(0);
});
