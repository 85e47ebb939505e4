/** A build that waits or runs: whose it is, and since when it is asked for. */
export type QueuedBuild = { key: string; tenant: string; since: string };

/** Builds that run, and which of all builds that began was the latest of each tenant, by number. */
type Begun = {
  running: readonly { tenant: string }[];
  latest?: ReadonlyMap<string, number> | undefined;
};

/**
 * Returns the order in which waiting builds begin: the tenant with the fewest builds goes next, of those with equally
 * many the one whose latest build began before the others', so that one that asked for many at once does not go first
 * whenever a build ends; then the one whose first build waits longest. A tenant's own builds begin in the order of
 * their age.
 */
export function buildOrder(
  waiting: readonly QueuedBuild[],
  { running, latest = new Map() }: Begun,
): QueuedBuild[] {
  const lines = new Map<string, QueuedBuild[]>();
  for (const build of waiting.toSorted(compareByAge))
    lines.set(build.tenant, [...(lines.get(build.tenant) ?? []), build]);
  const count = new Map<string, number>();
  const add = (tenant: string): Map<string, number> =>
    count.set(tenant, (count.get(tenant) ?? 0) + 1);
  for (const { tenant } of running) add(tenant);
  const order: QueuedBuild[] = [];
  while (lines.size > 0) {
    const heads = [...lines.values()].flatMap((line) => line[0] ?? []);
    const compareBuilds = (a: QueuedBuild, b: QueuedBuild): number =>
      compareByCount(count, a, b) || compareByCount(latest, a, b) || compareByAge(a, b);
    const next = heads.toSorted(compareBuilds)[0] as QueuedBuild;
    const rest = (lines.get(next.tenant) ?? []).slice(1);
    if (rest.length === 0) lines.delete(next.tenant);
    else lines.set(next.tenant, rest);
    add(next.tenant);
    order.push(next);
  }
  return order;
}

const compareByCount = (
  numbers: ReadonlyMap<string, number>,
  a: QueuedBuild,
  b: QueuedBuild,
): number => (numbers.get(a.tenant) ?? 0) - (numbers.get(b.tenant) ?? 0);

const compareByAge = (a: QueuedBuild, b: QueuedBuild): number => {
  const [one, other] = [`${a.since} ${a.key}`, `${b.since} ${b.key}`];
  return one < other ? -1 : Number(one > other);
};

/**
 * Returns a build's place in the line, from 1; 0 means that it may begin. Behind builds of its own tenant that wait for
 * each other nobody of another tenant waits.
 */
export function findPlaceInLine(
  own: QueuedBuild,
  {
    waiting,
    running,
    latest,
    each,
    all,
  }: Begun & {
    waiting: readonly QueuedBuild[];
    /** Builds of one tenant at a time. */
    each: number;
    /** Builds of all tenants at a time. */
    all: number;
  },
): number {
  const others = waiting.filter(({ key }) => key !== own.key);
  const held = new Map<string, number>();
  for (const { tenant } of running) held.set(tenant, (held.get(tenant) ?? 0) + 1);
  let [free, before] = [all - running.length, 0];
  for (const { key, tenant } of buildOrder([...others, own], { running, latest })) {
    const isFull = (held.get(tenant) ?? 0) >= each;
    const begins = free > 0 && !isFull;
    if (key === own.key) return begins ? 0 : before + 1;
    if (begins) {
      free -= 1;
      held.set(tenant, (held.get(tenant) ?? 0) + 1);
    } else if (!isFull || tenant === own.tenant) before += 1;
  }
  return 0;
}

/** Returns `3rd` for 3. */
export function formatOrdinal(number: number): string {
  const teen = number % 100 >= 11 && number % 100 <= 13;
  const ending = teen ? 'th' : ({ 1: 'st', 2: 'nd', 3: 'rd' }[number % 10] ?? 'th');
  return `${number}${ending}`;
}
