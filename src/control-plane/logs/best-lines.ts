import type { LogEntry } from './schema.ts';

/**
 * An entry with its place in the order, made of its time, its pod, and its number among the pod's lines of that time. A
 * line has the same place whenever it is read.
 */
export type Line = Omit<LogEntry, 'id'> & { order: string; pod: string };

export const compareOrder = (a: Line, b: Line): number => (a.order < b.order ? -1 : 1);

/** Characters of the lines of one page, or of those that wait for one reader. */
export const MOST_CHARACTERS = 1024 * 1024;

type LineFilter = {
  order: 'asc' | 'desc';
  lines: number;
  characters?: number;
  wants: (line: Line) => boolean;
};

/**
 * Keeps the first lines in an order, so many of them as a page may have, from logs of any length. One line is kept
 * however long it is.
 */
export class BestLines {
  readonly #wanted: Required<LineFilter>;
  #kept: Line[] = [];
  #isFull = false;

  constructor(wanted: LineFilter) {
    this.#wanted = { characters: MOST_CHARACTERS, ...wanted };
  }

  get lines(): readonly Line[] {
    return this.#kept;
  }

  /** True once lines were wanted for which there was no room. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Takes lines that stand in their order, the oldest first. */
  add(lines: readonly Line[]): void {
    const { order, lines: most } = this.#wanted;
    if (most === 0) return;
    const fresh = new Set(this.#pickBest(lines));
    if (fresh.size === 0) return;
    const sorted = [...this.#kept, ...fresh].toSorted(
      order === 'asc' ? compareOrder : (a, b) => compareOrder(b, a),
    );
    const kept = sorted.slice(0, this.#countRoom(sorted));
    if (kept.length < sorted.length) this.#isFull = true;
    this.#kept = kept.map((line) => (fresh.has(line) ? copyLine(line) : line));
  }

  /** Returns the best of some lines, one more than there can be room for, and looks at no line behind them. */
  #pickBest(lines: readonly Line[]): Line[] {
    const { order, lines: most, wants } = this.#wanted;
    const best: Line[] = [];
    for (let at = 0; at < lines.length && best.length <= most; at += 1) {
      const line = lines[order === 'asc' ? at : lines.length - 1 - at] as Line;
      if (!this.#isBetter(line)) break;
      if (wants(line)) best.push(line);
    }
    return best;
  }

  /** Returns true for a line that comes before the last one of a full page. */
  #isBetter({ order }: Line): boolean {
    const last = this.#isFull ? this.#kept.at(-1) : undefined;
    return (
      last === undefined || (this.#wanted.order === 'asc' ? order < last.order : order > last.order)
    );
  }

  #countRoom(sorted: readonly Line[]): number {
    let characters = 0;
    const beyond = sorted.findIndex(({ message }, index) => {
      characters += message.length;
      return index >= this.#wanted.lines || (index > 0 && characters > this.#wanted.characters);
    });
    return beyond === -1 ? sorted.length : beyond;
  }
}

/** Copies the texts of a line, which are parts of the log that it was read from, and would hold all of it. */
export const copyLine = (line: Line): Line => JSON.parse(JSON.stringify(line)) as Line;
