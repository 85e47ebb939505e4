import { Type, type Static } from 'typebox';
import { MOST_LIVING, PINS } from './pins.ts';
import { DateTime, Nullable, resourceForm, StringEnum } from '../types.ts';

/** Seconds for which work stays with a replaced revision unless a deployment says otherwise: a week. */
export const PIN_SECONDS = 604_800;
/** Replaced revisions that keep their work at a time, unless a deployment says otherwise. */
export const MOST_DRAINING = 3;

/** How a revision that another one replaces keeps its work, in REST's words. */
export const RolloutConfig = Type.Object(
  {
    pin: Type.Optional(
      Nullable(
        StringEnum(PINS, {
          description:
            'The work that keeps to the revision on which it began: `Run`, a run from its input to its end, answers to its questions included; `Thread`, a thread for its life; `None`. It counts from the next revision on. Default: the setting of the installation, Run.',
        }),
      ),
    ),
    pin_seconds: Type.Optional(
      Nullable(
        Type.Integer({
          minimum: 10,
          maximum: 31_536_000,
          description: 'How long a replaced revision keeps its work. Then it goes on with the one that serves. Default 604800, a week.',
        }),
      ),
    ),
    max_draining: Type.Optional(
      Nullable(
        Type.Integer({
          minimum: 0,
          maximum: 10,
          description: 'How many replaced revisions keep their work at a time. The work of the oldest goes on first. Default 3.',
        }),
      ),
    ),
  },
  {
    additionalProperties: false,
    description: 'How a revision that another one replaces keeps its work. A change makes no revision.',
  },
);
export type RolloutConfig = Static<typeof RolloutConfig>;

/** The same as the resource has it. */
export const RolloutSpec = resourceForm(RolloutConfig);

/** The same of the pods of a revision, as they were started. */
export const PinOfPods = Type.Optional(
  StringEnum(['Run', 'Thread'], { description: 'The kind of work that its pods pin to it. Unset: nothing.' }),
);

const Name = (description: string) => Type.String({ maxLength: 253, description });
const count = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));

/** A replaced revision that keeps its work. */
export const DrainingRevision = Type.Object({
  revision: Name('The replaced revision.'),
  since: DateTime('When it was replaced.'),
  runs: count('Its runs that have not ended, as last reported.'),
  threads: count('Threads that wait for an answer at it, or that stay with it, as last reported.'),
});
export type DrainingRevision = Static<typeof DrainingRevision>;

/** Which revision has which work, as the agents know it by the gateway. */
export const RolloutStatus = Type.Object(
  {
    madeAt: Type.String({ maxLength: 40, description: 'When the other fields last named other revisions.' }),
    current: Name('The revision that serves, and takes the work of those that are not named here.'),
    living: Type.Array(Name('A revision whose work stays with it.'), { maxItems: MOST_LIVING }),
    draining: Type.Array(DrainingRevision, { maxItems: MOST_LIVING, description: 'Those of them that were replaced, the oldest first.' }),
  },
  { description: 'The revisions that execute runs. Unset: no gateway is installed, or nothing serves yet.' },
);
export type RolloutStatus = Static<typeof RolloutStatus>;
