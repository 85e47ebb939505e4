import { createHash, randomBytes } from 'node:crypto';
import { Invalid } from '../../errors.ts';

/** The namespace in which clients of this interface expect the ids of system assistants. */
const ASSISTANTS = '6ba7b821-9dad-11d1-80b4-00c04fd430c8';

const format = (bytes: Buffer): string =>
  bytes
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, (_, ...parts: string[]) =>
      parts.slice(0, 5).join('-'),
    );

/** Returns a time-ordered id: later ids sort after earlier ones (to the millisecond). */
export function createId(now: number = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(now, 0, 6);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x70, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return format(bytes);
}

/** Returns the milliseconds since 1970 at which `newId` made the id. */
export const parseIdTime = (id: string): number =>
  Number.parseInt(id.slice(0, 13).replace('-', ''), 16);

/** Returns the id of a graph's own assistant, which is the same in every process and every revision. */
export const buildSystemAssistantId = (graphId: string): string =>
  buildNamedId(ASSISTANTS, graphId);

/** Returns the UUID, of version 5, of a name in a namespace. */
export function buildNamedId(namespace: string, name: string): string {
  const space = Buffer.from(namespace.replaceAll('-', ''), 'hex');
  const bytes = createHash('sha1').update(space).update(name).digest().subarray(0, 16);
  bytes.writeUInt8((bytes.readUInt8(6) & 0x0f) | 0x50, 6);
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8);
  return format(bytes);
}

export const isUuid = (text: string): boolean =>
  /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(text);

/** Returns whether the text can name an assistant: a graph, or an id. */
export const isAssistant = (text: string, graphs: string[]): boolean =>
  graphs.includes(text) || isUuid(text);

/**
 * Returns the id of the assistant that a request names: an id as it is, or for a graph's name the id of the graph's own
 * assistant. Throws `Invalid` at `place`.
 */
export function resolveAssistantId(
  text: string,
  graphs: string[],
  place: 'body' | 'path' = 'body',
): string {
  if (graphs.includes(text)) return buildSystemAssistantId(text);
  if (isUuid(text)) return text;
  const msg = `Invalid assistant: '${text}'. Must be either a valid assistant UUID or one of the graphs ${graphs.join(', ')}`;
  throw new Invalid([{ loc: [place, 'assistant_id'], msg, type: 'assistant' }]);
}
