import { describe, expect, test } from 'vitest';
import {
  buildArchiveCommands,
  buildArchiveFiles,
  parseArchiveInfo,
  checkArchiveTarget,
  chooseCopyType,
  decideRetention,
  type BaseCopy,
} from '../../src/schema/wire/pgbackrest.ts';

const target = {
  endpoint: 'https://s3.example.com',
  bucket: 'backups',
  region: 'eu',
  prefix: 'gx',
  pathStyle: false,
};
const place = {
  target,
  keys: { accessKeyId: 'an-id', secretAccessKey: 'a-key' },
  folder: 'gx/a/b',
  data: '/data',
  socket: '/run',
};

describe('the files of pgBackRest', () => {
  test('name the store, and the database', () => {
    const { 'pgbackrest.conf': conf = '', push, ...others } = buildArchiveFiles(place);
    const lines = conf.split('\n');
    for (const line of [
      'repo1-path=/gx/a/b',
      'repo1-s3-endpoint=s3.example.com',
      'repo1-storage-port=443',
      'repo1-s3-uri-style=host',
    ])
      expect(lines).toContain(line);
    expect(lines.slice(lines.indexOf('[db]'))).toEqual([
      '[db]',
      'pg1-path=/data',
      'pg1-socket-path=/run',
      'pg1-user=postgres',
      '',
    ]);
    expect(push).toContain('archive-push "$1"');
    expect(others).toEqual({});
  });

  test('hold the certificate of an authority that nobody knows', () => {
    const files = buildArchiveFiles({
      ...place,
      target: { ...target, endpoint: 'https://store:9000', ca: 'a certificate' },
    });
    expect(files['ca.crt']).toBe('a certificate');
    expect(files['pgbackrest.conf']).toContain('repo1-storage-ca-file=/etc/gx-archive/ca.crt\n');
    expect(files['pgbackrest.conf']).toContain('repo1-storage-port=9000\n');
  });

  test('take no setting from a credential', () => {
    const keys = { accessKeyId: 'an-id\nrepo1-path=/another', secretAccessKey: 'a-key\r\n' };
    const conf = buildArchiveFiles({ ...place, keys })['pgbackrest.conf'] ?? '';
    expect(conf.split('\n').filter((line) => line.startsWith('repo1-path'))).toEqual([
      'repo1-path=/gx/a/b',
    ]);
  });
});

test('a store without TLS is refused', () => {
  expect(checkArchiveTarget(target)).toBeUndefined();
  expect(checkArchiveTarget({ endpoint: 'http://store:9000' })).toContain(
    'http://store:9000 has none',
  );
});

describe('the copies that stay', () => {
  const copies = (types: string): BaseCopy[] =>
    types.split('').map((type, index) => ({
      label: String(index),
      type: type === 'F' ? 'full' : 'diff',
      from: new Date(Date.UTC(2026, 10, 1 + index)).toISOString(),
      bytes: 1,
    }));

  test('are those of so many days, by the rule of pgBackRest', () => {
    expect(decideRetention(copies('FDDF'), { days: 30 })).toEqual({ days: 30 });
    expect(buildArchiveCommands().expire({ days: 30 }).slice(-3)).toEqual([
      '--repo1-retention-full-type=time',
      '--repo1-retention-full=30',
      'expire',
    ]);
  });

  test.each([
    ['FFF', 2, 2],
    ['FDDF', 1, 1],
    ['FDDF', 2, 2],
    ['FDDFDD', 3, 1],
    ['FDDFDD', 4, 2],
    ['F', 7, 1],
  ])('of %s are %i with their full ones, which are %i', (types, count, fulls) => {
    expect(decideRetention(copies(types), { count })).toEqual({ fulls });
  });

  test('are full ones once a week', () => {
    expect(chooseCopyType([], new Date())).toBe('full');
    expect(chooseCopyType(copies('FD'), new Date(Date.UTC(2026, 10, 7)))).toBe('diff');
    expect(chooseCopyType(copies('FD'), new Date(Date.UTC(2026, 10, 8, 1)))).toBe('full');
  });
});

test('a moment is named in UTC, and none means all of the log', () => {
  const { refill } = buildArchiveCommands();
  expect(refill({ copy: 'a', to: { at: '2026-11-28T10:00:00.250Z' } })).toContain(
    '--target=2026-11-28 10:00:00.250+00',
  );
  expect(refill({ copy: 'a', to: 'end of log' }).join(' ')).not.toContain('--type');
  for (const to of ['end of log', { at: '2026-11-28T10:00:00Z' }] as const)
    expect(refill({ copy: 'a', to })).toContain('--target-timeline=current');
  expect(refill({ copy: 'a', to: 'end of copy' })).toContain(
    '--recovery-option=recovery_target_timeline=current',
  );
});

describe('the answer of info', () => {
  const ok = { code: 0, message: 'ok' };
  const copy = {
    label: '20261128-103742F',
    type: 'full',
    error: false,
    timestamp: { start: 1, stop: 1_795_862_266 },
  };
  const info = { repository: { delta: 3_767_372 } };
  const answer = (more: object): string =>
    JSON.stringify([{ name: 'db', status: ok, repo: [{ status: ok }], backup: [], ...more }]);

  test('lists copies from the second after the end of each on', () => {
    expect(parseArchiveInfo(answer({ backup: [{ ...copy, info }] }))).toEqual({
      copies: [
        {
          label: '20261128-103742F',
          type: 'full',
          from: '2026-11-28T10:37:47.000Z',
          bytes: 3_767_372,
        },
      ],
    });
  });

  test('a copy with damaged pages does not count', () => {
    expect(parseArchiveInfo(answer({ backup: [{ ...copy, info, error: true }] }))).toEqual({
      copies: [],
    });
  });

  test('a folder with nothing in it is no trouble', () => {
    expect(parseArchiveInfo('[]')).toEqual({ copies: [] });
    const status = { code: 2, message: 'no valid backups' };
    expect(parseArchiveInfo(answer({ status, repo: [{ status }] }))).toEqual({ copies: [] });
  });

  test('a store that does not answer is', () => {
    const status = { code: 99, message: '[HostConnectError] unable to get address' };
    expect(
      parseArchiveInfo(answer({ status: { code: 99, message: 'other' }, repo: [{ status }] })),
    ).toEqual({
      trouble: '[HostConnectError] unable to get address',
    });
  });
});
