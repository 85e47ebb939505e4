import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import { WebSocket } from 'ws';

/* Readers of a thread's events lose their connections, and come back behind the last event that they have. */

export type Event = {
  event_id: string;
  seq: number;
  method: string;
  params: { namespace: string[]; data: { event?: string } };
};

const CHANNELS = [
  'values',
  'lifecycle',
  'input',
  'messages',
  'tools',
  'custom',
  'updates',
  'tasks',
  'checkpoints',
];

const isEnd = ({ method, params: { namespace, data } }: Event): boolean =>
  method === 'lifecycle' && namespace.length === 0 && data.event === 'completed';

export class EventReader {
  readonly seen: Event[] = [];
  /** The number of connections that did not last until the end of the run. */
  cuts = 0;
  readonly #threadId: string;
  readonly #next: () => string;
  readonly #transport: 'sse' | 'websocket';

  /** `next` returns the address of the process that the next connection goes to. */
  constructor(
    threadId: string,
    { next, transport = 'sse' }: { next: () => string; transport?: 'sse' | 'websocket' },
  ) {
    this.#threadId = threadId;
    this.#next = next;
    this.#transport = transport;
  }

  get hasEnded(): boolean {
    const last = this.seen.at(-1);
    return last !== undefined && isEnd(last);
  }

  /**
   * Reads until the run has ended. `life` is the number of milliseconds until the next connection is cut. If it is
   * undefined, none is cut.
   */
  async follow(life: () => number | undefined = () => undefined): Promise<void> {
    for (;;) {
      const milliseconds = life();
      const cut = milliseconds === undefined ? undefined : AbortSignal.timeout(milliseconds);
      // A process that died answers nothing. The next one does.
      await (this.#transport === 'sse' ? this.#readStream(cut) : this.#readSocket()).catch(() =>
        wait(20),
      );
      if (this.hasEnded) return;
      this.cuts += 1;
    }
  }

  get #asked(): object {
    const since = this.seen.at(-1)?.seq;
    return { channels: CHANNELS, ...(since !== undefined && { since }) };
  }

  get #path(): string {
    return `${this.#next()}/threads/${this.#threadId}/stream/events`;
  }

  async #readStream(signal: AbortSignal | undefined): Promise<void> {
    const response = await fetch(this.#path, {
      method: 'POST',
      body: JSON.stringify(this.#asked),
      ...(signal && { signal }),
    });
    let text = '';
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const messages = text.split('\r\n\r\n');
      text = messages.pop() ?? '';
      for (const message of messages) {
        const data = /^data: (.*)$/m.exec(message)?.[1];
        if (data !== undefined) this.seen.push(JSON.parse(data) as Event);
      }
      if (this.hasEnded) return;
    }
  }

  async #readSocket(): Promise<void> {
    const socket = new WebSocket(this.#path.replace('http', 'ws'));
    socket.on('open', () =>
      socket.send(JSON.stringify({ id: 1, method: 'subscription.subscribe', params: this.#asked })),
    );
    socket.on('message', (text: Buffer) => {
      const message = JSON.parse(text.toString()) as Event & { type: string };
      if (message.type === 'event') this.seen.push(message);
      if (this.hasEnded) socket.close();
    });
    await once(socket, 'close');
  }
}

/** Expects events without a gap, none of them twice. */
export function expectWhole(seen: Event[]): void {
  expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, at) => at + 1));
  expect(new Set(seen.map(({ event_id: id }) => id)).size).toBe(seen.length);
}
