import { describe, expect, test } from 'vitest';
import { archiveFiles, archiveIn, archiveTargetFault, copyCommand, refillCommand } from '../../src/schema/wire/pgbackrest.ts';

const target = { endpoint: 'https://s3.example.com', bucket: 'backups', region: 'eu', prefix: 'gx', pathStyle: false };
const place = { target, keys: { accessKeyId: 'an-id', secretAccessKey: 'a-key' }, folder: 'gx/a/b', data: '/data', socket: '/run' };

describe('the files of pgBackRest', () => {
  test('name the store, and the database', () => {
    const { 'pgbackrest.conf': conf = '', push, ...others } = archiveFiles(place);
    const lines = conf.split('\n');
    for (const line of ['repo1-path=/gx/a/b', 'repo1-s3-endpoint=s3.example.com', 'repo1-storage-port=443', 'repo1-s3-uri-style=host'])
      expect(lines).toContain(line);
    expect(lines.slice(lines.indexOf('[db]'))).toEqual(['[db]', 'pg1-path=/data', 'pg1-socket-path=/run', 'pg1-user=postgres', '']);
    expect(push).toContain('archive-push "$1"');
    expect(others).toEqual({});
  });

  test('hold the certificate of an authority that nobody knows', () => {
    const files = archiveFiles({ ...place, target: { ...target, endpoint: 'https://store:9000', ca: 'a certificate' } });
    expect(files['ca.crt']).toBe('a certificate');
    expect(files['pgbackrest.conf']).toContain('repo1-storage-ca-file=/etc/gx-archive/ca.crt\n');
    expect(files['pgbackrest.conf']).toContain('repo1-storage-port=9000\n');
  });

  test('take no setting from a credential', () => {
    const keys = { accessKeyId: 'an-id\nrepo1-path=/another', secretAccessKey: 'a-key\r\n' };
    const conf = archiveFiles({ ...place, keys })['pgbackrest.conf'] ?? '';
    expect(conf.split('\n').filter((line) => line.startsWith('repo1-path'))).toEqual(['repo1-path=/gx/a/b']);
  });
});

test('a store without TLS is refused', () => {
  expect(archiveTargetFault(target)).toBeUndefined();
  expect(archiveTargetFault({ endpoint: 'http://store:9000' })).toContain('http://store:9000 has none');
});

test('copies are kept by their number or by days', () => {
  expect(copyCommand('full', { count: 3 }).slice(-3)).toEqual(['--repo1-retention-full-type=count', '--repo1-retention-full=3', 'backup']);
  expect(copyCommand('diff', { days: 30 }).slice(-4)).toEqual([
    '--type=diff',
    '--repo1-retention-full-type=time',
    '--repo1-retention-full=30',
    'backup',
  ]);
});

test('a moment is named in UTC, and none means all of the log', () => {
  expect(refillCommand(new Date('2026-11-28T10:00:00.250Z'))).toContain('--target=2026-11-28 10:00:00.250+00');
  expect(refillCommand().join(' ')).not.toContain('--type');
});

describe('the answer of info', () => {
  const ok = { code: 0, message: 'ok' };
  const copy = { label: '20261128-103742F', type: 'full', error: false, timestamp: { start: 1, stop: 1_795_862_266 } };
  const info = { repository: { delta: 3_767_372 } };
  const answer = (more: object): string => JSON.stringify([{ name: 'db', status: ok, repo: [{ status: ok }], backup: [], ...more }]);

  test('lists copies from the second after the end of each on', () => {
    expect(archiveIn(answer({ backup: [{ ...copy, info }] }))).toEqual({
      copies: [{ label: '20261128-103742F', type: 'full', from: '2026-11-28T10:37:47.000Z', bytes: 3_767_372 }],
    });
  });

  test('a copy with damaged pages does not count', () => {
    expect(archiveIn(answer({ backup: [{ ...copy, info, error: true }] }))).toEqual({ copies: [] });
  });

  test('a folder with nothing in it is no trouble', () => {
    expect(archiveIn('[]')).toEqual({ copies: [] });
    const status = { code: 2, message: 'no valid backups' };
    expect(archiveIn(answer({ status, repo: [{ status }] }))).toEqual({ copies: [] });
  });

  test('a store that does not answer is', () => {
    const status = { code: 99, message: '[HostConnectError] unable to get address' };
    expect(archiveIn(answer({ status: { code: 99, message: 'other' }, repo: [{ status }] }))).toEqual({
      trouble: '[HostConnectError] unable to get address',
    });
  });
});
