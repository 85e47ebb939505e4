import { readGatewayConfig } from '../../src/config/platform/gateway.ts';
import { startGateway, type Gateway } from '../../src/gateway/start.ts';
import { connect } from '../../src/kube/client.ts';
import { silentLog } from './log.ts';
import type { Stage } from './stage.ts';

/** Starts a gateway in this process, which knows the deployments of the stage. It stops with the stage. */
export async function gatewayOf(stage: Stage): Promise<Gateway> {
  const kube = await connect({
    fieldManager: 'gx-gateway',
    userAgent: 'gx-gateway',
    kubeconfig: stage.kubeconfig,
  });
  const config = readGatewayConfig({
    GX_SERVER_HOST: '127.0.0.1',
    GX_SERVER_PORT: '0',
    GX_HEALTH_PORT: '0',
    GX_REPORTS_PORT: '0',
    GX_NAMESPACE: stage.namespace,
    GX_WATCH_NAMESPACES: stage.namespace,
  });
  return stage.endWith(
    await startGateway({ config, kube, log: silentLog(), signal: new AbortController().signal }),
  );
}
