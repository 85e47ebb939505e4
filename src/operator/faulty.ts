import type { Cache } from '../kube/cache.ts';
import type { Faulty } from '../kube/faulty-objects.ts';
import type { Recorder } from '../kube/events.ts';
import { kinds } from '../kube/kinds.ts';
import type { Kind } from '../kube/kube.ts';
import { isOfKind } from '../kube/object-key.ts';
import type { Log } from '../log.ts';
import type { Caches } from './view/caches.ts';

/** Kinds whose status reports the fault of an object, and with it an event. */
const REPORTED: Kind[] = [kinds.deployment, kinds.revision, kinds.listener];

const isReported = ({ object, fault }: Faulty): boolean =>
  REPORTED.some((kind) => isOfKind(object, kind)) && fault.reason !== 'Unreadable';

/** Returns the objects that the operator does not work on as they are. */
export const listFaultyObjects = (caches: Caches): Faulty[] =>
  Object.values(caches).flatMap(({ faults }: Pick<Cache, 'faults'>) => faults.listAll());

/** Milliseconds between two events. Ten thousand faulty objects must not hold up other requests. */
const PACE = 100;

/**
 * Tells of objects that are out of bounds or can't be read: in the log, and by an event where no status does. Events
 * are written only by a process that leads, which calls the returned function when it begins to.
 */
export function reportFaultyObjects(
  caches: Caches,
  { record, log }: { record: Recorder; log: Log },
): () => void {
  const untold: Faulty[] = [];
  let timer: NodeJS.Timeout | undefined;
  let leads = false;
  const reportNext = (): void => {
    const faulty = untold.shift();
    timer = faulty && setTimeout(reportNext, PACE).unref();
    if (faulty)
      record(faulty.object, {
        type: 'Warning',
        reason: faulty.fault.reason,
        action: 'Read',
        note: faulty.fault.message,
      });
  };
  const note = (faulty: Faulty): void => {
    if (!leads || isReported(faulty)) return;
    untold.push(faulty);
    if (timer === undefined) reportNext();
  };
  const handleFaulty = (faulty: Faulty): void => {
    const { object, fault } = faulty;
    log.warn(
      { kind: object.kind, ...object.metadata, reason: fault.reason, fault: fault.message },
      'object is left as it is',
    );
    note(faulty);
  };
  for (const { faults } of Object.values(caches)) faults.addFaultListener(handleFaulty);
  return () => {
    leads = true;
    listFaultyObjects(caches).forEach(note);
  };
}
