import { describeNearestName } from '../../nearest-name.ts';
import { isObject } from '../../schema/json.ts';
import type { ClaimTarget, S3Target } from '../../schema/wire/backup-message.ts';
import type { SettingsReader } from '../env.ts';
import { type SettingCheck, isAnyText, isNonEmptyText } from './checks.ts';

/** A target of the installation. The credential of one that speaks S3 is a Secret in the deployment's namespace. */
export type NamedTarget = (S3Target & { secretName: string }) | ClaimTarget;

export type Backups = {
  targets: Record<string, NamedTarget>;
  /** How many backups are made at once. */
  atOnce: number;
  /** Minutes after which a backup is ended that is not complete. */
  deadlineMinutes: number;
  /** Days between two verifications of a deployment's backups. 0: there are none. */
  verifyDays: number;
  /** The image of the platform, whose program sends a backup. */
  image: string;
};

const isLabel: SettingCheck = (value) =>
  typeof value === 'string' && value.length <= 63 && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(value);

type Fields = Record<string, { check: SettingCheck; isNeeded?: boolean; says: string }>;

/** The fields of every target, which are those of the chart's settings.backups.targets. */
const FIELDS: Fields = {
  name: { check: isLabel, isNeeded: true, says: 'a DNS label' },
  prefix: {
    check: (value) =>
      typeof value === 'string' && /^[\w./-]*$/.test(value) && !value.includes('..'),
    says: 'a path of letters, digits, "-", "_", "." and "/"',
  },
};

const OF_CLAIM: Fields = {
  ...FIELDS,
  claim: {
    check: (value) =>
      typeof value === 'string' &&
      value.length <= 253 &&
      /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(value),
    isNeeded: true,
    says: "a volume claim's name",
  },
};

/** The fields of a target that speaks S3. */
const OF_S3: Fields = {
  ...FIELDS,
  endpoint: {
    check: (value) =>
      typeof value === 'string' && URL.canParse(value) && /^https?:\/\/[^/?#@]+\/?$/.test(value),
    isNeeded: true,
    says: 'an http or https address without a path',
  },
  bucket: {
    check: (value) => typeof value === 'string' && /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(value),
    isNeeded: true,
    says: "a bucket's name",
  },
  region: { check: isAnyText, says: 'a text' },
  ca: { check: isAnyText, says: 'certificates in PEM' },
  pathStyle: { check: (value) => typeof value === 'boolean', says: 'true or false' },
  secretName: { check: isNonEmptyText, isNeeded: true, says: "a Secret's name" },
};

/** Reads where backups go. Each fault is named with its target and field. */
export function readBackupSettings(read: SettingsReader): Backups {
  const given = read.readJson(['GX_BACKUP_TARGETS']) ?? [];
  const list = Array.isArray(given) ? given : [];
  if (!Array.isArray(given)) read.addProblem('GX_BACKUP_TARGETS must be a list in JSON');
  const targets: Backups['targets'] = {};
  for (const [index, value] of list.entries()) {
    const faults = checkTarget(value);
    for (const fault of faults) read.addProblem(`GX_BACKUP_TARGETS[${index}]${fault}`);
    if (faults.length > 0) continue;
    const target = toNamedTarget(value as TargetSetting);
    if (target.name in targets)
      read.addProblem(
        `GX_BACKUP_TARGETS[${index}].name: another target has the name ${target.name}`,
      );
    targets[target.name] = target.settings;
  }
  const image = read.readOptional(['GX_PLATFORM_IMAGE']);
  if (list.length > 0 && image === undefined)
    read.addProblem('GX_PLATFORM_IMAGE is not set (the image that sends backups)');
  return {
    targets,
    atOnce: read.readInteger(['GX_BACKUPS_AT_ONCE'], 2, { min: 1, max: 1000 }),
    deadlineMinutes: read.readInteger(['GX_BACKUP_DEADLINE_MINUTES'], 360, { min: 1, max: 10_080 }),
    verifyDays: read.readInteger(['GX_BACKUP_VERIFY_DAYS'], 7, { min: 0, max: 365 }),
    image: image ?? '',
  };
}

function checkTarget(value: unknown): string[] {
  if (!isObject(value)) return [' must be an object'];
  const [fields, kind] =
    'claim' in value
      ? [OF_CLAIM, 'a target that is a volume claim']
      : [OF_S3, 'a target that speaks S3'];
  const missing = Object.keys(fields).filter(
    (name) => fields[name]?.isNeeded === true && value[name] === undefined,
  );
  const wrong = Object.keys(value).filter((name) => fields[name]?.check(value[name]) === false);
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(fields, name));
  return [
    ...missing.map((name) => `.${name} is not set (${fields[name]?.says})`),
    ...wrong.map((name) => `.${name} must be ${fields[name]?.says}`),
    ...unknown.map(
      (name) =>
        `.${name} is not a field of ${kind}${describeNearestName(name, Object.keys(fields))}`,
    ),
  ];
}

type GivenS3 = Partial<S3Target> & { endpoint: string; bucket: string; secretName: string };
type TargetSetting = { name: string } & (GivenS3 | (Partial<ClaimTarget> & { claim: string }));

function toNamedTarget({ name, prefix: folder = '', ...given }: TargetSetting): {
  name: string;
  settings: NamedTarget;
} {
  const prefix = folder.replace(/^\/+|\/+$/g, '');
  if ('claim' in given) return { name, settings: { claim: given.claim, prefix } };
  const { endpoint, bucket, secretName, region = '', pathStyle = false, ca = '' } = given;
  const settings: NamedTarget = {
    endpoint: endpoint.replace(/\/$/, ''),
    bucket,
    region: region === '' ? 'us-east-1' : region,
    prefix,
    pathStyle,
    ...(ca.trim() !== '' && { ca }),
    secretName,
  };
  return { name, settings };
}
