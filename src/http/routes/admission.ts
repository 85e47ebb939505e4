import { Places } from '../limits/quota.ts';
import type { BodyAdmission } from './route.ts';

/** The least that a request counts, because its connection costs something, too. */
const LEAST_BYTES = 4096;

/** Bytes of bodies under way, by the names that hold them. Throws a 429 for a body that one of them has no room for. */
export class BodyPlaces {
  readonly #places = new Places();
  readonly #message: string;

  constructor(message: string) {
    this.#message = message;
  }

  /** Takes room for a body of so many bytes with each holder. Returns the function that gives it back. */
  enter(bytes: number, holders: { name: string; bytes: number }[]): () => void {
    const count = Math.max(bytes, LEAST_BYTES);
    return this.#places.enter(
      holders.map(({ name, bytes: most }) => ({ name, most, count, message: this.#message })),
    );
  }
}

/** Lets in the bodies of senders without a key, so many bytes of an address and of all at a time. */
export function admitStrangers({
  seconds,
  address,
  all,
}: {
  seconds: number;
  address: number;
  all: number;
}): BodyAdmission {
  const places = new BodyPlaces(
    'Too many requests from this address are under way; try again later.',
  );
  return {
    seconds,
    admit: ({ source, bytes }) =>
      places.enter(bytes, [
        { name: `address ${source}`, bytes: address },
        { name: 'all', bytes: all },
      ]),
  };
}
