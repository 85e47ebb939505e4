import { DevError } from '../../dev/errors.ts';
import { openTap } from './tap.ts';

/** Those beside the fuzzing caller. Nothing of what they have may reach it, and nothing that it sends may change it. */
export type Neighbours = {
  /** A word of each, which stands in all that it has. No request may hold one. */
  canaries: string[];
  /** The ids of their records, which the fuzzing caller knows. */
  ids: string[];
  /** Reads what they have, as themselves, through an address of the server. */
  look: (url: string) => Promise<unknown>;
  /** Returns what they have, each thing under its name. */
  records: () => Promise<Record<string, string>>;
  /** Returns all that the server has logged so far. */
  logged: () => string;
};

/** The place from which the neighbours are watched while the fuzzing caller goes through `url`. */
export type Watch = {
  url: string;
  /** Says so far what the caller got to see of its neighbours, and what it changed. */
  faults(): Promise<string[]>;
  /** Fails if the caller never asked for what is its neighbours', because then nothing is proven. Returns how often. */
  named(): number;
  stop(): void;
};

/** Watches a server's neighbours. Fails if what they have can't be seen, because then nothing would ever be found. */
export async function watchNeighbours(
  url: string,
  { canaries, ids, look, records, logged }: Neighbours,
): Promise<Watch> {
  for (const canary of canaries) {
    const trial = await openTap(url, { forbidden: [canary], ids: [] });
    await look(trial.url);
    trial.stop();
    if (trial.leaks().length === 0)
      throw new DevError(
        `The canary ${canary} is not seen where its owner reads it: no leak could be found.`,
      );
  }
  const before = await records();
  // What the neighbours did themselves may be logged with their names.
  const from = logged().length;
  const tap = await openTap(url, { forbidden: canaries, ids });
  return {
    url: tap.url,
    faults: async () => [
      ...tap.leaks(),
      ...changed(before, await records()).map((name) => `${name} of a neighbour was changed`),
      ...inLog(logged().slice(from), canaries),
    ],
    named: () => {
      const count = tap.named();
      if (count === 0)
        throw new DevError(
          'No request named a record of a neighbour: nothing is proven of isolation.',
        );
      return count;
    },
    stop: tap.stop,
  };
}

/** Returns lines of the log that hold what only a neighbour has. */
const inLog = (log: string, canaries: string[]): string[] =>
  log
    .split('\n')
    .filter((line) => canaries.some((canary) => line.includes(canary)))
    .slice(0, 5)
    .map((line) => `the server logged what a neighbour has: ${line.slice(0, 500)}`);

/** Returns the names of what was changed, removed or added. */
function changed(before: Record<string, string>, after: Record<string, string>): string[] {
  return Object.keys({ ...before, ...after }).filter((name) => before[name] !== after[name]);
}
