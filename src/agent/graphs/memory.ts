import { availableParallelism, totalmem } from 'node:os';
import process from 'node:process';
import type { JobSettings } from '../../config/agent/agent.ts';

/* This file decides how much of the machine, or of the pod, each graph thread and each process of graphs may take. */

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
export function decideThreadLimits({ threads: asked, heapMegabytes: heap }: JobSettings): {
  threads: number;
  heapMegabytes: number;
} {
  const memory = (readPodMemory() ?? totalmem()) / MEGABYTE;
  // Each thread gets half a gigabyte, and there are no more threads than processors. Beyond four, another pod serves
  // better.
  const threads =
    asked || Math.max(1, Math.min(availableParallelism(), 4, Math.floor(memory / 512)));
  const share = Math.floor((memory - OWN) / threads);
  return { threads, heapMegabytes: heap || Math.max(HEAP.least, Math.min(HEAP.most, share)) };
}

/** Megabytes of the thread that stores for a process of graphs. */
const STORING = 50;
/** Megabytes that LangGraph for Python needs with a graph that does little. */
const LEAST_OF_PYTHON = 192;

/**
 * Returns the megabytes that each process of graphs in Python may take; undefined where it may take any number, because
 * the pod has no limit. Beside graphs in JavaScript, these processes have half of the pod.
 */
export function decidePythonMemory(
  { megabytes, processes }: { megabytes: number; processes: number },
  { isAlone, memory = readPodMemory() }: { isAlone: boolean; memory?: number | undefined },
): number | undefined {
  if (megabytes > 0) return megabytes;
  if (memory === undefined) return undefined;
  const ofPython = (memory / MEGABYTE - OWN) / (isAlone ? 1 : 2);
  return Math.max(LEAST_OF_PYTHON, Math.floor(ofPython / processes) - STORING);
}

/** Returns the bytes that the pod is limited to; undefined where it may take all of its machine's. */
function readPodMemory(): number | undefined {
  const limit = process.constrainedMemory();
  return limit > 0 && limit < totalmem() ? limit : undefined;
}
