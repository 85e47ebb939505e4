import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** Bytes from which on a heap is mostly cached objects, which stay: some 4,000 deployments. */
const LARGE = 200 * 2 ** 20;
/** Milliseconds between two looks. */
const LOOK = 5000;

/**
 * Returns the percentage by which the heap may grow before V8 collects it again; 0 leaves that to V8. Beside what a
 * large heap keeps, V8 would let half as much garbage gather; a small one is cheaper when it is collected seldom.
 */
const growthOf = (usedBytes: number): number => (usedBytes > LARGE ? 20 : 0);

/** Keeps the process small while it reads in what is there, and later wherever that is much. */
export function watchHeap(): void {
  const allow = (percent: number): void => setFlagsFromString(`--heap-growing-percent=${percent}`);
  allow(growthOf(Infinity));
  setInterval(() => allow(growthOf(getHeapStatistics().used_heap_size)), LOOK).unref();
}
