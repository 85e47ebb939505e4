import type { IncomingMessage } from 'node:http';
import { ProcessDoor, type ProcessPlace, type AskedThere } from './door.ts';

/** Asks the control plane, and nobody else. */
export class ControlPlaneDoor {
  readonly #place: ProcessPlace;
  readonly #below: string;
  readonly #door = new ProcessDoor({ called: 'The control plane' });

  constructor({ protocol, hostname, port, pathname }: URL) {
    const isSecure = protocol === 'https:';
    const usual = isSecure ? 443 : 80;
    this.#place = { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: port === '' ? usual : Number(port), isSecure };
    this.#below = pathname.replace(/\/$/, '');
  }

  /** Returns the answer once its headers are there. Throws `Unavailable` if there is none. */
  ask(asked: AskedThere): Promise<IncomingMessage> {
    return this.#door.ask(this.#place, { ...asked, path: `${this.#below}${asked.path}` });
  }

  /** Closes the connections that are kept. */
  close(): void {
    this.#door.close();
  }
}
