import { Type, type Static } from 'typebox';
import { buildEnumSchema, buildOptionalFields } from '../../types.ts';

/** Who reaches a deployment's agents, and whom they reach. */
export const NetworkSpec = Type.Object(
  {
    ...buildOptionalFields({
      ingress: buildEnumSchema(['Namespace', 'Open'], {
        description:
          'Who may reach the agents. Namespace: pods of their namespace, and gateways. Open: everyone. Default: the setting of the installation.',
      }),
      egress: buildEnumSchema(['Limited', 'Open'], {
        description:
          'Destinations that agents may reach. Limited: all but the API server and the metadata addresses of clouds. Open: all. Default: the setting of the installation.',
      }),
    }),
  },
  {
    description:
      "The NetworkPolicy of the agents; a change takes effect at once, without a new revision. Open leaves it to the namespace's own policies.",
  },
);
export type NetworkSpec = Static<typeof NetworkSpec>;
