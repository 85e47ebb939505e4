import type { IncomingMessage } from 'node:http';
import {
  OF_CONTROL_PLANE,
  SIGNATURE_HEADER,
  type ClientSigner,
} from '../http/callers/signed-client.ts';
import { ProcessDoor, type ProcessPlace, type AskedThere } from './door.ts';

/** Asks the control plane, and nobody else. */
export class ControlPlaneDoor {
  readonly #place: ProcessPlace;
  readonly #below: string;
  readonly #door = new ProcessDoor({ called: 'The control plane' });

  readonly #signer: ClientSigner | undefined;

  /** `signer`: signs the word about the client of each request. */
  constructor({ protocol, hostname, port, pathname }: URL, signer?: ClientSigner) {
    this.#signer = signer;
    const isSecure = protocol === 'https:';
    const usual = isSecure ? 443 : 80;
    this.#place = {
      host: hostname.replace(/^\[(.*)\]$/, '$1'),
      port: port === '' ? usual : Number(port),
      isSecure,
    };
    this.#below = pathname.replace(/\/$/, '');
  }

  /** Returns the answer once its headers are there. Throws `Unavailable` if there is none. */
  ask(asked: AskedThere): Promise<IncomingMessage> {
    const path = `${this.#below}${asked.path}`;
    return this.#door.ask(this.#place, {
      ...asked,
      path,
      headers: { ...asked.headers, ...this.#signHeaders({ ...asked, path }) },
    });
  }

  #signHeaders({ method, path, headers }: AskedThere): Record<string, string> {
    const at = Math.floor(Date.now() / 1000);
    const signature = this.#signer?.sign(
      { method, url: path, headers },
      { of: OF_CONTROL_PLANE, at },
    );
    return signature === undefined ? {} : { [SIGNATURE_HEADER]: signature };
  }

  close(): void {
    this.#door.close();
  }
}
