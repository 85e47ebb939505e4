import { describe, expect, it } from 'vitest';
import {
  buildEventName,
  isProtocolEvent,
  parseEventName,
} from '../../../../src/agent/stream/event-name.ts';
import { checkChannels, isEventSelected } from '../../../../src/agent/stream/protocol/filter.ts';
import {
  buildProtocolEventId,
  parseProtocolSeq,
  formatProtocolEvent,
} from '../../../../src/agent/stream/protocol/wire-form.ts';

const place = (
  method: string,
  namespace: string[] = [],
  name?: string,
): Parameters<typeof isEventSelected>[1] => ({ method, namespace, name });

describe('names of protocol events', () => {
  it('say what happened, and where', () => {
    for (const one of [
      place('values'),
      place('messages', ['a:1', 'b:2']),
      place('custom', ['x:1'], 'a|b:c'),
      place('input.requested'),
    ])
      expect(parseEventName(buildEventName(one))).toEqual(one);
  });

  it('are told from those of the older streams', () => {
    expect(isProtocolEvent(buildEventName(place('values')))).toBe(true);
    expect(isProtocolEvent('values|a:1')).toBe(false);
  });
});

describe('a subscription', () => {
  it('lets its channels through, and named custom events under their own', () => {
    expect(isEventSelected({ channels: ['values'] }, place('values'))).toBe(true);
    expect(isEventSelected({ channels: ['values'] }, place('updates'))).toBe(false);
    expect(isEventSelected({ channels: ['input'] }, place('input.requested'))).toBe(true);
    expect(isEventSelected({ channels: ['custom:a'] }, place('custom', [], 'a'))).toBe(true);
    expect(isEventSelected({ channels: ['custom:a'] }, place('custom', [], 'b'))).toBe(false);
    expect(isEventSelected({ channels: ['custom:a'] }, place('custom'))).toBe(false);
    expect(isEventSelected({ channels: ['custom'] }, place('custom', [], 'b'))).toBe(true);
  });

  it('lets a namespace through by its beginning; a node stands for all its tasks', () => {
    const channels = ['values'];
    expect(
      isEventSelected({ channels, namespaces: [['a']] }, place('values', ['a:1', 'b:2'])),
    ).toBe(true);
    expect(isEventSelected({ channels, namespaces: [['a:1']] }, place('values', ['a:1']))).toBe(
      true,
    );
    expect(isEventSelected({ channels, namespaces: [['a:2']] }, place('values', ['a:1']))).toBe(
      false,
    );
    expect(isEventSelected({ channels, namespaces: [['a']] }, place('values'))).toBe(false);
    expect(
      isEventSelected({ channels, namespaces: [[]], depth: 0 }, place('values', ['a:1'])),
    ).toBe(false);
    expect(
      isEventSelected({ channels, namespaces: [['a']], depth: 1 }, place('values', ['a:1', 'b:2'])),
    ).toBe(true);
    expect(isEventSelected({ channels, namespaces: [] }, place('values', ['a:1']))).toBe(true);
  });

  it('names channels that there are', () => {
    expect(() => checkChannels(['values', 'custom:x'])).not.toThrow();
    expect(() => checkChannels(['values', 'nope'])).toThrow('Unknown channel: nope');
  });
});

describe('an event on the wire', () => {
  it('has an id that both its time and its number make, and keeps its text', () => {
    const event = {
      ms: 17,
      seq: 4,
      thread_seq: 9,
      event: buildEventName(place('custom', [], 'n')),
      json: '{"namespace":[]}',
    };
    expect(buildProtocolEventId(event)).toBe('17-9');
    expect(JSON.parse(formatProtocolEvent(event, 'custom'))).toEqual({
      type: 'event',
      event_id: '17-9',
      seq: 9,
      method: 'custom',
      params: { namespace: [] },
    });
  });

  it('is found again by its id or its number', () => {
    expect([
      parseProtocolSeq('9'),
      parseProtocolSeq('17-9'),
      parseProtocolSeq('x'),
      parseProtocolSeq(''),
    ]).toEqual([9, 9, undefined, undefined]);
  });
});
