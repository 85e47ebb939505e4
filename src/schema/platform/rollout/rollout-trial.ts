import { Type, type Static, type TSchema } from 'typebox';
import { buildJsonObjectSchema } from '../../agent/agent-types.ts';
import { isObject, parseJsonOr } from '../../json.ts';
import {
  buildClosedSchema,
  buildEnumSchema,
  type CelRule,
  buildOptionalFields,
} from '../../types.ts';

/* How a revision is tried before it serves: by a run of its own first, and by comparison with the one that serves. */

/** The counts by which a revision that is tried out is compared with the one that serves. */
const COMPARED = ['errors', 'p95', 'wait', 'lost', 'stuck', 'tokens'] as const;
/** Characters of a query at most. */
const MOST_QUERY = 2048;
/** The name that a query has in place of the revision. Without it both answers are one. */
const REVISION = '{revision}';
/** Checks of a rollout at most. */
const MOST_CHECKS = 8;
/** Seconds between two looks at the counts, unless a deployment says otherwise. */
export const CHECK_SECONDS = 60;

/** A comparison of a revision that is tried out with the one that serves. */
export const RolloutCheck = buildClosedSchema({
  ...buildOptionalFields({
    figure: buildEnumSchema(COMPARED, {
      description:
        'Instead of query: the measure of the runs to compare: `errors`, the share of runs that fail or time out; `p95`, the 95th percentile of the duration of successful runs, in seconds; `wait`, the same for their time in the queue; `lost`, the share of runs that lose their worker; `stuck`, the share of runs that have been under way for three times the p95 of the other revision; `tokens`, the mean number of tokens that the models of a run use.',
    }),
    query: Type.String({
      minLength: 1,
      maxLength: MOST_QUERY,
      description:
        "Instead of figure: a query to the installation's Prometheus server that returns one number for each revision; a higher number is worse. {revision}, {deployment} and {namespace} are replaced by their names.",
    }),
  }),
  worseBy: Type.Integer({
    minimum: 1,
    maximum: 1000,
    description:
      'The difference that counts as worse, if it is statistically significant: percent for p95 and wait, at least 20; percent for tokens and for a query; percentage points for the others.',
  }),
  least: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      description:
        'Number of runs that each revision must have before they are compared. Default 50; 5 for lost and stuck. Not with a query.',
    }),
  ),
  failures: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      description: 'How many comparisons in a row must be worse before the check fails. Default 2.',
    }),
  ),
});
export type RolloutCheck = Static<typeof RolloutCheck>;

const ASSISTANT = Type.String({
  minLength: 1,
  maxLength: 253,
  description: 'The assistant to run: the name of a graph, or the id of an assistant.',
});
const GATE_TIME = Type.Integer({
  minimum: 1,
  maximum: 86_400,
  description: 'Seconds within which the run must succeed. Default 300.',
});
const GATE_INPUT =
  'The input of the run. It must not hold a secret, because everyone who may read the deployment can read it.';
/** Characters of the input, as JSON, at most. */
const MOST_INPUT = 16_384;

const gateForm = {
  additionalProperties: false,
  description:
    'A run that must succeed on the new revision before it gets a share. If it fails, the rollout is aborted.',
};
/** A run that a revision must execute before it gets a share. */
export const GateConfig = Type.Object(
  {
    assistant: ASSISTANT,
    input: buildJsonObjectSchema(GATE_INPUT),
    seconds: Type.Optional(GATE_TIME),
  },
  gateForm,
);
/** The same as the resource has it, whose fields are all described. */
export const GateSpec = Type.Object(
  {
    assistant: ASSISTANT,
    input: Type.String({
      minLength: 2,
      maxLength: MOST_INPUT,
      description: `${GATE_INPUT} A JSON object as text.`,
    }),
    seconds: Type.Optional(GATE_TIME),
  },
  gateForm,
);

/** Seconds for the run of a gate, unless a deployment says otherwise. */
export const GATE_SECONDS = 300;

const { worseBy, ...sameInRest } = RolloutCheck.properties;
/** The same in REST's words. */
export const CheckConfig = buildClosedSchema({ ...sameInRest, worse_by: worseBy });

export const buildChecksSchema = <T extends TSchema>(check: T) =>
  Type.Array(check, {
    maxItems: MOST_CHECKS,
    description:
      'Checks that compare the new revision with the serving one over the same minutes. A step ends only when all of them pass; a check that keeps failing aborts the rollout.',
  });
export type GateSpec = Static<typeof GateSpec>;

/** Those that are read off histograms of seconds. */
const TIMES: readonly string[] = ['p95', 'wait'];
/** Percent by which durations that are counted in steps of a tenth can differ at least. */
const FINEST = 20;
const explainMinimum = (field: string): string =>
  `${field} of p95 and wait must be at least ${FINEST}, because durations are counted in steps of a tenth`;

const EITHER = 'each has either figure or query';
const NAMED = `query must contain ${REVISION}, because it is asked of both revisions`;
const COUNTED = 'least is not for a query, which counts no runs';

/** Returns the broken rules that no schema says, in REST's words. */
export function checkTrial({
  checks,
  gate,
}: {
  checks?: Static<typeof CheckConfig>[] | null | undefined;
  gate?: Static<typeof GateConfig> | null | undefined;
}): string[] {
  const all = checks ?? [];
  const isFine = all.every(
    ({ figure, worse_by: worst }) =>
      figure === undefined || !TIMES.includes(figure) || worst >= FINEST,
  );
  const isEither = all.every(
    ({ figure, query }) => (figure === undefined) !== (query === undefined),
  );
  const isNamed = all.every(({ query }) => query === undefined || query.includes(REVISION));
  const isCounted = all.every(({ query, least }) => query === undefined || least === undefined);
  const isLong = JSON.stringify(gate?.input ?? {}).length > MOST_INPUT;
  return [
    ...(isFine ? [] : [`checks: ${explainMinimum('worse_by')}`]),
    ...(isEither ? [] : [`checks: ${EITHER}`]),
    ...(isNamed ? [] : [`checks: ${NAMED}`]),
    ...(isCounted ? [] : [`checks: ${COUNTED}`]),
    ...(isLong ? [`gate.input: has more than ${MOST_INPUT} characters of JSON`] : []),
  ];
}

/** The same rules for the API server. */
export const checksRules: CelRule[] = [
  {
    rule: `!has(self.checks) || self.checks.all(c, !has(c.figure) || !(c.figure in ['${TIMES.join("', '")}']) || c.worseBy >= ${FINEST})`,
    message: `rollout.checks: ${explainMinimum('worseBy')}`,
  },
  {
    rule: '!has(self.checks) || self.checks.all(c, has(c.figure) != has(c.query))',
    message: `rollout.checks: ${EITHER}`,
  },
  {
    rule: `!has(self.checks) || self.checks.all(c, !has(c.query) || c.query.contains('${REVISION}'))`,
    message: `rollout.checks: ${NAMED}`,
  },
  {
    rule: '!has(self.checks) || self.checks.all(c, !has(c.query) || !has(c.least))',
    message: `rollout.checks: ${COUNTED}`,
  },
];

type QueryOf = { namespace: string; deployment: string; revision: string };

/** Returns a query about one revision. */
export const expandQuery = (query: string, of: QueryOf): string =>
  query.replaceAll(/\{(namespace|deployment|revision)\}/g, (_, name: keyof QueryOf) => of[name]);

/** Returns the input of a gate's run. Undefined: its text is no JSON object. */
export function parseGateInput({ input }: GateSpec): Record<string, unknown> | undefined {
  const read = parseJsonOr(input, undefined);
  return isObject(read) ? read : undefined;
}

type Tried = {
  spec: {
    rollout?: { checks?: readonly RolloutCheck[] } | undefined;
    suspend?: boolean | undefined;
  };
  status?: {
    rollout?:
      | {
          current: string;
          candidate?: { revision: string; promoted?: boolean | undefined } | undefined;
        }
      | undefined;
  };
};

/** Returns the revision that is tried out, if it has checks and runs, and the one that serves. */
export function findComparedRevisions({
  spec,
  status,
}: Tried): { candidate: string; stable: string } | undefined {
  const { candidate, current } = status?.rollout ?? {};
  if (candidate === undefined || current === undefined || (spec.rollout?.checks ?? []).length === 0)
    return undefined;
  return candidate.promoted === true || spec.suspend === true
    ? undefined
    : { candidate: candidate.revision, stable: current };
}
