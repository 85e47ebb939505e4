import type { Fault } from './fault.ts';
import { badCertificate } from './faults/bad-certificate.ts';
import { collectorAway } from './faults/collector-away.ts';
import { deadNode } from './faults/dead-node.ts';
import { deadWatch } from './faults/dead-watch.ts';
import { expiredCertificate } from './faults/expired-certificate.ts';
import { expiredKey } from './faults/expired-key.ts';
import { fullVolume } from './faults/full-volume.ts';
import { lostLeader } from './faults/lost-leader.ts';
import { missingImage } from './faults/missing-image.ts';
import { queueBacklog } from './faults/queue-backlog.ts';
import { quota } from './faults/quota.ts';
import { refusedRoute } from './faults/refused-route.ts';
import { stuckFinalizer } from './faults/stuck-finalizer.ts';
import { wrongPassword } from './faults/wrong-password.ts';

/** The cheap ones, which are part of `make test`. */
export const CHEAP: readonly Fault[] = [missingImage, quota];

/** All faults of the exercise. Those of the platform itself come last. */
export const FAULTS: readonly Fault[] = [
  ...CHEAP,
  stuckFinalizer,
  expiredKey,
  wrongPassword,
  expiredCertificate,
  badCertificate,
  collectorAway,
  deadNode,
  queueBacklog,
  fullVolume,
  lostLeader,
  deadWatch,
  refusedRoute,
];
