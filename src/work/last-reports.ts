import { KeptBytes, type BytesBounds } from '../http/limits/kept-bytes.ts';
import {
  MOST_PROCESSES,
  REPORT_LIFE,
  measureReport,
  type WorkReport,
} from '../schema/wire/work-report.ts';
import type { HeardReport } from '../schema/wire/work-summary.ts';

/** A report as it is kept. `extra`: bytes that its keeper has besides. */
export type KeptEntry = HeardReport & { from: string; extra: number };

type Entries<Entry> = { entries: Map<string, Entry>; newestQueue?: Entry; newestGate?: Entry };

/**
 * The last report of each process of each deployment, bounded by bytes: of a deployment that has too many, the process
 * that was silent for longest is forgotten. Work that is pinned to revisions, and the word on a
 * gate, count in the newest report alone, so each deployment keeps them once.
 */
export class LastReports<Entry extends KeptEntry> {
  /** By deployment and process, of each deployment the oldest report first. */
  readonly #kept = new Map<string, Entries<Entry>>();
  readonly #bytes: KeptBytes;
  readonly #dropped: (deployment: string, entry: Entry) => void;
  #count = 0;

  constructor({
    bounds,
    dropped = () => undefined,
  }: {
    bounds: BytesBounds;
    /** Called when a process is forgotten, because its last report is old, or it is one too many. */
    dropped?: (deployment: string, entry: Entry) => void;
  }) {
    this.#bytes = new KeptBytes(bounds);
    this.#dropped = dropped;
  }

  get size(): number {
    return this.#kept.size;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#bytes.total;
  }

  get(deployment: string, from: string): Entry | undefined {
    return this.#kept.get(deployment)?.entries.get(from);
  }

  /** Keeps a report in the place of the last one of its process. */
  keep(deployment: string, entry: Entry): void {
    this.#remove(deployment, entry.from);
    const known: Entries<Entry> = this.#kept.get(deployment) ?? { entries: new Map() };
    this.#kept.set(deployment, known);
    known.entries.set(entry.from, entry);
    this.#count += 1;
    this.#bytes.add(deployment, measureWeight(entry));
    this.#replaceNewest(deployment, known, entry);
    this.#trimReports(
      deployment,
      ({ size }) => size > MOST_PROCESSES || this.#bytes.isOver(deployment),
    );
    for (const [name, bytes] of this.#bytes.planCuts())
      this.#trimReports(name, () => this.#bytes.getBytes(name) > bytes);
  }

  /** Forgets the processes of a deployment that were silent for longest, but for one, while there is too much. */
  #trimReports(
    deployment: string,
    isTooMuch: (entries: ReadonlyMap<string, Entry>) => boolean,
  ): void {
    const entries = this.#kept.get(deployment)?.entries ?? new Map<string, Entry>();
    for (const from of entries.keys()) {
      if (entries.size === 1 || !isTooMuch(entries)) break;
      this.drop(deployment, from);
    }
  }

  drop(deployment: string, from: string): void {
    const entry = this.#remove(deployment, from);
    if (entry !== undefined) this.#dropped(deployment, entry);
  }

  #remove(deployment: string, from: string): Entry | undefined {
    const known = this.#kept.get(deployment);
    const entry = known?.entries.get(from);
    if (known === undefined || entry === undefined) return undefined;
    known.entries.delete(from);
    this.#count -= 1;
    this.#bytes.add(deployment, -measureWeight(entry));
    if (known.newestQueue === entry) delete known.newestQueue;
    if (known.newestGate === entry) delete known.newestGate;
    if (known.entries.size === 0) this.#kept.delete(deployment);
    return entry;
  }

  /** Forgets the reports of a deployment that count no more, and returns the others, the oldest first. */
  listLiveReports(deployment: string, now: number): Iterable<Entry> {
    const entries = this.#kept.get(deployment)?.entries;
    if (entries === undefined) return [];
    for (const [from, { at }] of entries)
      if (now - at > REPORT_LIFE * 1000) this.drop(deployment, from);
    return entries.values();
  }

  /** Takes the work that is pinned to revisions, and the word on a gate, from the reports that had them before. */
  #replaceNewest(deployment: string, known: Entries<Entry>, entry: Entry): void {
    const { queue, gate } = entry.report;
    if (queue !== undefined && (known.newestQueue?.at ?? -Infinity) <= entry.at) {
      if (known.newestQueue !== undefined)
        this.#replace(deployment, known.newestQueue, stripPinned);
      known.newestQueue = entry;
    } else if (queue?.pinned !== undefined) this.#replace(deployment, entry, stripPinned);
    if (gate === undefined) return;
    if (known.newestGate !== undefined) this.#replace(deployment, known.newestGate, stripGate);
    known.newestGate = entry;
  }

  #replace(deployment: string, entry: Entry, by: (report: WorkReport) => WorkReport): void {
    this.#bytes.add(deployment, -measureWeight(entry));
    entry.report = by(entry.report);
    this.#bytes.add(deployment, measureWeight(entry));
  }
}

const measureWeight = ({ report, extra }: KeptEntry): number => measureReport(report) + extra;

function stripPinned({ queue, ...report }: WorkReport): WorkReport {
  if (queue === undefined) return report;
  const { pinned: _, ...stand } = queue;
  return { ...report, queue: stand };
}

function stripGate(report: WorkReport): WorkReport {
  const { gate: _, ...rest } = report;
  return rest;
}
