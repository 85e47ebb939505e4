import type { IncomingHttpHeaders } from 'node:http';
import { Invalid } from '../../errors.ts';
import { parseCursor, type Cursor } from '../../schema/agent/stream-event.ts';
import { parseJsonOr } from '../../schema/json.ts';

/*
 * This file reads the wishes of readers of streams: which kinds of events they want, and how far they have read.
 */

/**
 * Reads stream modes: one, several separated by commas or by repeating the field, or a JSON array in one value. Returns
 * undefined when none is named, or an empty one. Throws `Invalid`.
 */
export function parseStreamModes<Mode extends string>(
  given: string[] = [],
  { field, modes }: { field: string; modes: readonly Mode[] },
): Mode[] | undefined {
  const texts = given.filter((text) => text !== '');
  if (texts.length === 0) return undefined;
  const named = texts
    .flatMap((text) => (text.startsWith('[') ? parseModes(text) : text.split(',')))
    .map((mode) => String(mode).trim());
  const unknown = named.find((mode) => !modes.includes(mode as Mode));
  if (unknown === undefined) return named as Mode[];
  throw new Invalid([
    { loc: ['query', field], msg: `"${unknown}" is none of ${modes.join(', ')}`, type: 'enum' },
  ]);
}

/** Reads a JSON list. A text that only looks like one counts as a single mode, which is then refused as unknown. */
const parseModes = (text: string): unknown[] => parseJsonOr(text, [text]) as unknown[];

/**
 * Reads `Last-Event-ID` as a cursor; returns undefined when there is none. It refuses an id that no server can have
 * given, as the vendor's server does.
 */
export function readLastEventId(headers: IncomingHttpHeaders): Cursor | undefined {
  const text = headers['last-event-id'] as string | undefined;
  if (text === undefined || text === '') return undefined;
  const cursor = parseCursor(text);
  if (cursor !== undefined) return cursor;
  const msg = 'must be an event id (<milliseconds>-<number>), or "-" for the start';
  throw new Invalid([{ loc: ['header', 'last-event-id'], msg, type: 'value_error' }]);
}
