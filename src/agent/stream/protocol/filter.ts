import { Rejected } from '../../../errors.ts';
import type { EventPlace } from '../event-name.ts';

/* This file decides what a subscription lets through. */

const CHANNELS = new Set([
  'values',
  'updates',
  'messages',
  'tools',
  'lifecycle',
  'input',
  'tasks',
  'checkpoints',
  'custom',
]);

/** `namespaces` are prefixes; absent or empty means all. `depth` is the most segments below the prefix. */
export type EventFilter = {
  channels: string[];
  namespaces?: string[][] | null | undefined;
  depth?: number | null | undefined;
};

/** Returns whether there is such a channel; `custom:<name>` is the channel of custom events of that name. */
export const isChannel = (channel: string): boolean =>
  CHANNELS.has(channel) || channel.startsWith('custom:');

export function checkChannels(channels: string[]): void {
  const unknown = channels.find((channel) => !isChannel(channel));
  if (unknown !== undefined)
    throw new Rejected(
      `Unknown channel: ${unknown}. Channels are ${[...CHANNELS].join(', ')} and custom:<name>.`,
    );
}

export function isEventSelected(
  { channels, namespaces, depth }: EventFilter,
  place: EventPlace,
): boolean {
  // `input.requested` and its like belong to `input`.
  const channel = place.method.split('.')[0]!;
  if (
    !channels.includes(channel) &&
    !(place.name !== undefined && channels.includes(`custom:${place.name}`))
  )
    return false;
  if (!namespaces || namespaces.length === 0) return true;
  return namespaces.some(
    (prefix) =>
      isPrefix(prefix, place.namespace) &&
      (depth === undefined || depth === null || place.namespace.length - prefix.length <= depth),
  );
}

/**
 * Compares segment by segment. Clients name nodes, and a segment of an event is `<node>:<task id>`; one with a colon
 * must be the same.
 */
function isPrefix(prefix: string[], namespace: string[]): boolean {
  if (prefix.length > namespace.length) return false;
  return prefix.every((segment, at) => {
    const own = namespace[at]!;
    return own === segment || (!segment.includes(':') && own.split(':')[0] === segment);
  });
}
