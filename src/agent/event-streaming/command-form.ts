import type { Command } from '../../schema/agent/event-streaming.ts';
import { checkChannels, type EventFilter } from '../stream/protocol/filter.ts';
import { CommandError } from './answers.ts';
import { parseJsonOr, type Json } from '../../schema/json.ts';

/* This file knows what a command looks like. */

function isCommand(value: unknown): value is Command {
  const { id, method } = Object(value) as { id?: unknown; method?: unknown };
  return Number.isSafeInteger(id) && (id as number) >= 0 && typeof method === 'string';
}

/** Returns the command that a text holds; undefined when it holds none. */
export function parseCommand(text: string): Command | undefined {
  const value = parseJsonOr(text, undefined);
  return isCommand(value) ? value : undefined;
}

const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((one) => typeof one === 'string');
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) >= 0;
const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** Returns the filter of `subscription.subscribe`; `since` 0 means all events that are kept. */
export function parseEventFilter({
  channels,
  namespaces,
  depth,
  since,
}: Json): EventFilter & { since: number } {
  const refuse = (message: string): never => {
    throw new CommandError('invalid_argument', `subscription.subscribe ${message}`);
  };
  if (!isTexts(channels) || channels.length === 0)
    return refuse('requires a non-empty list of channels.');
  checkChannels(channels);
  if (!isAbsent(namespaces) && !(Array.isArray(namespaces) && namespaces.every(isTexts)))
    return refuse('takes namespaces as lists of texts.');
  if (!isAbsent(depth) && !isCount(depth)) return refuse('takes depth as a number of levels.');
  if (!isAbsent(since) && !isCount(since)) return refuse('takes since as the number of an event.');
  const filter = {
    channels,
    namespaces: namespaces as string[][] | undefined,
    depth: depth as number | undefined,
  };
  return { ...filter, since: (since as number | undefined) ?? 0 };
}
