import { stateMessage } from '../../stream/protocol/state-form.ts';
import { plainMessage, toJson } from '../serialise.ts';
import type { ProtocolEvent } from './convert.ts';

/** Returns an event as one line of JSON: the `params` of its form on the wire. `timestamp` is in milliseconds. */
export function eventText({ namespace, node, data, whole }: ProtocolEvent, timestamp: number): string {
  const from = node === undefined ? '' : `,"node":${JSON.stringify(node)}`;
  const text = whole === true ? toJson(data) : toJson(data, (message) => stateMessage(plainMessage(message)));
  return `{"namespace":${JSON.stringify(namespace)},"timestamp":${timestamp}${from},"data":${text}}`;
}
