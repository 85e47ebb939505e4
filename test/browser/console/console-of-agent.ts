import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { kinds } from '../../../src/kube/kinds.ts';
import { API_VERSION } from '../../../src/schema/platform/objects/api-group.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { creation, startPlane, type Plane } from '../../control-plane/kit/api-server-plane.ts';
import { openConsole, type ConsoleStage } from './open-console.ts';

/** A console with one deployment, whose agent is a double. */
export type ConsoleOfAgent = {
  plane: Plane;
  stage: ConsoleStage;
  deployment: Deployment;
  /** The address of the agent itself. */
  agentUrl: string;
  stop(): Promise<void>;
};

/** Opens a console whose deployment `chat` has an agent with this key, which answers like this. */
export async function consoleOfAgent(
  name: string,
  { key, answered }: { key: string; answered: RequestListener },
): Promise<ConsoleOfAgent> {
  const plane = await startPlane(name);
  const deployment = (
    await plane.call<Deployment>('POST', '/v2/deployments', { body: creation('chat') })
  ).body;
  const { uid = '' } = (
    await plane.kube.get(kinds.deployment, { namespace: plane.namespace, name: 'chat' })
  ).metadata;
  const owner = { apiVersion: API_VERSION, kind: 'Deployment', name: 'chat', uid };
  const metadata = { name: 'chat-key', namespace: plane.namespace, ownerReferences: [owner] };
  await plane.kube.create(kinds.secret, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    stringData: { 'api-key': key },
  });
  const agent = createServer(answered).listen(0, '127.0.0.1');
  await once(agent, 'listening');
  const { port } = agent.address() as AddressInfo;
  const stage = await openConsole(plane.url, undefined, () => ({ host: '127.0.0.1', port }));
  return {
    plane,
    stage,
    deployment,
    agentUrl: `http://127.0.0.1:${port}`,
    stop: async () => {
      await stage.stop();
      agent.closeAllConnections();
      agent.close();
      await plane.stop();
    },
  };
}
