import { Type, type Static } from 'typebox';
import { buildNullableSchema, buildUuidSchema } from '../../types.ts';

/* The usage of models of deployments, as REST shows it. It is the word of the deployments' own code. */

const buildCountSchema = (description: string) => Type.Integer({ minimum: 0, description });

const sumFields = {
  calls: buildCountSchema('Calls of models, also those that failed.'),
  unreported_calls: buildCountSchema('Calls that report no tokens, which are in no sum.'),
  unpriced_calls: buildCountSchema('Calls whose price nobody knows.'),
  input_tokens: buildCountSchema('Tokens of prompts, with those of caches.'),
  cache_read_tokens: buildCountSchema('Tokens of prompts that a cache of the provider had.'),
  output_tokens: buildCountSchema('Tokens of answers.'),
  cost_usd: buildNullableSchema(
    Type.Number({
      minimum: 0,
      description:
        'The price of the calls whose price is known, in US dollars. Null where none is known.',
    }),
  ),
};

export const DaySums = Type.Object(sumFields);
export type DaySums = Static<typeof DaySums>;

/** The usage of a deployment today, as a row of a list has it. */
export const UsageToday = buildNullableSchema(
  Type.Object(sumFields, {
    description:
      'Calls of models that began today, of UTC, as the deployment reports them. Null: none.',
  }),
);

export const USAGE_ROW_GROUPS = ['deployment', 'tenant'] as const;

/** Usage of one deployment, or of all of a tenant. */
export const DeploymentUsageRow = Type.Object({
  tenant_id: buildUuidSchema('The tenant.'),
  deployment_id: Type.Optional(buildUuidSchema('The deployment, where they are the groups.')),
  name: Type.Optional(Type.String({ description: 'Its name.' })),
  namespace: Type.Optional(Type.String({ description: 'The namespace that it runs in.' })),
  deployments: Type.Optional(
    buildCountSchema('Deployments with usage on these days, where tenants are the groups.'),
  ),
  today: buildNullableSchema(DaySums),
  yesterday: buildNullableSchema(DaySums),
});
export type DeploymentUsageRow = Static<typeof DeploymentUsageRow>;
