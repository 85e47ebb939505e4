import { Unavailable } from '../../errors.ts';

/** Where the bytes of a body come from. `cancel` says that the rest is not wanted. */
export type BodySource = { read(): Promise<Uint8Array | undefined>; cancel(): void };

/** Bytes of a body that may be on their way between the threads. */
const WINDOW = 256 * 1024;

/** Bytes of one message: those of a larger chunk cross in pieces, so that others find room between them. */
export const PIECE = 64 * 1024;

type Out = { chunk(bytes: Uint8Array): void; end(failure?: string): void };

/** The writer's side of a body: sends as much of its source as the reader asks for. */
export class OutgoingBody {
  readonly #source: BodySource;
  readonly #out: Out;
  #room = 0;
  #wake: () => void = () => undefined;
  #stopped = false;

  constructor(source: BodySource, out: Out) {
    this.#source = source;
    this.#out = out;
    void this.#send();
  }

  addRoom(bytes: number): void {
    this.#room += bytes;
    this.#wake();
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#source.cancel();
    this.#wake();
  }

  async #send(): Promise<void> {
    try {
      // The source is not touched before somebody reads.
      await this.#waitForRoom();
      for (;;) {
        const chunk = this.#stopped ? undefined : await this.#source.read();
        if (chunk === undefined) break;
        for (let at = 0; at < chunk.length; at += PIECE) {
          await this.#waitForRoom();
          if (this.#stopped) return;
          const piece = chunk.subarray(at, at + PIECE);
          this.#room -= piece.length;
          this.#out.chunk(piece);
        }
      }
      if (!this.#stopped) this.#out.end();
    } catch (error) {
      if (!this.#stopped) this.#out.end(error instanceof Error ? error.message : String(error));
    }
    this.#stopped = true;
  }

  async #waitForRoom(): Promise<void> {
    while (this.#room <= 0 && !this.#stopped) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }
}

/** The reader's side of a body. It is read once; to leave the loop early is to want no more. */
export class IncomingBody implements BodySource {
  readonly #ask: { more(bytes: number): void; stop(): void };
  readonly #chunks: Uint8Array[] = [];
  #wake: () => void = () => undefined;
  #begun = false;
  #over = false;
  #failure: Error | undefined;

  constructor(ask: { more(bytes: number): void; stop(): void }) {
    this.#ask = ask;
  }

  push(bytes: Uint8Array): void {
    this.#chunks.push(bytes);
    this.#wake();
  }

  end(failure?: string): void {
    if (this.#over) return;
    this.#over = true;
    if (failure !== undefined) this.#failure = new Unavailable(failure);
    this.#wake();
  }

  async read(): Promise<Uint8Array | undefined> {
    if (!this.#begun) this.#ask.more(WINDOW);
    this.#begun = true;
    while (this.#chunks.length === 0 && !this.#over) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
    const chunk = this.#chunks.shift();
    if (chunk !== undefined) this.#ask.more(chunk.length);
    else if (this.#failure !== undefined) throw this.#failure;
    return chunk;
  }

  cancel(): void {
    if (this.#over) return;
    this.#chunks.length = 0;
    this.end();
    this.#ask.stop();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    try {
      for (let chunk = await this.read(); chunk !== undefined; chunk = await this.read())
        yield chunk;
    } finally {
      this.cancel();
    }
  }
}

/** Reads a body of the Fetch standard. */
export function toBodySource(stream: ReadableStream<Uint8Array>): BodySource {
  const reader = stream.getReader();
  return {
    read: async () => {
      const { done, value } = await reader.read();
      return done ? undefined : value;
    },
    // The maker of the stream may fail over its end, which concerns nobody any more.
    cancel: () => void reader.cancel().catch(() => undefined),
  };
}

/** Returns the body as a stream of the Fetch standard. */
export const toReadableStream = (source: BodySource): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const chunk = await source.read();
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
      cancel: () => source.cancel(),
    },
    // Nothing is read ahead of the stream's reader.
    { highWaterMark: 0 },
  );
