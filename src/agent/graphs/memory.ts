import { availableParallelism, totalmem } from 'node:os';
import process from 'node:process';
import type { JobSettings } from '../../config/agent.ts';

/* This file decides how much of the machine, or of the pod, each graph thread may take. */

const MEGABYTE = 1024 * 1024;

/** Megabytes of the process that belong to no graph thread: 120 for the HTTP thread; the rest lies outside of heaps. */
const OWN = 200;
/**
 * Megabytes of a thread's heap. LangGraph can't be loaded with less, and V8 takes no more unless it is configured to.
 */
const HEAP = { least: 128, most: 4096 };

/**
 * Returns how many threads there may be, and the heap of each. A graph that takes more loses its thread before the pod
 * is killed for it.
 */
export function threadLimits({ threads: asked, heapMegabytes: heap }: Pick<JobSettings, 'threads' | 'heapMegabytes'>): {
  threads: number;
  heapMegabytes: number;
} {
  const limit = process.constrainedMemory();
  const memory = (limit > 0 ? Math.min(limit, totalmem()) : totalmem()) / MEGABYTE;
  // Each thread gets half a gigabyte, and there are no more threads than processors. Beyond four, another pod serves
  // better.
  const threads = asked || Math.max(1, Math.min(availableParallelism(), 4, Math.floor(memory / 512)));
  const share = Math.floor((memory - OWN) / threads);
  return { threads, heapMegabytes: heap || Math.max(HEAP.least, Math.min(HEAP.most, share)) };
}
