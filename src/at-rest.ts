import { performance, type EventLoopUtilization } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';

/*
 * V8 keeps its heaps as large as a burst of work made them, which is some 60 MB a server and 100 MB a control plane. A
 * thread that has had little to do for a while therefore collects garbage once (some 60 ms), so that the pod gives the
 * memory back.
 */

const LOOK_EVERY = 10_000;
/** Milliseconds after the start of a thread until its first look, which collects the garbage of loading. */
const FIRST_LOOK = 3000;

/**
 * A thread rests when its event loop was busy for less than this share of the time; probes and heartbeats need less.
 */
const RESTING = 0.05;

/**
 * Bytes by which the heap must have grown since the last collection; for less, the pause is not worth it. A large heap,
 * of a control plane with thousands of deployments, takes longer, and must have grown by a tenth.
 */
const computeMinGrowth = (heap: number): number => Math.max(8 * 1024 * 1024, heap / 10);

/**
 * Looks in a row that must find the thread at rest, so that a client that pauses between two requests does not wait.
 */
const PATIENCE = 3;

export type Rest = { looks: number; heap: number };

/** The state before the first look, which alone is enough to find the thread at rest. */
export const STARTED: Rest = { looks: PATIENCE - 1, heap: 0 };

/**
 * Returns whether to collect now, and the values to remember until the next look. The `heap` of a rest is the smallest
 * since the last collection.
 */
export function decideCollection(
  { looks, heap }: Rest,
  now: {
    /** 0 to 1 since the last look. */ utilization: number;
    /** Bytes that the heap takes. */ heap: number;
  },
): Rest & { collect: boolean } {
  const inRow = now.utilization < RESTING ? looks + 1 : 0;
  const least = Math.min(heap, now.heap);
  return {
    looks: inRow,
    heap: least,
    collect: inRow >= PATIENCE && now.heap > least + computeMinGrowth(least),
  };
}

/**
 * Looks after the heap of this thread for as long as it lives. Nothing happens unless Node was started with
 * `--expose-gc`.
 */
export function collectAtRest(): void {
  const { gc } = globalThis;
  if (gc === undefined) return;
  let before: EventLoopUtilization = performance.eventLoopUtilization();
  let rest = STARTED;
  const look = (): void => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    const next = decideCollection(rest, { utilization, heap: getHeapStatistics().total_heap_size });
    // A plain collection leaves the heap large and full of holes; this one also compacts it.
    if (next.collect) gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    rest = next.collect ? { looks: 0, heap: getHeapStatistics().total_heap_size } : next;
  };
  const startLooks = (): void => {
    look();
    setInterval(look, LOOK_EVERY).unref();
  };
  setTimeout(startLooks, FIRST_LOOK).unref();
}
