import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/*
 * What V8 would do late or not at all: after a burst of work its heaps stay as large as they were, some 60 MB a server. A thread that has
 * had next to nothing to do for a while collects once (some 60 ms), so that the pod gives back what it does not need.
 */

const LOOK_EVERY = 10_000;

/** Share of the time between two looks in which the event loop did something: probes and heartbeats need less. */
const RESTING = 0.05;

/** Bytes of heap more than after the last collection: for less the pause is not worth it. */
const WORTH = 8 * 1024 * 1024;

/** Looks at rest in a row before it: whoever pauses between two questions is not made to wait. */
const PATIENCE = 3;

type Look = { /** 0 to 1 since the last look. */ utilization: number; /** Bytes that the heap takes. */ heap: number };
export type Rest = { looks: number; heap: number };

/** Whether to collect now, and what to remember until the next look (pure). `heap` of a rest: the smallest since the last collection. */
export function resting({ looks, heap }: Rest, now: Look): Rest & { collect: boolean } {
  const inRow = now.utilization < RESTING ? looks + 1 : 0;
  const least = Math.min(heap, now.heap);
  return { looks: inRow, heap: least, collect: inRow >= PATIENCE && now.heap > least + WORTH };
}

/** Looks after the heap of this thread for as long as it lives. Nothing happens unless Node was started with `--expose-gc`. */
export function collectAtRest(): void {
  const { gc } = globalThis;
  if (gc === undefined) return;
  let before: EventLoopUtilization = performance.eventLoopUtilization();
  let rest: Rest = { looks: 0, heap: 0 };
  const look = (): void => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const next = resting(rest, { utilization, heap: getHeapStatistics().total_heap_size });
    // A plain collection leaves the heap as large as it was, with holes; this one moves what is left together.
    if (next.collect) gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    rest = next.collect ? { looks: 0, heap: getHeapStatistics().total_heap_size } : next;
  };
  setInterval(look, LOOK_EVERY).unref();
}
