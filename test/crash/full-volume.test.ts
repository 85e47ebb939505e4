import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { until } from '../kit/until.ts';
import { smallVolume, type SmallVolume } from './small-volume.ts';

/*
 * The database's volume fills up, as in a pod. The image's scripts run on a volume of 640 MiB, of which a twentieth is
 * 32.
 */
const SIZE = 640;
let volume: SmallVolume;
let postgres: ChildProcess;

beforeEach(async () => {
  volume = smallVolume(SIZE);
  postgres = volume.startPostgres();
  await volume.answers();
});
afterEach(() => volume.remove());

const level = async (): Promise<string | undefined> => (await volume.guardTells()).split(' ')[0];

describe('the volume of a database', () => {
  test('that fills is told level by level, and takes no writes before it is full, until there is room again', async () => {
    const session = await volume.connect();
    await session.query('create table kept (id int)');
    const write = (): Promise<unknown> => session.query('insert into kept values (1)');
    volume.leave(SIZE * 0.19);
    expect(await level()).toBe('nearly-full');
    volume.leave(SIZE * 0.09);
    expect(await level()).toBe('almost-full');
    await write();
    volume.leave(SIZE * 0.04);
    expect(await level()).toBe('full');
    await until(
      'the open session takes no writes',
      () =>
        write().then(
          () => false,
          ({ code }: { code: string }) => code === '25006',
        ),
      10,
    );
    expect((await session.query('select * from kept')).rows.length).toBeGreaterThan(0);
    volume.leave(SIZE * 0.3);
    expect(await level()).toBe('roomy');
    await until(
      'it takes writes',
      () =>
        write().then(
          () => true,
          () => false,
        ),
      10,
    );
    await session.end();
  });
});

/** Writes to the log faster than the guard looks. Only the end of the volume stops it. */
async function fillTheLog(): Promise<void> {
  const session = await volume.connect();
  await session.query(`create table kept as select 1 as id`);
  // The room is smaller than the log's next segment.
  volume.leave(10);
  const write = (): Promise<boolean> =>
    session
      .query(
        `select count(pg_logical_emit_message(false, 'test', repeat('x', 1000000))) from generate_series(1, 10)`,
      )
      .then(
        () => true,
        () => false,
      );
  while (await write());
  await session.end().catch(() => undefined);
}

const waitsFor = (what: string, holds: () => Promise<boolean>): Promise<boolean> =>
  until(what, holds, 10);
const answerOf = async (text: string): Promise<string> => {
  const session = await volume.connect();
  const answer = await session.query(text).then(
    ({ rows }) => JSON.stringify(rows),
    ({ code }: { code: string }) => code,
  );
  await session.end();
  return answer;
};
const READ_ONLY = '25006';

describe('a volume that is full before the guard has looked', () => {
  test('stops Postgres, which starts on the reserve, read-only, and goes on once there is room', async () => {
    volume.startGuard();
    await waitsFor('the reserve is made', () => Promise.resolve(volume.has('reserve')));
    await volume.stopGuard();
    const ended = once(postgres, 'exit');
    await fillTheLog();
    await ended;
    expect(volume.log()).toContain('No space left on device');
    // Without the reserve, Postgres would fail again and again.
    volume.hide('reserve', true);
    const [code] = (await once(volume.startPostgres(), 'exit')) as [number];
    expect(code).not.toBe(0);
    volume.hide('reserve', false);
    postgres = volume.startPostgres();
    await volume.answers();
    expect(volume.has('reserve')).toBe(false);
    expect(await answerOf('select * from kept')).toBe('[{"id":1}]');
    expect(await answerOf('insert into kept values (2)')).toBe(READ_ONLY);
    expect(await level()).toBe('full');
    expect(await answerOf('insert into kept values (2)')).toBe(READ_ONLY);
    volume.leave(SIZE / 2);
    expect(await level()).toBe('roomy');
    await waitsFor(
      'it takes writes',
      async () => (await answerOf('insert into kept values (2)')) === '[]',
    );
    await waitsFor('there is a reserve again', () => Promise.resolve(volume.has('reserve')));
  });
});
