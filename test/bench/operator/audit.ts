import { openSync, readSync, closeSync, statSync } from 'node:fs';
import type { AuditEvent } from '../../kit/audit-log.ts';

type Timed = AuditEvent & { requestReceivedTimestamp: string };

const WRITES = ['create', 'update', 'patch', 'delete'];

/** A number of requests of one kind by one client. */
export type Asked = { actor: string; what: string; count: number };

/** What the API server was asked since a given moment, by its own account. */
export class AuditTrail {
  readonly #path: string;
  readonly #from: number;

  constructor(path: string) {
    this.#path = path;
    this.#from = statSync(path).size;
  }

  /** Counts the requests of clients whose user agent begins with this text, except those for the Lease. */
  requests(userAgent: string): Timed[] {
    return this.#events().filter(
      (event) => event.userAgent?.startsWith(userAgent) && resourceOf(event) !== 'leases',
    );
  }

  /** Returns when each of their writes came in, in milliseconds since the epoch. */
  times(userAgent: string, which: (event: AuditEvent) => boolean = () => true): number[] {
    const found = this.requests(userAgent).filter((event) => isWrite(event) && which(event));
    return found.map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp));
  }

  /** Counts every request but watches and Leases by who asked and what for, most frequent first. */
  census(): Asked[] {
    const counts = new Map<string, Asked>();
    for (const event of this.requests('').filter(({ verb }) => verb !== 'watch')) {
      const asked = { actor: actorOf(event), what: `${event.verb} ${pathOf(event)}`, count: 0 };
      const key = `${asked.actor} ${asked.what}`;
      const known = counts.get(key) ?? asked;
      known.count += 1;
      counts.set(key, known);
    }
    return [...counts.values()].toSorted((a, b) => b.count - a.count);
  }

  #events(): Timed[] {
    const size = statSync(this.#path).size - this.#from;
    const bytes = Buffer.alloc(size);
    const file = openSync(this.#path, 'r');
    readSync(file, bytes, 0, size, this.#from);
    closeSync(file);
    const lines = bytes.toString('utf8').split('\n');
    return lines.filter((line) => line.endsWith('}')).map((line) => JSON.parse(line) as Timed);
  }
}

/** Returns the program: `kube-scheduler` of `kube-scheduler/v1.34 (linux/amd64) ...`. */
const actorOf = ({ userAgent }: AuditEvent): string => userAgent.split(/[/ ]/)[0] ?? '';

/** Returns the resource: `deployments.gx.dev/status`. */
function pathOf({ objectRef }: AuditEvent): string {
  const {
    apiGroup,
    resource = 'none',
    subresource,
  } = (objectRef ?? {}) as { apiGroup?: string; resource?: string; subresource?: string };
  const full = apiGroup === 'gx.dev' ? `${resource}.gx.dev` : resource;
  return subresource === undefined ? full : `${full}/${subresource}`;
}

export const resourceOf = ({ objectRef }: AuditEvent): string => objectRef?.resource ?? '';
export const isWrite = ({ verb }: AuditEvent): boolean => WRITES.includes(verb);

/**
 * Recognises a write of an object that is made for a deployment. The deployment's status or finalizer and events do not
 * count.
 */
export const isChildWrite = ({ objectRef }: AuditEvent): boolean =>
  objectRef?.subresource === undefined &&
  objectRef?.resource !== 'events' &&
  `${objectRef?.resource}.${(objectRef as { apiGroup?: string })?.apiGroup}` !==
    'deployments.gx.dev';
