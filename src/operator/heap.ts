import { getHeapStatistics, setFlagsFromString } from 'node:v8';

/** Bytes above which a heap holds mostly cached objects, which stay. That is some 4,000 deployments. */
const LARGE = 200 * 2 ** 20;
/** Milliseconds between two checks. */
const LOOK = 5000;

/**
 * Returns the percentage by which the heap may grow before V8 collects it again; 0 leaves that to V8. V8 would let
 * garbage of half a large heap's size gather. A small heap is cheaper if it is collected seldom.
 */
const chooseGrowth = (usedBytes: number): number => (usedBytes > LARGE ? 20 : 0);

/** Keeps the process small while it reads the cluster, and later if the cluster is large. */
export function watchHeap(): void {
  const setHeapGrowth = (percent: number): void =>
    setFlagsFromString(`--heap-growing-percent=${percent}`);
  setHeapGrowth(chooseGrowth(Infinity));
  setInterval(() => setHeapGrowth(chooseGrowth(getHeapStatistics().used_heap_size)), LOOK).unref();
}
