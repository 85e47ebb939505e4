/*
 * Messages of a WebSocket within the bodies of its exchange: those of the client within the request's, those of the
 * application within the answer's. A message is its form in 8 bits, its length in 32 bits (little endian), and so many
 * bytes. A close holds its code in 16 bits (little endian), then the reason. The last message of either body is one.
 */

export type SocketMessage =
  | { form: 'text' | 'bytes'; data: Uint8Array }
  | { form: 'close'; code: number; reason: string };

const FORMS = { text: 1, bytes: 2, close: 8 } as const;
const HEAD = 5;

/** Returns the message as it stands in a body. */
export function encodeSocketFrame(message: SocketMessage): Buffer {
  const data = message.form === 'close' ? encodeClose(message) : message.data;
  const head = Buffer.alloc(HEAD);
  head.writeUInt8(FORMS[message.form], 0);
  head.writeUInt32LE(data.length, 1);
  return Buffer.concat([head, data]);
}

function encodeClose({ code, reason }: Extract<SocketMessage, { form: 'close' }>): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(code, 0);
  return Buffer.concat([bytes, Buffer.from(reason)]);
}

/** Puts messages together from the pieces of a body. */
export class SocketFrames {
  readonly #most: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  /** The bytes that the next message takes, as far as they are known. */
  #wanted = HEAD;

  /** A message of more than `most` bytes is refused. */
  constructor(most: number) {
    this.#most = most;
  }

  /** Returns the messages that are whole with this piece. Throws a `RangeError` for one that is too long. */
  push(piece: Uint8Array): SocketMessage[] {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    const messages: SocketMessage[] = [];
    while (this.#bytes >= this.#wanted) {
      const all = Buffer.concat(this.#pieces);
      const length = all.readUInt32LE(1);
      if (length > this.#most)
        throw new RangeError(`A message of ${length} bytes is longer than ${this.#most}.`);
      const isWhole = all.length >= HEAD + length;
      if (isWhole)
        messages.push(decodeMessage(all.readUInt8(0), all.subarray(HEAD, HEAD + length)));
      this.#pieces = [isWhole ? all.subarray(HEAD + length) : all];
      this.#bytes = this.#pieces[0]!.length;
      this.#wanted = isWhole ? HEAD : HEAD + length;
    }
    return messages;
  }
}

function decodeMessage(form: number, data: Buffer): SocketMessage {
  if (form === FORMS.close)
    return { form: 'close', code: data.readUInt16LE(0), reason: data.subarray(2).toString() };
  return { form: form === FORMS.text ? 'text' : 'bytes', data };
}
