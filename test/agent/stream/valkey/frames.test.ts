import { expect, test } from 'vitest';
import { encodeFrame, decodeFrame } from '../../../../src/agent/stream/valkey/frames.ts';

test('events come out of a frame as they went in, whatever their data holds', () => {
  const texts = ['{}', '"a\\nb"', '"😀 é"', '', '{"a":\n1}'];
  const events = texts.map((json, at) => ({
    ms: 1_700_000_000_000 + at,
    seq: at + 1,
    event: 'values|sub:1',
    json,
  }));
  const parts = [
    { run_id: 'r1', thread_id: 't1', events },
    {
      run_id: 'r2',
      thread_id: 't2',
      events: [{ ms: 5, seq: 9, event: 'v2:tasks', json: '[1]', thread_seq: 12 }],
    },
  ];
  expect(decodeFrame(encodeFrame(parts))).toEqual(parts);
});
