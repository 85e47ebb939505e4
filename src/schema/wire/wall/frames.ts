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
type Change = (attachment: { form: 'bytes' | 'text'; value: unknown }) => unknown;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' &&
  value !== null &&
  !Array.isArray(value) &&
  !(value instanceof Uint8Array);

/** Returns true if the value has the form, as far as it takes to choose one of several. A length is an attachment. */
function hasForm(node: Node, value: unknown): boolean {
  if (node['x-attachment'] !== undefined)
    return value instanceof Uint8Array || typeof value === 'number';
  if (node.anyOf !== undefined) return node.anyOf.some((one) => hasForm(one, value));
  if (node.const !== undefined) return value === node.const;
  if (node.enum !== undefined) return node.enum.includes(value);
  if (node.type === 'string') return typeof value === 'string';
  if (node.properties === undefined) return node.type !== 'null' || value === null;
  if (!isObject(value) || node.required?.some((name) => value[name] === undefined)) return false;
  const tells = Object.entries(node.properties).filter(
    ([, { const: word, enum: words }]) => word !== undefined || words !== undefined,
  );
  return tells.every(
    ([name, property]) => value[name] === undefined || hasForm(property, value[name]),
  );
}

/** Changes each attachment of a value, in the order of the schema. */
type Walk = (value: unknown, change: Change) => unknown;

// oxlint-disable-next-line house/module-state -- derived from the schemas, which are constants
const walks = new WeakMap<Node, { walk: Walk | undefined }>();

/** Returns the walk over the values of a node; undefined where they have no attachments. It is made once. */
function getWalk(node: Node): Walk | undefined {
  let made = walks.get(node);
  if (made === undefined) {
    made = { walk: buildWalk(node) };
    walks.set(node, made);
  }
  return made.walk;
}

function buildWalk(node: Node): Walk | undefined {
  const form = node['x-attachment'];
  if (form !== undefined) return (value, change) => change({ form, value });
  if (node.anyOf !== undefined) return buildUnionWalk(listAlternatives(node));
  if (Array.isArray(node.items)) return buildTupleWalk(node.items.map(getWalk));
  return node.items === undefined ? buildObjectWalk(node) : buildArrayWalk(getWalk(node.items));
}

/** Returns the alternatives of a node, with those of alternatives that have their own. */
const listAlternatives = (node: Node): Node[] => node.anyOf?.flatMap(listAlternatives) ?? [node];

/** Finds the alternative of a message by its kind, and that of any other value by trying. */
function buildUnionWalk(alternatives: Node[]): Walk | undefined {
  if (alternatives.every((one) => getWalk(one) === undefined)) return undefined;
  const walkFirstFit: Walk = (value, change) =>
    getWalk(alternatives.find((one) => hasForm(one, value)) ?? {})?.(value, change) ?? value;
  const byKind = Map.groupBy(alternatives, ({ properties }) => properties?.['kind']?.const);
  return (value, change) => {
    const some = isObject(value) ? byKind.get(value['kind']) : undefined;
    if (some?.length !== 1) return walkFirstFit(value, change);
    const walk = getWalk(some[0]!);
    return walk === undefined ? value : walk(value, change);
  };
}

function buildTupleWalk(parts: (Walk | undefined)[]): Walk | undefined {
  if (parts.every((walk) => walk === undefined)) return undefined;
  return (value, change) =>
    Array.isArray(value)
      ? value.map((item: unknown, at) => parts[at]?.(item, change) ?? item)
      : value;
}

function buildArrayWalk(walk: Walk | undefined): Walk | undefined {
  if (walk === undefined) return undefined;
  return (value, change) =>
    Array.isArray(value) ? value.map((item: unknown) => walk(item, change)) : value;
}

function buildObjectWalk({ properties = {} }: Node): Walk | undefined {
  const parts = Object.entries(properties).flatMap(([name, part]) => {
    const walk = getWalk(part);
    return walk === undefined ? [] : [{ name, walk }];
  });
  if (parts.length === 0) return undefined;
  return (value, change) => {
    if (!isObject(value)) return value;
    const made = { ...value };
    for (const { name, walk } of parts)
      if (value[name] !== undefined) made[name] = walk(value[name], change);
    return made;
  };
}

function mapAttachments(schema: TSchema, value: unknown, change: Change): unknown {
  const walk = getWalk(schema);
  return walk === undefined ? value : walk(value, change);
}

function splitAttachments(
  schema: TSchema,
  message: unknown,
): { header: unknown; attachments: Uint8Array[] } {
  const attachments: Uint8Array[] = [];
  const header = mapAttachments(schema, message, ({ value }) => {
    const bytes = typeof value === 'string' ? Buffer.from(value) : (value as Uint8Array);
    attachments.push(bytes);
    return bytes.length;
  });
  return { header, attachments };
}

/** Returns the message as a frame. */
export function toFrame(schema: TSchema, message: unknown): Buffer {
  const { header, attachments } = splitAttachments(schema, message);
  const json = Buffer.from(JSON.stringify(header));
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(
    4 + json.length + attachments.reduce((sum, { length }) => sum + length, 0),
    0,
  );
  lengths.writeUInt32LE(json.length, 4);
  return Buffer.concat([lengths, json, ...attachments]);
}

/** Returns the message of a frame. */
export function decodeMessageFrame(schema: TSchema, frame: Buffer): unknown {
  if (frame.readUInt32LE(0) !== frame.length - 4)
    throw new RangeError('The frame has another length than it says.');
  let at = 8 + frame.readUInt32LE(4);
  const header: unknown = JSON.parse(frame.subarray(8, at).toString());
  const message = mapAttachments(schema, header, ({ form, value: length }) => {
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
    for (
      let length = this.#readFrameLength();
      length !== undefined && this.#bytes >= length;
      length = this.#readFrameLength()
    ) {
      const [all] = this.#joinPieces();
      frames.push(all!.subarray(0, length));
      this.#pieces = [all!.subarray(length)];
      this.#bytes -= length;
    }
    return frames;
  }

  /** Returns the length of the next frame with its own four bytes; undefined until these are here. */
  #readFrameLength(): number | undefined {
    if (this.#bytes < 4) return undefined;
    const first = this.#pieces[0]!.length >= 4 ? this.#pieces[0]! : this.#joinPieces()[0]!;
    const length = 4 + first.readUInt32LE(0);
    if (length > MOST) throw new RangeError(`A frame of ${length} bytes is too long.`);
    return length;
  }

  #joinPieces(): Buffer[] {
    if (this.#pieces.length > 1) this.#pieces = [Buffer.concat(this.#pieces)];
    return this.#pieces;
  }
}
