import { expect, test } from 'vitest';
import { readBackupSettings } from '../../src/config/platform/backups.ts';
import { SettingsReader } from '../../src/config/env.ts';

const TARGET = {
  name: 'main',
  endpoint: 'https://s3.example.com/',
  bucket: 'our-backups',
  secretName: 'store',
};
const read = (
  targets: unknown,
  env: Record<string, string> = { GX_PLATFORM_IMAGE: 'platform:1' },
) => {
  const reader = new SettingsReader({ GX_BACKUP_TARGETS: JSON.stringify(targets), ...env });
  return { value: readBackupSettings(reader), problems: reader.problems };
};

test('a target has a region, no prefix and the host of its bucket unless it says otherwise', () => {
  expect(read([TARGET])).toEqual({
    value: {
      targets: {
        main: {
          endpoint: 'https://s3.example.com',
          bucket: 'our-backups',
          region: 'us-east-1',
          prefix: '',
          pathStyle: false,
          secretName: 'store',
        },
      },
      atOnce: 2,
      deadlineMinutes: 360,
      verifyDays: 7,
      image: 'platform:1',
    },
    problems: [],
  });
  expect(read([{ ...TARGET, prefix: '/gx/prod/' }]).value.targets.main?.prefix).toBe('gx/prod');
});

test('a target may be a volume claim', () => {
  expect(read([{ name: 'disk', claim: 'gx-backups', prefix: '/gx/' }])).toMatchObject({
    value: { targets: { disk: { claim: 'gx-backups', prefix: 'gx' } } },
    problems: [],
  });
});

test.each([
  [
    'an endpoint with a path',
    [{ ...TARGET, endpoint: 'https://s3.example.com/bucket' }],
    'GX_BACKUP_TARGETS[0].endpoint must be',
  ],
  [
    'a bucket that is none',
    [{ ...TARGET, bucket: 'A' }],
    "GX_BACKUP_TARGETS[0].bucket must be a bucket's name",
  ],
  [
    'a prefix that climbs',
    [{ ...TARGET, prefix: '../others' }],
    'GX_BACKUP_TARGETS[0].prefix must be',
  ],
  [
    'no Secret',
    [{ ...TARGET, secretName: undefined }],
    'GX_BACKUP_TARGETS[0].secretName is not set',
  ],
  [
    'a field of no target',
    [{ ...TARGET, claimName: 'disk' }],
    'GX_BACKUP_TARGETS[0].claimName is not a field of a target that speaks S3',
  ],
  [
    'a misspelt field',
    [{ ...TARGET, secretname: 'x' }],
    '.secretname is not a field of a target that speaks S3; did you mean "secretName"?',
  ],
  [
    'a claim with a bucket',
    [{ ...TARGET, claim: 'disk' }],
    '.bucket is not a field of a target that is a volume claim',
  ],
  [
    'a claim of another namespace',
    [{ name: 'disk', claim: 'other/disk' }],
    "GX_BACKUP_TARGETS[0].claim must be a volume claim's name",
  ],
  [
    'a name that is taken',
    [TARGET, TARGET],
    'GX_BACKUP_TARGETS[1].name: another target has the name main',
  ],
  ['no list', {}, 'GX_BACKUP_TARGETS must be a list'],
])('%s is refused with the field', (_what, targets, words) => {
  expect(read(targets).problems.join('; ')).toContain(words);
});

test('targets need the image whose program sends backups', () => {
  expect(read([TARGET], {}).problems).toEqual([
    'GX_PLATFORM_IMAGE is not set (the image that sends backups)',
  ]);
  expect(read([], {}).problems).toEqual([]);
});
