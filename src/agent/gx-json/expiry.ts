import type { GxJson } from '../../schema/agent/gx-json.ts';
import type { ThreadTtl } from '../../schema/agent/expiry.ts';
import type { StoreLife } from '../../schema/wire/wall/graph-start.ts';

/** The kinds of data that expire, and how often expired data is looked for. */
export type Expiry = {
  threads: {
    usual: ThreadTtl | undefined;
    waiting: boolean;
    limit: number;
    intervalMinutes: number;
  };
  store: StoreLife & { intervalMinutes: number };
};

/** Threads that one transaction removes: some tens of milliseconds of work. */
const LIMIT = 500;
const MINUTES = { threads: 5, items: 0.5 };

/** Returns the settings of `checkpointer.ttl` and `store.ttl` in gx.json. */
export function readExpirySettings({ checkpointer, store }: GxJson): Expiry {
  const {
    strategy = 'delete',
    default_ttl,
    sweep_interval_minutes,
    sweep_limit = LIMIT,
    include_interrupted,
  } = checkpointer?.ttl ?? {};
  const items = store?.ttl ?? {};
  return {
    threads: {
      usual: default_ttl === undefined ? undefined : { strategy, ttl: default_ttl },
      waiting: include_interrupted === true,
      limit: sweep_limit,
      intervalMinutes: sweep_interval_minutes ?? MINUTES.threads,
    },
    store: {
      defaultTtl: items.default_ttl ?? null,
      refresh: items.refresh_on_read !== false,
      intervalMinutes: items.sweep_interval_minutes ?? MINUTES.items,
    },
  };
}
