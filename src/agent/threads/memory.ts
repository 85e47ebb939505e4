import { availableParallelism, totalmem } from 'node:os';
import process from 'node:process';
import type { JobSettings } from '../../config/agent.ts';

/* What of the machine, or of the pod, each graph thread may have. */

const MEGABYTE = 1024 * 1024;

/** Megabytes of the process that are no thread's heap: 120 of the HTTP thread, the rest for what lies outside of heaps. */
const OWN = 200;
/** Megabytes: less can't load LangGraph, and more V8 does not take unless it is told to. */
const HEAP = { least: 128, most: 4096 };

/** How many threads, and the megabytes of heap of each: a graph that asks for more loses its thread, before the pod is killed for it. */
export function threadLimits({ threads: asked, heapMegabytes: heap }: Pick<JobSettings, 'threads' | 'heapMegabytes'>): {
  threads: number;
  heapMegabytes: number;
} {
  const limit = process.constrainedMemory();
  const memory = (limit > 0 ? Math.min(limit, totalmem()) : totalmem()) / MEGABYTE;
  // Half a gigabyte a thread, and no more threads than processors: beyond four, another pod serves better.
  const threads = asked || Math.max(1, Math.min(availableParallelism(), 4, Math.floor(memory / 512)));
  const share = Math.floor((memory - OWN) / threads);
  return { threads, heapMegabytes: heap || Math.max(HEAP.least, Math.min(HEAP.most, share)) };
}
