import { Type, type Static } from 'typebox';
import {
  buildDateTimeSchema,
  buildNullableSchema,
  buildEnumSchema,
  buildUuidSchema,
} from '../../types.ts';

/* The pods of a deployment, and the events that Kubernetes has of its objects. */

export const DeploymentPod = Type.Object({
  name: Type.String(),
  component: Type.String({
    description:
      'Its part in the deployment: `api`, `queue`, `database`, `store`, or the task of a Job.',
  }),
  revision_id: buildNullableSchema(
    buildUuidSchema('The revision that it runs, of api and queue pods.'),
  ),
  phase: Type.String({ description: 'The phase of the pod in Kubernetes.' }),
  ready: Type.Boolean(),
  restarts: Type.Integer({ description: 'Restarts of all its containers.' }),
  reason: buildNullableSchema(
    Type.String({
      description: 'Why a container waits, or why the last one ended with a failure.',
    }),
  ),
  message: buildNullableSchema(
    Type.String({ description: 'The same in a sentence, if Kubernetes gives one.' }),
  ),
  node: buildNullableSchema(Type.String({ description: 'The node on which it runs.' })),
  created_at: buildDateTimeSchema('Read-only.'),
});
export type DeploymentPod = Static<typeof DeploymentPod>;

export const DeploymentKubeEvent = Type.Object({
  type: buildEnumSchema(['Normal', 'Warning']),
  reason: Type.String(),
  note: Type.String(),
  object: Type.Object({ kind: Type.String(), name: Type.String() }),
  count: Type.Integer({ description: 'How often it was seen.' }),
  last_seen_at: buildDateTimeSchema('When it was last seen.'),
});
export type DeploymentKubeEvent = Static<typeof DeploymentKubeEvent>;
