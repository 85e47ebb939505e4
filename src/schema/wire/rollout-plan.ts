import { Type, type Static } from 'typebox';
import { MOST_LIVING } from '../platform/pins.ts';

/*
 * The plan of a deployment's revisions, which its processes get in the answers to their reports: which serves, and
 * which others still execute runs that are pinned to them.
 */

/** The names of Revisions. */
const FORM = '^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$';
export const RevisionName = (description: string) => Type.String({ minLength: 1, maxLength: 253, pattern: FORM, description });

export const RolloutPlan = Type.Object({
  made_at: Type.String({ format: 'date-time', maxLength: 40, description: 'When it was made. A newer plan replaces an older one.' }),
  current: RevisionName('The revision that serves, which takes the work of those that are not among the living ones.'),
  living: Type.Array(RevisionName('A revision whose work stays with it.'), { minItems: 1, maxItems: MOST_LIVING }),
  draining: Type.Array(RevisionName('One of those that was replaced. It begins nothing by itself, such as the run of a cron.'), {
    maxItems: MOST_LIVING,
  }),
});
export type RolloutPlan = Static<typeof RolloutPlan>;

const isName = (value: unknown): value is string => typeof value === 'string' && new RegExp(FORM).test(value);

/** Returns a plan from another process. Undefined where there is none, or it has another form. */
export function rolloutPlanOf(given: unknown): RolloutPlan | undefined {
  const { made_at: at, current, living, draining } = (given ?? {}) as Partial<Record<keyof RolloutPlan, unknown>>;
  if (typeof at !== 'string' || Number.isNaN(Date.parse(at)) || !isName(current)) return undefined;
  if (!areNames(living) || living.length === 0 || !areNames(draining)) return undefined;
  return { made_at: at, current, living, draining };
}

const areNames = (list: unknown): list is string[] => Array.isArray(list) && list.length <= MOST_LIVING && list.every(isName);
