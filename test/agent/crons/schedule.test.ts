import { describe, expect, test } from 'vitest';
import { checkWhen, endTime, findNextTime } from '../../../src/agent/crons/when.ts';

/** Returns the next times at which a schedule fires, in UTC. */
function timesOf(schedule: string, timezone: string | null, from: string, count: number): string[] {
  const times: string[] = [];
  for (
    let at: Date | undefined = new Date(from);
    times.length < count;
    times.push(at.toISOString().slice(0, 16))
  ) {
    at = findNextTime({ schedule, timezone }, at);
    if (at === undefined) break;
  }
  return times;
}

type Row = [zone: string, what: string, schedule: string, from: string, times: string[]];

/*
 * In 2026 clocks go forward and back in New York (an hour at 2:00), Berlin (an hour at 2:00 and 3:00), on Lord Howe
 * Island (half an hour at 2:00) and in Santiago (an hour at midnight).
 */
const CHANGES: Row[] = [
  [
    'America/New_York',
    'a time in the gap',
    '30 2 * * *',
    '2026-03-07T12:00Z',
    ['2026-03-08T07:00', '2026-03-09T06:30'],
  ],
  [
    'America/New_York',
    'two times in the gap',
    '15,45 2 * * *',
    '2026-03-07T12:00Z',
    ['2026-03-08T07:00', '2026-03-09T06:15'],
  ],
  [
    'America/New_York',
    'every half hour over the gap',
    '*/30 * * * *',
    '2026-03-08T06:00Z',
    ['2026-03-08T06:30', '2026-03-08T07:00', '2026-03-08T07:30'],
  ],
  [
    'America/New_York',
    'a time that comes twice',
    '30 1 * * *',
    '2026-10-31T12:00Z',
    ['2026-11-01T05:30', '2026-11-02T06:30'],
  ],
  [
    'America/New_York',
    'every hour while an hour comes twice',
    '30 * * * *',
    '2026-11-01T05:00Z',
    ['2026-11-01T05:30', '2026-11-01T06:30', '2026-11-01T07:30'],
  ],
  [
    'Europe/Berlin',
    'a time in the gap',
    '30 2 * * *',
    '2026-03-28T12:00Z',
    ['2026-03-29T01:00', '2026-03-30T00:30'],
  ],
  [
    'Europe/Berlin',
    'a time that comes twice',
    '30 2 * * *',
    '2026-10-24T12:00Z',
    ['2026-10-25T00:30', '2026-10-26T01:30'],
  ],
  [
    'Europe/Berlin',
    'every hour while an hour comes twice',
    '0 * * * *',
    '2026-10-24T23:30Z',
    ['2026-10-25T00:00', '2026-10-25T01:00', '2026-10-25T02:00'],
  ],
  [
    'Australia/Lord_Howe',
    'a time in the gap',
    '15 2 * * *',
    '2026-10-03T00:00Z',
    ['2026-10-03T15:30', '2026-10-04T15:15'],
  ],
  [
    'Australia/Lord_Howe',
    'a time that comes twice',
    '45 1 * * *',
    '2026-04-04T00:00Z',
    ['2026-04-04T14:45', '2026-04-05T15:15'],
  ],
  [
    'Australia/Lord_Howe',
    'every half hour while one comes twice',
    '*/30 * * * *',
    '2026-04-04T14:15Z',
    ['2026-04-04T14:30', '2026-04-04T15:00', '2026-04-04T15:30'],
  ],
  [
    'America/Santiago',
    'midnight in the gap',
    '0 0 * * *',
    '2026-09-05T12:00Z',
    ['2026-09-06T04:00', '2026-09-07T03:00'],
  ],
  [
    'America/Santiago',
    'a time that comes twice',
    '30 23 * * *',
    '2026-04-04T12:00Z',
    ['2026-04-05T02:30', '2026-04-06T03:30'],
  ],
  [
    'America/Santiago',
    'every hour over the gap',
    '0 * * * *',
    '2026-09-06T03:30Z',
    ['2026-09-06T04:00', '2026-09-06T05:00'],
  ],
];

describe('changes of clocks', () => {
  test.each(CHANGES)('%s: %s', (...[zone, , schedule, from, times]) => {
    expect(timesOf(schedule, zone, from, times.length)).toEqual(times);
  });
});

describe('schedules', () => {
  test('have five fields, or six with seconds', () => {
    expect(timesOf('0 0 1 1 *', 'America/New_York', '2026-11-23T00:00Z', 1)).toEqual([
      '2027-01-01T05:00',
    ]);
    expect(
      findNextTime(
        { schedule: '*/30 * * * * *', timezone: null },
        new Date('2026-11-23T00:00:10Z'),
      )?.toISOString(),
    ).toBe('2026-11-23T00:00:30.000Z');
  });

  test('without a zone are in UTC', () => {
    expect(timesOf('0 9 * * MON', null, '2026-11-23T09:00Z', 1)).toEqual(['2026-11-30T09:00']);
  });

  const now = new Date('2026-11-23T00:00Z');
  test.each([
    ['61 * * * *', 'minute'],
    ['* * * *', 'five'],
    ['* * * * * * *', '5 or 6'],
    ['tomorrow', 'five'],
    ['2027-01-01T00:00:00', 'this is a date'],
    ['@reboot', '@reboot'],
    ['0 0 30 2 *', 'never fires'],
  ])('%s is refused', (schedule, why) => {
    expect(() => checkWhen({ schedule, timezone: null }, now)).toThrow(why);
    expect(() => checkWhen({ schedule, timezone: null }, now)).toThrow('body.schedule');
  });

  test.each(['Mars/Base', '+02:00', ''])('time zone "%s" is refused', (timezone) => {
    expect(() => checkWhen({ schedule: '* * * * *', timezone }, now)).toThrow('body.timezone');
  });
});

describe('an end', () => {
  test.each([
    ['2027-01-31T12:00:00Z', '2027-01-31T12:00:00.000Z'],
    ['2027-01-31T12:00:00+02:00', '2027-01-31T10:00:00.000Z'],
    ['2027-01-31T12:00:00.123456', '2027-01-31T12:00:00.123Z'],
    ['2027-01-31', '2027-01-31T00:00:00.000Z'],
  ])('%s is read', (text, time) => {
    expect(endTime(text).toISOString()).toBe(time);
  });

  test.each(['soon', '2027-13-01T00:00:00Z', '31.01.2027'])('%s is refused', (text) => {
    expect(() => endTime(text)).toThrow('body.end_time');
  });
});
