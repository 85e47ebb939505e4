import { readFileSync } from 'node:fs';

/** The tenant, and the credential, that the policy of the page on backups is for. */
export const POLICY_TENANT = '00000000-0000-4000-8000-000000000000';
export const POLICY_USER = { accessKeyId: 'a-tenant', secretAccessKey: 'the-secret-of-a-tenant' };

export type BucketPolicy = { Version: string; Statement: object[] };

/** Returns the policy of the page as one of a bucket, which says whose it is. */
export function policyOfPage(bucket: string): BucketPolicy {
  const [, text = ''] =
    /^```json\n(.*?)^```$/ms.exec(readFileSync('docs/how-to/backups.md', 'utf8')) ?? [];
  const { Version, Statement } = JSON.parse(text.replaceAll('our-backups', bucket)) as BucketPolicy;
  return {
    Version,
    Statement: Statement.map((statement) => ({
      ...statement,
      Principal: { AWS: [POLICY_USER.accessKeyId] },
    })),
  };
}
