import type { OperatorSettings } from '../../config/operator.ts';
import type { RevisionResource } from '../../schema/custom-resources.ts';
import type { RevisionStatus } from '../../schema/revision.ts';
import type { Diagnosis } from '../pods/diagnose.ts';
import type { RevisionWorld } from './observe.ts';

/** Replicas of each workload. Undefined: it is not made, and if it is there it stays as it is. */
export type Wish = {
  api?: number;
  queue?: number;
  /** They are taken down, and nobody may scale them up again. */
  down?: true;
};

export type Decision = {
  phase: RevisionStatus;
  message: string;
  reason?: string;
  /** What the pods suffer from; its log is read when the revision ends. */
  diagnosis?: Diagnosis | undefined;
  wish: Wish;
  /** The build's Job is made, or given up. */
  build?: 'make' | 'drop';
  /** Found in this pass: the image that the pods are to run, and the commit that it was built from. */
  image?: string | undefined;
  commitSha?: string | undefined;
  started: boolean;
  /** All pods are there: the deployment may send it traffic. */
  complete?: boolean;
  /** A condition says so: once it serves, or when traffic is late. */
  rolledOut: boolean;
  /** Seconds after which to look again, where nothing wakes the revision by itself. */
  again?: number;
};

export type Situation = { revision: RevisionResource; world: RevisionWorld; settings: OperatorSettings };
export type Question = (situation: Situation) => Decision | undefined;

/** Returns a decision that makes no pods. */
export const idle = (phase: RevisionStatus, message: string, more: Partial<Decision> = {}): Decision => ({
  phase,
  message,
  wish: {},
  started: false,
  rolledOut: false,
  ...more,
});
