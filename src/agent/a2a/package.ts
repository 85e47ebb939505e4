/** The official package: its JSON-RPC of both versions, and the protocol's errors. It is loaded by the first client. */
export type A2aPackage = Pick<typeof import('@a2a-js/sdk/server'), 'JsonRpcTransportHandler' | 'ServerCallContext'> &
  Pick<typeof import('@a2a-js/sdk/compat/v0_3/server'), 'LegacyJsonRpcTransportHandler'> &
  Pick<typeof import('@a2a-js/sdk'), 'AgentCard' | 'ListTasksRequest' | 'StreamResponse' | 'Task'> & {
    errors: typeof import('@a2a-js/sdk/errors');
  };

/** Loads the package, which takes megabytes. */
export async function loadA2a(): Promise<A2aPackage> {
  const { AgentCard, ListTasksRequest, StreamResponse, Task } = await import('@a2a-js/sdk');
  const { JsonRpcTransportHandler, ServerCallContext } = await import('@a2a-js/sdk/server');
  const { LegacyJsonRpcTransportHandler } = await import('@a2a-js/sdk/compat/v0_3/server');
  return {
    AgentCard,
    ListTasksRequest,
    StreamResponse,
    Task,
    JsonRpcTransportHandler,
    ServerCallContext,
    LegacyJsonRpcTransportHandler,
    errors: await import('@a2a-js/sdk/errors'),
  };
}
