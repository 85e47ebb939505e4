import { openSync, readSync, closeSync, statSync } from 'node:fs';
import type { AuditEvent } from '../../kit/api-server.ts';

type Timed = AuditEvent & { requestReceivedTimestamp: string };

const WRITES = ['create', 'update', 'patch', 'delete'];

/** What the API server was asked since a moment, by its own account. */
export class AuditTrail {
  readonly #path: string;
  readonly #from: number;

  constructor(path: string) {
    this.#path = path;
    this.#from = statSync(path).size;
  }

  /** Requests of clients whose user agent begins so, the Lease and events apart. */
  requests(userAgent: string): Timed[] {
    return this.#events().filter((event) => event.userAgent?.startsWith(userAgent) && !['leases', 'events'].includes(resourceOf(event)));
  }

  /** Writes a second between the first and the last. */
  writes(userAgent: string, which: (event: AuditEvent) => boolean = () => true): { count: number; perSecond: number } {
    const found = this.requests(userAgent).filter((event) => isWrite(event) && which(event));
    const times = found.map(({ requestReceivedTimestamp }) => Date.parse(requestReceivedTimestamp));
    const [first, last] = [times.reduce((a, b) => Math.min(a, b), Infinity), times.reduce((a, b) => Math.max(a, b), 0)];
    return { count: found.length, perSecond: found.length / ((last - first) / 1000) };
  }

  /** Writes by what was written, the Lease apart: `events: 12, gx.dev/deployments/status: 4`. */
  census(userAgent: string): string {
    const counts = new Map<string, number>();
    for (const event of this.#events().filter(
      (one) => one.userAgent?.startsWith(userAgent) && isWrite(one) && resourceOf(one) !== 'leases',
    )) {
      const { apiGroup, resource, subresource } = (event.objectRef ?? {}) as { apiGroup?: string; resource?: string; subresource?: string };
      const what = [apiGroup === 'gx.dev' ? 'gx' : undefined, resource, subresource].filter((part) => part !== undefined).join('/');
      counts.set(what, (counts.get(what) ?? 0) + 1);
    }
    return [...counts]
      .toSorted(([, a], [, b]) => b - a)
      .map(([what, count]) => `${what} ${count}`)
      .join(', ');
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

export const resourceOf = ({ objectRef }: AuditEvent): string => objectRef?.resource ?? '';
export const isWrite = ({ verb }: AuditEvent): boolean => WRITES.includes(verb);

/** A write of an object that is made for a deployment, not of its own status or finalizer. */
export const isChildWrite = ({ objectRef }: AuditEvent): boolean =>
  objectRef?.subresource === undefined &&
  !['deployments.gx.dev'].includes(`${objectRef?.resource}.${(objectRef as { apiGroup?: string })?.apiGroup}`);
