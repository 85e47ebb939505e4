import { signal } from '@preact/signals';
import type { DeploymentSummary } from '../../../schema/platform/deployment/deployment-summary.ts';
import type { Calls } from '../api/calls.ts';
import type { StreamMessage } from './event-blocks.ts';
import { isNewer } from './newer.ts';

/** Rows of one request. It is the most that the API gives. */
const PAGE = 500;

/** Rows that are read first: more than a screen has. */
const FIRST = 100;

type ListPage = { resources: DeploymentSummary[]; offset: number; total?: number };
export type FirstPage = Record<string, string | readonly string[] | undefined>;

/**
 * Holds the newest summary of each deployment. Changes come by the event stream, the rest by pages; of two records the
 * newer one stays. `changed` counts its changes, at most once a frame.
 */
export class DeploymentsStore {
  readonly all = new Map<string, DeploymentSummary>();
  readonly changed = signal(0);
  readonly loaded = signal<'none' | 'some' | 'all'>('none');
  /** How many there are, as the server counts. */
  readonly total = signal<number | undefined>(undefined);
  /** When a deployment was seen to be gone, by id. */
  readonly gone = new Map<string, number>();
  #isAnnounced = false;
  #loading: AbortController | undefined;

  /** Takes a message of the stream. Returns false where the list has to be read: at the beginning, and after a gap. */
  take({ event, data }: StreamMessage): boolean {
    if (event === 'deployment') this.put(data as DeploymentSummary);
    else if (event === 'gone') this.#drop((data as { id: string }).id);
    else return false;
    return true;
  }

  /** Puts a record in its place, unless a newer one is there. */
  put(summary: DeploymentSummary): void {
    const known = this.all.get(summary.id);
    if (
      this.gone.has(summary.id) ||
      (known !== undefined && !isNewer(summary.version, known.version))
    )
      return;
    this.all.set(summary.id, summary);
    this.#announce();
  }

  /** Reads the first rows that a reader asks for, so that they are shown before all others are there. */
  async readFirst(calls: Calls, query: FirstPage, abort: AbortSignal): Promise<void> {
    const { resources, total } = await readPage(
      calls,
      { ...query, total: 'true', limit: String(FIRST) },
      abort,
    );
    for (const one of resources) this.put(one);
    if (Object.keys(query).length <= 1) this.total.value = total;
    if (this.loaded.value === 'none') this.loaded.value = 'some';
    this.#announce();
  }

  /** Reads all of them. The event stream must be open by now, because it brings the changes in the meantime. */
  async load(calls: Calls): Promise<void> {
    this.#loading?.abort();
    const abort = (this.#loading = new AbortController());
    let goneBefore: number;
    do {
      goneBefore = this.gone.size;
      await this.#loadOnce(calls, abort.signal);
      // One that goes moves those behind it to an earlier page, and one of them may have been skipped.
    } while (this.gone.size !== goneBefore && !abort.signal.aborted);
    this.loaded.value = 'all';
    this.total.value = undefined;
    this.#announce();
  }

  async #loadOnce(calls: Calls, abort: AbortSignal): Promise<void> {
    const before = new Set(this.all.keys());
    for (let offset = 0; ;) {
      // In the order of creation, new ones come behind all others and move none to another page.
      const page = await readPage(
        calls,
        { sort: 'created_at', offset: String(offset), total: 'true' },
        abort,
      );
      this.total.value = page.total;
      for (const one of page.resources) {
        before.delete(one.id);
        this.put(one);
      }
      if (page.resources.length < PAGE) break;
      offset = page.offset;
    }
    for (const id of before) this.all.delete(id);
  }

  #drop(id: string): void {
    this.gone.set(id, Date.now());
    this.all.delete(id);
    this.#announce();
  }

  /** A page that is not seen gets no frames, and still has to count. */
  #announce(): void {
    if (this.#isAnnounced) return;
    this.#isAnnounced = true;
    const notifyNow = (): void => {
      this.#isAnnounced = false;
      this.changed.value += 1;
    };
    if (document.visibilityState === 'visible') requestAnimationFrame(notifyNow);
    else setTimeout(notifyNow, 250);
  }
}

const readPage = (calls: Calls, query: FirstPage, abort: AbortSignal): Promise<ListPage> =>
  calls.fetchJson<ListPage>('v2/deployments', {
    query: { view: 'summary', limit: PAGE, ...query },
    signal: abort,
  });
