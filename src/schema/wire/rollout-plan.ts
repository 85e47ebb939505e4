import { Type, type Static } from 'typebox';
import { MOST_LIVING, SHARE_BY } from '../platform/rollout/pins.ts';
import { isObject } from '../json.ts';
import { buildEnumSchema } from '../types.ts';

/*
 * The plan of a deployment's revisions, which its processes get in the answers to their reports: which serves, which
 * others still execute runs that are pinned to them, and which is tried out with a share of the new threads.
 */

/** The names of Revisions. */
const FORM = '^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$';
export const buildRevisionNameSchema = (description: string) =>
  Type.String({ minLength: 1, maxLength: 253, pattern: FORM, description });

/** A run that the revision must execute before it gets a share. */
export const RolloutGate = Type.Object({
  id: Type.String({ minLength: 1, maxLength: 320, description: 'The gate. Its run is made once.' }),
  assistant: Type.String({
    minLength: 1,
    maxLength: 253,
    description: 'A graph, or the id of an assistant.',
  }),
  input: Type.Record(Type.String(), Type.Unknown(), { description: 'The input of the run.' }),
});
export type RolloutGate = Static<typeof RolloutGate>;

export const CandidateShare = Type.Object({
  revision: buildRevisionNameSchema(
    'The revision. It is one of the living ones, and begins nothing by itself.',
  ),
  share: Type.Number({
    minimum: 0,
    maximum: 100,
    description: 'Percentage of new threads that go to it.',
  }),
  by: buildEnumSchema(SHARE_BY, {
    description:
      'Whose hash decides: that of the thread, of the assistant, or of the user who asks.',
  }),
  gate: Type.Optional(RolloutGate),
});
export type CandidateShare = Static<typeof CandidateShare>;

export const RolloutPlan = Type.Object({
  made_at: Type.String({
    format: 'date-time',
    maxLength: 40,
    description: 'When it was made. A newer plan replaces an older one.',
  }),
  current: buildRevisionNameSchema(
    'The revision that serves, which takes the work of those that are not among the living ones.',
  ),
  living: Type.Array(buildRevisionNameSchema('A revision that keeps its work.'), {
    minItems: 1,
    maxItems: MOST_LIVING,
  }),
  draining: Type.Array(
    buildRevisionNameSchema(
      'One of those that was replaced. It begins nothing by itself, such as the run of a cron.',
    ),
    {
      maxItems: MOST_LIVING,
    },
  ),
  candidate: Type.Optional(CandidateShare),
  aborted: Type.Optional(
    Type.Array(
      buildRevisionNameSchema(
        'One of the draining ones that was given up. Its runs that have not begun go to the one that serves.',
      ),
      {
        maxItems: MOST_LIVING,
      },
    ),
  ),
});
export type RolloutPlan = Static<typeof RolloutPlan>;

const isName = (value: unknown): value is string =>
  typeof value === 'string' && new RegExp(FORM).test(value);

/** Returns a plan from another process. Undefined where there is none, or it has another form. */
export function readRolloutPlan(given: unknown): RolloutPlan | undefined {
  const plan = (given ?? {}) as Partial<Record<keyof RolloutPlan, unknown>>;
  const { made_at: at, current, living, draining, candidate, aborted = [] } = plan;
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at)) || !isName(current)) return undefined;
  if (!isNameList(living) || living.length === 0 || !isNameList(draining) || !isNameList(aborted))
    return undefined;
  if (candidate === undefined) return { made_at: at, current, living, draining, aborted };
  return isCandidate(candidate)
    ? { made_at: at, current, living, draining, aborted, candidate }
    : undefined;
}

const isNameList = (list: unknown): list is string[] =>
  Array.isArray(list) && list.length <= MOST_LIVING && list.every(isName);

function isCandidate(given: unknown): given is CandidateShare {
  const { revision, share, by, gate } = (given ?? {}) as Partial<
    Record<keyof CandidateShare, unknown>
  >;
  if (gate !== undefined && !isGate(gate)) return false;
  return (
    isName(revision) &&
    typeof share === 'number' &&
    share >= 0 &&
    share <= 100 &&
    SHARE_BY.some((word) => word === by)
  );
}

function isGate(given: unknown): given is RolloutGate {
  const { id, assistant, input } = (given ?? {}) as Partial<Record<keyof RolloutGate, unknown>>;
  return typeof id === 'string' && typeof assistant === 'string' && isObject(input);
}
