import { Type } from 'typebox';
import { RolloutStatus } from './rollout-spec.ts';
import { buildDateTimeSchema, buildOptionalFields } from '../../types.ts';

/** The number that an outsider sets, such as KEDA or a person, by the scale subresource or directly. */
export const QueueReplicas = Type.Integer({
  minimum: 0,
  maximum: 1000,
  description:
    'Number of queue pods that another scaler sets, between queueMinScale and queueMaxScale. Unset: the platform decides.',
});

/** How a deployment sleeps whose spec asks for no pod at least. */
export const SleepSpec = Type.Object(
  {
    ...buildOptionalFields({
      afterSeconds: Type.Integer({
        minimum: 5,
        maximum: 2_592_000,
        description:
          'Idle seconds after which it sleeps. Default: the setting of the installation.',
      }),
      database: Type.Boolean({
        description:
          'Whether its managed database sleeps, too. Waking then takes some seconds longer. Default: the setting of the installation.',
      }),
    }),
  },
  { description: 'Scale to zero: how it sleeps if minScale is 0.' },
);

/** Fields of the status about rollouts, keys and sizes. */
export const scalingStatus = {
  ...buildOptionalFields({
    rollout: RolloutStatus,
    keyHashes: Type.Array(Type.String({ maxLength: 64 }), {
      maxItems: 2,
      description:
        'Hashes of the API keys of its agents, by which the gateway recognizes them. A hash does not give access.',
    }),
    queueReplicas: Type.Integer({
      minimum: 0,
      description: 'Number of queue pods that the operator wants now.',
    }),
    queueReady: Type.Integer({ minimum: 0, description: 'Number of queue pods that are ready.' }),
    queueSelector: Type.String({
      maxLength: 512,
      description: 'Selects its queue pods, for the scale subresource.',
    }),
    interruptedThreads: Type.Integer({
      minimum: 0,
      description: 'Threads that wait for a person to answer, as last counted, at most 10,000.',
    }),
    asleepSince: buildDateTimeSchema('When it fell asleep. Unset: it is awake.'),
    nextDueAt: buildDateTimeSchema(
      'When its next delayed run or cron is due, as known when it fell asleep.',
    ),
    gatewayPort: Type.Integer({
      minimum: 1,
      maximum: 65_535,
      description: 'Port of the gateway that answers while it sleeps.',
    }),
  }),
};
