import { randomBytes } from 'node:crypto';
import { toError } from '../errors.ts';
import type { Log } from '../log.ts';
import { kinds } from './kinds.ts';
import type { Kube, KubeObject } from './kube.ts';
import { formatMicroTime } from './lease.ts';

export type EventNote = {
  type: 'Normal' | 'Warning';
  reason: string;
  action: string;
  note: string;
};
export type Recorder = (regarding: object, note: EventNote) => void;

/** The bytes, not characters, that the API server accepts in a note. */
export const NOTE_LENGTH = 1024;

/**
 * Returns as much of a text, from its beginning or its end, as the given number of bytes holds, without half a
 * character.
 */
export function trimToBytes(text: string, bytes: number, from: 'start' | 'end' = 'start'): string {
  const whole = Buffer.from(text);
  if (whole.length <= bytes) return text;
  const part = from === 'start' ? whole.subarray(0, bytes) : whole.subarray(whole.length - bytes);
  return part.toString().replace(from === 'start' ? /\uFFFD+$/ : /^\uFFFD+/, '');
}

/**
 * Returns a recorder of events.k8s.io/v1 events. Its caller records transitions only. A lost event is logged and fails
 * nothing.
 */
export function createRecorder(options: {
  kube: Kube;
  log: Log;
  controller: string;
  instance: string;
}): Recorder {
  const { kube, log, controller, instance } = options;
  return (regarding, { type, reason, action, note }) => {
    const { apiVersion, kind, metadata } = regarding as KubeObject;
    const namespace = metadata.namespace ?? 'default';
    const event = {
      apiVersion: kinds.event.apiVersion,
      kind: kinds.event.kind,
      metadata: {
        namespace,
        name: `${metadata.name.slice(0, 200)}.${randomBytes(8).toString('hex')}`,
      },
      eventTime: formatMicroTime(),
      reportingController: controller,
      reportingInstance: instance.slice(0, 128),
      action,
      reason,
      note: trimToBytes(note, NOTE_LENGTH),
      type,
      regarding: {
        apiVersion,
        kind,
        name: metadata.name,
        namespace,
        uid: metadata.uid,
        resourceVersion: metadata.resourceVersion,
      },
    };
    kube
      .create(kinds.event, event)
      .catch((error: unknown) => log.debug({ err: toError(error), reason }, 'event not written'));
  };
}
