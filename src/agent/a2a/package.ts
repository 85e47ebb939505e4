/**
 * The official package: its JSON-RPC of both versions, their forms of notifications, and the protocol's errors. It is
 * loaded by the first client.
 */
export type A2aPackage = Pick<
  typeof import('@a2a-js/sdk/server'),
  'JsonRpcTransportHandler' | 'ServerCallContext' | 'V1PushNotificationSerializer'
> &
  Pick<
    typeof import('@a2a-js/sdk/compat/v0_3/server'),
    'LegacyJsonRpcTransportHandler' | 'V03PushNotificationSerializer'
  > &
  Pick<
    typeof import('@a2a-js/sdk'),
    'AgentCard' | 'ListTasksRequest' | 'StreamResponse' | 'Task'
  > & {
    errors: typeof import('@a2a-js/sdk/errors');
  };

/** Loads the package, which takes megabytes. */
export async function loadA2a(): Promise<A2aPackage> {
  const { AgentCard, ListTasksRequest, StreamResponse, Task } = await import('@a2a-js/sdk');
  const { JsonRpcTransportHandler, ServerCallContext, V1PushNotificationSerializer } =
    await import('@a2a-js/sdk/server');
  const { LegacyJsonRpcTransportHandler, V03PushNotificationSerializer } =
    await import('@a2a-js/sdk/compat/v0_3/server');
  return {
    AgentCard,
    ListTasksRequest,
    StreamResponse,
    Task,
    JsonRpcTransportHandler,
    ServerCallContext,
    LegacyJsonRpcTransportHandler,
    V1PushNotificationSerializer,
    V03PushNotificationSerializer,
    errors: await import('@a2a-js/sdk/errors'),
  };
}
