import { Type, type Static } from 'typebox';
import { MOST_LIVING, PINS, SHARE_BY } from './pins.ts';
import {
  checkTrial,
  CheckConfig,
  buildChecksSchema,
  checksRules,
  GateConfig,
  parseGateInput,
  GateSpec,
  RolloutCheck,
} from './rollout-trial.ts';
import {
  buildClosedSchema,
  buildDateTimeSchema,
  toResourceSchema,
  buildEnumSchema,
  toResourceForm,
  toRestForm,
  addCelRules,
  type CelRule,
  type ResourceForm,
  buildNullableFields,
} from '../../types.ts';

/** Seconds for which work stays with a replaced revision unless a deployment says otherwise: a week. */
export const PIN_SECONDS = 604_800;
/** Replaced revisions that keep their work at a time, unless a deployment says otherwise. */
export const MOST_DRAINING = 3;

/** Steps of a rollout at most. */
const MOST_STEPS = 20;

const RolloutStep = buildClosedSchema({
  share: Type.Integer({
    minimum: 1,
    maximum: 100,
    description: 'Percentage of new threads that go to the new revision.',
  }),
  seconds: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 31_536_000, description: 'How long the step takes.' }),
  ),
  pause: Type.Optional(
    Type.Boolean({
      description: 'True: the step waits until someone continues the rollout. Instead of seconds.',
    }),
  ),
});
export type RolloutStep = Static<typeof RolloutStep>;

/** How a new revision takes the place of another one, and how that keeps its work, in REST's words. */
export const RolloutConfig = buildClosedSchema(
  {
    ...buildNullableFields({
      pin: buildEnumSchema(PINS, {
        description:
          'Which work is pinned to the revision where it began: `Run`, each run until it ends, with the answers to its interrupts; `Thread`, each thread as long as it exists; `None`. Applies from the next revision on. Default: the setting of the installation, Run.',
      }),
      pin_seconds: Type.Integer({
        minimum: 10,
        maximum: 31_536_000,
        description:
          'How long a replaced revision keeps its work. Then the serving revision takes it over. Default 604800, a week.',
      }),
      max_draining: Type.Integer({
        minimum: 0,
        maximum: 10,
        description:
          'How many replaced revisions may keep their work at the same time. The oldest hands its work over first. Default 3.',
      }),
      steps: Type.Array(RolloutStep, {
        maxItems: MOST_STEPS,
        description:
          'Canary steps: a new revision gets a share of the new threads, which rises with each step, while the old one still serves. After the last step the new one serves. Empty: it serves as soon as its pods are ready.',
      }),
      by: buildEnumSchema(SHARE_BY, {
        description:
          'Which hash decides whether a new thread is within the share: that of the thread, the assistant, or the calling user. Default thread.',
      }),
      checks: buildChecksSchema(CheckConfig),
      gate: GateConfig,
      check_seconds: Type.Integer({
        minimum: 1,
        maximum: 86_400,
        description: 'Length of a comparison in seconds, at least. Default 60.',
      }),
      on_abort: buildEnumSchema(['Finish', 'Move'], {
        description:
          'Whether an aborted revision finishes the runs and threads that it has begun, or the serving revision takes them over. Default Finish.',
      }),
    }),
  },
  {
    description:
      'How a new revision replaces the serving one, and how long the replaced one keeps its work. A change makes no revision.',
  },
);
export type RolloutConfig = Static<typeof RolloutConfig>;

const EITHER = 'each has either seconds, or pause: true';
const RISING = 'shares must rise from step to step';
const PINLESS = 'not with pin None, because threads must be pinned to their revision';

/** Returns the broken rules about the fields of a rollout that no schema says. Each begins with its field. */
export const checkRollout = (config: RolloutConfig): string[] => [
  ...checkTrial(config),
  ...checkSteps(config),
];

function checkSteps({ steps, pin }: RolloutConfig): string[] {
  if (!Array.isArray(steps) || steps.length === 0) return [];
  const isEither = steps.every(
    ({ seconds, pause }) => (pause === true) !== (seconds !== undefined),
  );
  const rises = steps.every(({ share }, at) => at === 0 || share > steps[at - 1]!.share);
  return [
    ...(isEither ? [] : [`steps: ${EITHER}`]),
    ...(rises ? [] : [`steps: ${RISING}`]),
    ...(pin === 'None' ? [`steps: ${PINLESS}`] : []),
  ];
}

/** The same rules for the API server. */
const rolloutRules: CelRule[] = [
  ...checksRules,
  {
    rule: '!has(self.steps) || self.steps.all(s, (has(s.pause) && s.pause) != has(s.seconds))',
    message: `rollout.steps: ${EITHER}`,
  },
  {
    rule: '!has(self.steps) || (self.steps.map(s, s.share).isSorted() && self.steps.all(s, self.steps.exists_one(o, o.share == s.share)))',
    message: `rollout.steps: ${RISING}`,
  },
  {
    rule: "!has(self.steps) || self.steps.size() == 0 || !has(self.pin) || self.pin != 'None'",
    message: `rollout.steps: ${PINLESS}`,
  },
];

/** The same as the resource has it. */
export type RolloutSpec = Omit<ResourceForm<RolloutConfig>, 'checks' | 'gate'> & {
  checks?: RolloutCheck[];
  gate?: Static<typeof GateSpec>;
};
const { properties: inResource, ...form } = toResourceSchema(RolloutConfig);
export const RolloutSpec = addCelRules(
  Type.Unsafe<RolloutSpec>({
    ...form,
    properties: { ...inResource, checks: buildChecksSchema(RolloutCheck), gate: GateSpec },
  }),
  rolloutRules,
);

/** Returns REST's fields as the resource has them. */
export function toRolloutSpec({ checks, gate, ...config }: RolloutConfig): RolloutSpec {
  const inSpec = checks?.map(({ worse_by: worst, ...check }): RolloutCheck => ({
    ...check,
    worseBy: worst,
  }));
  const inText = gate && { ...gate, input: JSON.stringify(gate.input) };
  return {
    ...toResourceForm(config),
    ...(inSpec && { checks: inSpec }),
    ...(inText && { gate: inText }),
  };
}

/** Returns the resource's fields as REST has them. */
export function toRolloutConfig({ checks, gate, ...spec }: RolloutSpec): RolloutConfig {
  const inRest = checks?.map(({ worseBy: worst, ...check }) => ({ ...check, worse_by: worst }));
  const read = gate && { ...gate, input: parseGateInput(gate) ?? {} };
  return { ...toRestForm(RolloutConfig, spec), checks: inRest ?? null, gate: read ?? null };
}

/** The same of the pods of a revision, as they were started. */
export const PinOfPods = Type.Optional(
  buildEnumSchema(['Run', 'Thread'], {
    description: 'The kind of work that its pods pin to it. Unset: none.',
  }),
);

const buildNameSchema = (description: string) => Type.String({ maxLength: 253, description });
const count = (description: string) => Type.Optional(Type.Integer({ minimum: 0, description }));

/** A replaced revision that keeps its work. */
export const DrainingRevision = Type.Object({
  revision: buildNameSchema('The replaced revision.'),
  since: buildDateTimeSchema('When it was replaced.'),
  runs: count('Its runs that have not ended, as last reported.'),
  threads: count(
    'Threads on it that wait for an answer, or that are pinned to it, as last reported.',
  ),
  aborted: Type.Optional(
    Type.Boolean({
      description:
        'True: its rollout was aborted. Runs that it has not begun go to the serving revision.',
    }),
  ),
});
export type DrainingRevision = Static<typeof DrainingRevision>;

export const CandidateRevision = Type.Object({
  revision: buildNameSchema(
    'The candidate: the new revision that gets a share of the new threads.',
  ),
  step: Type.Integer({
    minimum: 0,
    description: 'The number of its current step; the first step is 1.',
  }),
  share: Type.Integer({
    minimum: 0,
    maximum: 100,
    description: 'Percentage of new threads that go to it.',
  }),
  by: buildEnumSchema(SHARE_BY, { description: 'Which hash decides.' }),
  since: buildDateTimeSchema('When it got this share.'),
  unreadySince: Type.Optional(
    buildDateTimeSchema(
      'Since when some of its pods have not been ready. Meanwhile, the rollout does not advance.',
    ),
  ),
  gate: Type.Optional(
    Type.Object(
      {
        since: buildDateTimeSchema('When it was requested.'),
        passed: Type.Optional(
          Type.Boolean({
            description: 'True: its run has succeeded, or someone has skipped it.',
          }),
        ),
      },
      { description: 'The gate before its first share. Unset: it has none.' },
    ),
  ),
  verdict: Type.Optional(
    Type.String({ maxLength: 1024, description: 'The result of its checks. Unset: it has none.' }),
  ),
  promoted: Type.Optional(
    Type.Boolean({ description: 'True: its steps are over, and it is about to serve.' }),
  ),
});
export type CandidateRevision = Static<typeof CandidateRevision>;

/** Returns the name of the gate that a revision is at. */
export const buildGateId = (
  { revision }: CandidateRevision,
  { since }: { since: string },
): string => `${revision}/${since}`;

/** Causes for which a revision is given up: a person, or a newer one that a person asked for; a failure of its own. */
const CAUSES = ['Person', 'Failure', 'Gate', 'Check'] as const;
export type AbortCause = (typeof CAUSES)[number];

export const AbortedRevision = Type.Object({
  revision: buildNameSchema('The revision whose rollout was aborted.'),
  since: buildDateTimeSchema('When it was aborted.'),
  cause: Type.Optional(
    buildEnumSchema(CAUSES, { description: 'The cause. Unset: an earlier version wrote it.' }),
  ),
  message: Type.String({ maxLength: 1024, description: 'A sentence about the reason.' }),
});
export type AbortedRevision = Static<typeof AbortedRevision>;

/** Which revision has which work, as the agents know it by the gateway. */
export const RolloutStatus = Type.Object(
  {
    madeAt: Type.String({
      maxLength: 40,
      description: 'When the other fields last named other revisions.',
    }),
    current: buildNameSchema(
      'The serving revision, which also takes the work of revisions that are not named here.',
    ),
    living: Type.Array(buildNameSchema('A revision that keeps its work.'), {
      maxItems: MOST_LIVING,
    }),
    draining: Type.Array(DrainingRevision, {
      maxItems: MOST_LIVING,
      description: 'Those of them that were replaced, the oldest first.',
    }),
    candidate: Type.Optional(CandidateRevision),
    aborted: Type.Optional(AbortedRevision),
  },
  {
    description:
      'The revisions that execute runs. Unset: no gateway is installed, or nothing serves yet.',
  },
);
export type RolloutStatus = Static<typeof RolloutStatus>;
