import type { RunEvent } from '../../../schema/agent/stream-event.ts';

/*
 * This file gives events the form in which they pass through the key-value store: a line of JSON that says what they
 * are and how long each one's data is, and the data behind it as it is, because JSON in JSON would cost an escape each.
 */

/** Events of one run that follow each other. */
export type RunPart = { run_id: string; thread_id: string; events: RunEvent[] };

type EventHead = [ms: number, seq: number, event: string, characters: number, thread_seq?: number];
type PartHead = [run_id: string, thread_id: string, events: EventHead[]];

export function encodeFrame(parts: RunPart[]): string {
  const heads = parts.map(({ run_id, thread_id, events }): PartHead => [
    run_id,
    thread_id,
    events.map(buildHead),
  ]);
  return `${JSON.stringify(heads)}\n${parts.map(({ events }) => events.map(({ json }) => json).join('')).join('')}`;
}

const buildHead = ({ ms, seq, event, json, thread_seq }: RunEvent): EventHead =>
  typeof thread_seq === 'number'
    ? [ms, seq, event, json.length, thread_seq]
    : [ms, seq, event, json.length];

export function decodeFrame(frame: string): RunPart[] {
  // JSON on one line has no line break.
  let at = frame.indexOf('\n') + 1;
  const heads = JSON.parse(frame.slice(0, at)) as PartHead[];
  const decodeEvent = ([ms, seq, event, characters, thread_seq]: EventHead): RunEvent => {
    const json = frame.slice(at, at + characters);
    at += characters;
    return { ms, seq, event, json, ...(thread_seq !== undefined && { thread_seq }) };
  };
  return heads.map(([run_id, thread_id, events]) => ({
    run_id,
    thread_id,
    events: events.map(decodeEvent),
  }));
}
