import { expect, test } from 'vitest';
import { listExpiredBackups } from '../../../src/schema/wire/backup-expiry.ts';
import { signS3Request } from '../../../src/backup/s3/sign.ts';
import { backupName, parseBackupTime } from '../../../src/schema/wire/backup-message.ts';

const NOW = new Date('2026-11-26T12:00:00Z');
const names = ['20261101t020000z', '20261124t020000z', '20261125t020000z'];

test('the newest backup never expires, whatever its age and the order of the list', () => {
  expect(listExpiredBackups(['20240101t000000z'], { days: 1 }, NOW)).toEqual([]);
  expect(listExpiredBackups(names.toReversed(), { count: 1 }, NOW)).toEqual(names.slice(0, 2));
  expect(listExpiredBackups(names, { days: 1 }, new Date('2027-01-01T00:00:00Z'))).toEqual(
    names.slice(0, 2),
  );
});

test('files that are no backups of ours never expire', () => {
  expect(listExpiredBackups(['notes', ...names], { count: 2 }, NOW)).toEqual(names.slice(0, 1));
});

test('a name is the second in which its backup begins', () => {
  expect(backupName(new Date('2026-11-26T02:03:04.567Z'))).toBe('20261126t020304z');
  expect(parseBackupTime('20261126t020304z')).toBe(Date.parse('2026-11-26T02:03:04Z'));
});

test('a request is signed as the documentation of Signature Version 4 signs its example', () => {
  const headers = signS3Request({
    method: 'GET',
    url: new URL('https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J'),
    bodyHash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
    region: 'us-east-1',
    keys: {
      accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
      secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    },
    now: new Date('2013-05-24T00:00:00Z'),
  });
  expect(headers.authorization).toContain(
    'Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7',
  );
});
