import type { TSchema } from 'typebox';

/*
 * Messages of a wall as they cross between processes. A frame is its length and the length of its JSON, as 32 bits
 * each, then the JSON, then the attachments in the order of their places in the schema. The first length counts all
 * that follows it.
 */

type Node = {
  'x-attachment'?: 'bytes' | 'text';
  anyOf?: Node[];
  const?: unknown;
  enum?: unknown[];
  type?: string | string[];
  properties?: Record<string, Node>;
  required?: string[];
  items?: Node | Node[];
};
type Attachment = { form: 'bytes' | 'text'; value: unknown };
type Change = (attachment: Attachment) => unknown;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Uint8Array);

/** Returns true if the value has the form, as far as it takes to choose one of several. A length is an attachment. */
function fits(node: Node, value: unknown): boolean {
  if (node['x-attachment'] !== undefined) return value instanceof Uint8Array || typeof value === 'number';
  if (node.anyOf !== undefined) return node.anyOf.some((one) => fits(one, value));
  if (node.const !== undefined) return value === node.const;
  if (node.enum !== undefined) return node.enum.includes(value);
  if (node.type === 'string') return typeof value === 'string';
  if (node.properties === undefined) return node.type !== 'null' || value === null;
  if (!isObject(value) || node.required?.some((name) => value[name] === undefined)) return false;
  const tells = Object.entries(node.properties).filter(([, { const: word, enum: words }]) => word !== undefined || words !== undefined);
  return tells.every(([name, property]) => value[name] === undefined || fits(property, value[name]));
}

/** Returns the value with each attachment changed, in the order of the schema. */
function changed(node: Node | undefined, value: unknown, change: Change): unknown {
  if (node === undefined || value === undefined) return value;
  if (node['x-attachment'] !== undefined) return change({ form: node['x-attachment'], value });
  if (node.anyOf !== undefined)
    return changed(
      node.anyOf.find((one) => fits(one, value)),
      value,
      change,
    );
  if (Array.isArray(value)) {
    const { items } = node;
    return (value as unknown[]).map((item, at) => changed(Array.isArray(items) ? items[at] : items, item, change));
  }
  if (!isObject(value)) return value;
  const parts = Object.entries(node.properties ?? {}).filter(([name]) => value[name] !== undefined);
  return { ...value, ...Object.fromEntries(parts.map(([name, part]) => [name, changed(part, value[name], change)])) };
}

/** Returns the JSON of the message, which has the lengths of its attachments, and the attachments. */
function takenApart(schema: TSchema, message: unknown): { header: unknown; attachments: Uint8Array[] } {
  const attachments: Uint8Array[] = [];
  const header = changed(schema, message, ({ value }) => {
    const bytes = typeof value === 'string' ? Buffer.from(value) : (value as Uint8Array);
    attachments.push(bytes);
    return bytes.length;
  });
  return { header, attachments };
}

/** Returns the message as a frame. */
export function toFrame(schema: TSchema, message: unknown): Buffer {
  const { header, attachments } = takenApart(schema, message);
  const json = Buffer.from(JSON.stringify(header));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(4 + json.length + attachments.reduce((sum, { length }) => sum + length, 0), 0);
  lengths.writeUInt32LE(json.length, 4);
  return Buffer.concat([lengths, json, ...attachments]);
}

/** Returns the message of a frame. */
export function fromFrame(schema: TSchema, frame: Buffer): unknown {
  if (frame.readUInt32LE(0) !== frame.length - 4) throw new RangeError('The frame has another length than it says.');
  let at = 8 + frame.readUInt32LE(4);
  const header: unknown = JSON.parse(frame.subarray(8, at).toString());
  const message = changed(schema, header, ({ form, value: length }) => {
    const bytes = frame.subarray(at, (at += length as number));
    return form === 'text' ? bytes.toString() : new Uint8Array(bytes);
  });
  if (at !== frame.length) throw new RangeError('The frame has more bytes than its message.');
  return message;
}

/** Bytes of a frame above which it is a fault. */
const MOST = 256 * 1024 * 1024;

/** Puts frames together from the pieces in which they come. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #bytes = 0;

  /** Returns the frames that are whole with this piece. Throws a `RangeError` for one that is too long. */
  push(piece: Buffer): Buffer[] {
    this.#pieces.push(piece);
    this.#bytes += piece.length;
    const frames: Buffer[] = [];
    for (let length = this.#next(); length !== undefined && this.#bytes >= length; length = this.#next()) {
      const [all] = this.#joined();
      frames.push(all!.subarray(0, length));
      this.#pieces = [all!.subarray(length)];
      this.#bytes -= length;
    }
    return frames;
  }

  /** Returns the length of the next frame with its own four bytes; undefined until these are here. */
  #next(): number | undefined {
    if (this.#bytes < 4) return undefined;
    const first = this.#pieces[0]!.length >= 4 ? this.#pieces[0]! : this.#joined()[0]!;
    const length = 4 + first.readUInt32LE(0);
    if (length > MOST) throw new RangeError(`A frame of ${length} bytes is too long.`);
    return length;
  }

  #joined(): Buffer[] {
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces;
  }
}
