import { hash } from 'node:crypto';
import type { OperatorSettings } from '../../config/platform/operator.ts';
import type {
  BackupResource,
  DeploymentResource,
} from '../../schema/platform/resources/custom-resources.ts';
import { isOverdueSince } from './result.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Types of deployments from git whose backups are not verified. */
const DEV = ['dev', 'dev_free'];

/** The decision about the next verification of a deployment's backups. */
export type VerifyPlan = {
  running: BackupResource | undefined;
  /** The backup to verify as soon as it is its turn. */
  due: BackupResource | undefined;
  dueAt: Date | undefined;
  verifiedAt: string | undefined;
  /** The backup whose verification was the last one, and failed. */
  failed: BackupResource | undefined;
};

/** Decides about verifications. Undefined if the deployment has none. */
export function planVerification(
  deployment: DeploymentResource,
  backups: readonly BackupResource[],
  settings: OperatorSettings,
  now: Date,
): VerifyPlan | undefined {
  const days = settings.backups.verifyDays;
  if (!isVerified(deployment, days)) return undefined;
  const good = backups
    .filter(({ status }) => status?.phase === 'Succeeded')
    .toSorted((a, b) => (a.spec.backup < b.spec.backup ? -1 : 1));
  const newest = good.at(-1);
  const verifiedAt = findLatest(good.map(({ status }) => status?.verified));
  const failedAt = findLatest(good.map(({ status }) => status?.verifyFailed));
  const failed = good.find(
    ({ status }) =>
      failedAt !== undefined &&
      status?.verifyFailed === failedAt &&
      (verifiedAt === undefined || Date.parse(failedAt) > Date.parse(verifiedAt)),
  );
  const running = good.find(({ status }) => status?.verifying !== undefined);
  const dueAt = newest && chooseDueTime(verifiedAt, failed && failedAt, days, deployment, now);
  const isDue = running === undefined && dueAt !== undefined && dueAt <= now;
  return { running, dueAt, due: isDue ? newest : undefined, verifiedAt, failed };
}

const isVerified = ({ spec }: DeploymentResource, days: number): boolean =>
  spec.database?.backup !== undefined &&
  days > 0 &&
  !DEV.includes(spec.sourceConfig?.deploymentType ?? '');

const findLatest = (times: readonly (string | undefined)[]): string | undefined =>
  times
    .filter((time) => time !== undefined)
    .toSorted((a, b) => Date.parse(a) - Date.parse(b))
    .at(-1);

/** The first backup is verified at once, then one in so many days. A failed verification is repeated after a day. */
function chooseDueTime(
  verifiedAt: string | undefined,
  failedAt: string | undefined,
  days: number,
  { metadata }: DeploymentResource,
  now: Date,
): Date {
  if (failedAt !== undefined) return new Date(Date.parse(failedAt) + DAY);
  if (verifiedAt === undefined) return now;
  // Each has an hour of its own, so that many are not due at once.
  const share = parseInt(hash('sha256', metadata.uid ?? '').slice(0, 8), 16) / 0x1_0000_0000;
  return new Date(Date.parse(verifiedAt) + days * DAY + Math.floor(share * HOUR));
}

/** Returns true if a verification was begun so long ago that its Job can't be under way any more. */
export const isVerificationLost = (
  { status }: BackupResource,
  now: Date,
  deadlineMinutes: number,
): boolean => isOverdueSince(status?.verifying, now, deadlineMinutes);
