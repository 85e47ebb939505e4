export type Follower = {
  /** `namespace/name`. */
  key: string;
  uid: string;
  /** The branch, its repository and its integration, as one text. */
  subject: string;
  /** The last push event that came, if it is yet to be handled. */
  push: string | undefined;
};

export type BranchPlace = {
  tenant: string;
  /** The hosts that a look asks, as one text. */
  host: string;
  /** Seconds between two looks. 0: a look at each push event alone. */
  every: number;
};

/** The result of one look: the head of the branch, or why there is none. */
export type BranchFound =
  | { head: string }
  | { reason: 'RefMissing' | 'GitHostAway'; message: string };

export type BranchLook = { subject: string; push: string | undefined; found: BranchFound };

/** The looks that reconciles read. */
export type BranchView = {
  look(uid: string): BranchLook | undefined;
};

/** Looks that are under way at a time. */
export type LookBounds = { perTenant: number; perHost: number };

/** A tenant with a thousand branches on hosts that answer in half a second sees each of them every two minutes. */
export const LOOK_BOUNDS: LookBounds = { perTenant: 4, perHost: 16 };

/** Milliseconds that one look may take: three requests, each of which has 8 s. */
export const LONGEST_LOOK = 24_000;

export type WaitingLook = Follower & BranchPlace;

/**
 * Returns which looks begin: in their order, those whose tenant and whose hosts have room. A host that never answers
 * holds up its own looks, and its tenants' other ones, and nobody else's.
 */
export function chooseLooks<Look extends { tenant: string; host: string }>(
  waiting: Iterable<Look>,
  underWay: Iterable<Look>,
  { perTenant, perHost }: LookBounds,
): Look[] {
  const tenants = new Map<string, number>();
  const hosts = new Map<string, number>();
  const take = ({ tenant, host }: Look): void => {
    tenants.set(tenant, (tenants.get(tenant) ?? 0) + 1);
    hosts.set(host, (hosts.get(host) ?? 0) + 1);
  };
  for (const one of underWay) take(one);
  const begun: Look[] = [];
  for (const one of waiting) {
    if ((tenants.get(one.tenant) ?? 0) >= perTenant || (hosts.get(one.host) ?? 0) >= perHost)
      continue;
    take(one);
    begun.push(one);
  }
  return begun;
}

/** Returns true if a look tells a reconcile something that the one before it did not. */
export const isNewLook = (before: BranchLook | undefined, look: BranchLook): boolean =>
  look.push !== undefined || JSON.stringify(before) !== JSON.stringify(look);
