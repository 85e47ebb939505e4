/** Returns the median: half of the values are below it. */
export const median = (values: number[]): number => quantile(values, 0.5);

export function quantile(values: number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(share * (values.length - 1))] ?? Number.NaN;
}

/** Returns the milliseconds that each of `repeats` calls took, one after the other. */
export async function oneByOne(
  repeats: number,
  work: (index: number) => Promise<unknown>,
): Promise<number[]> {
  const times: number[] = [];
  for (let index = 0; index < repeats; index += 1) {
    const started = performance.now();
    await work(index);
    times.push(performance.now() - started);
  }
  return times;
}

/**
 * Lets `clients` work at once, each starting its next call as soon as the last is answered, until `count` calls are
 * made. Returns the milliseconds for all of them.
 */
export async function together(
  clients: number,
  count: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  const started = performance.now();
  let next = 0;
  const client = async (): Promise<void> => {
    while (next < count) await work((next += 1) - 1);
  };
  await Promise.all(Array.from({ length: Math.min(clients, count) }, client));
  return performance.now() - started;
}
