import { Type, type Static } from 'typebox';
import { GUARDS } from '../platform/deployment/guards.ts';
import {
  buildClosedSchema,
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
} from '../types.ts';

/*
 * A pass lets somebody whom the control plane knows into the agents of one deployment for some minutes, with their own
 * role. So people who may only read can look at an agent, whose key they never see.
 */

/** The start of each pass, so that people, scanners and the gateway recognise one. */
const AGENT_PASS_PREFIX = 'gxp_';

/** Seconds for which a pass opens a deployment. */
export const PASS_SECONDS = 300;

/** Returns whether a credential claims to be a pass. */
export const isAgentPass = (credential: string): boolean =>
  credential.startsWith(AGENT_PASS_PREFIX);

/** Words of a pass: the deployment that it opens, for whom, and until when, in seconds since 1970. */
export type PassWords = {
  deployment: string;
  subject: string;
  name: string;
  role: 'read' | 'write' | 'admin';
  exp: number;
};

/** A pass, with the names that make the address of the agents. */
export const AgentPass = buildClosedSchema({
  pass: Type.String({ pattern: `^${AGENT_PASS_PREFIX}`, description: 'Sent as a bearer token.' }),
  expires_at: buildDateTimeSchema('When it expires.'),
  role: buildEnumSchema(['read', 'write', 'admin'], {
    description: 'A pass with the role read may only read.',
  }),
  service: Type.String({
    description: 'Name of the Service that leads to the agents, at port 80.',
  }),
  namespace: Type.String({ description: 'Namespace of the Service.' }),
  mount_prefix: Type.String({
    description: 'The prefix of every path of the server; often empty.',
  }),
  guard: buildNullableSchema(
    buildEnumSchema(GUARDS, {
      description: 'How the pods decide who may call, as they report it.',
    }),
  ),
  asleep_since: buildNullableSchema(
    buildDateTimeSchema('When it fell asleep. A pass does not wake it.'),
  ),
});
export type AgentPass = Static<typeof AgentPass>;
