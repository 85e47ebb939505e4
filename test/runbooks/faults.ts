import type { Fault } from './fault.ts';
import { missingImage } from './faults/missing-image.ts';
import { quota } from './faults/quota.ts';
import { stuckFinalizer } from './faults/stuck-finalizer.ts';
import { wrongPassword } from './faults/wrong-password.ts';

/** The cheap ones, which are part of `make test`. */
export const CHEAP: readonly Fault[] = [missingImage, quota];

/** All faults of the exercise. Those of the platform itself come last. */
export const FAULTS: readonly Fault[] = [...CHEAP, stuckFinalizer, wrongPassword];
