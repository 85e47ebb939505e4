import { Unavailable } from '../../errors.ts';
import type { SseEvent } from '../../http/route.ts';
import { eventId, isAfter, type Cursor, type RunEvent } from '../../schema/stream-event.ts';
import { readEvents } from '../db/events.ts';
import type { Db } from '../db/pool.ts';
import type { Heard, Subscription } from './bus.ts';
import type { EventLog } from './log.ts';
import { isWanted, type Wanted } from './wanted.ts';

type Deps = { db: Db; eventLog: EventLog };

export type Reading = {
  run_id: string;
  subscription: Subscription;
  /** Where the reader stands: only what comes after is sent. */
  from: Cursor;
  /** True when what lies behind must be read from the table first. */
  replay: boolean;
  /** True when the run is over: the table is all there is. */
  ended: boolean;
  resumable: boolean;
  wanted: Wanted;
};

const PAGE = 500;

/** One reader's way through a run: what is stored, then what comes, without gap or duplicate, until the run ends; what came together goes on together. */
export async function* readRun(deps: Deps, reading: Reading): AsyncGenerator<SseEvent[]> {
  const { subscription, wanted, resumable } = reading;
  const send = (event: RunEvent): SseEvent => ({ event: event.event, json: event.json, ...(resumable && { id: eventId(event) }) });
  try {
    for await (const events of everything(deps, reading)) {
      const shown = events.filter(({ event }) => isWanted(event, wanted));
      if (shown.length > 0) yield shown.map(send);
    }
  } finally {
    subscription.close();
  }
}

/** A run that ended in this process has said all its events here. */
const endedHere = (heard: Heard): boolean => heard.kind === 'end' && heard.outcome !== undefined;

async function* everything(deps: Deps, { run_id, subscription, from, replay, ended }: Reading): AsyncGenerator<RunEvent[]> {
  let at = from;
  let missed = false;
  const stored = async function* (): AsyncGenerator<RunEvent[]> {
    for (;;) {
      const page = await readEvents(deps.db, run_id, { after: at, limit: PAGE });
      at = page.at(-1) ?? at;
      yield page;
      if (page.length < PAGE) return;
    }
  };
  const come = (events: RunEvent[]): RunEvent[] => {
    const later = events.filter((event) => isAfter(event, at));
    // A run numbers its events without a gap.
    missed ||= later.length > 0 && later[0]!.seq !== at.seq + 1;
    at = later.at(-1) ?? at;
    return later;
  };
  if (replay || ended) {
    await deps.eventLog.written();
    yield* stored();
  }
  if (ended) return;
  for (;;) {
    const heard = await subscription.next();
    if (heard === undefined) return;
    if (heard.kind === 'too-slow') throw new Unavailable('The reader was too slow; join the stream again.');
    if (heard.kind === 'events') yield come(heard.events);
    else {
      if (missed || !endedHere(heard)) yield* stored();
      if (heard.kind === 'end') return;
    }
  }
}
