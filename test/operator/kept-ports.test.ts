import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readGatewayConfig } from '../../src/config/platform/gateway.ts';
import { startGateway } from '../../src/gateway/start.ts';
import { connect } from '../../src/kube/client.ts';
import { kinds } from '../../src/kube/kinds.ts';
import type { KubeObject } from '../../src/kube/kube.ts';
import type { DeploymentResource } from '../../src/schema/platform/resources/custom-resources.ts';
import { buildWorkPath } from '../../src/schema/wire/work-report.ts';
import { freePort } from '../kit/agent-server.ts';
import { silentLog } from '../kit/log.ts';
import { newDeployment } from '../kit/objects.ts';
import type { RunningOperator } from '../kit/operator.ts';
import { openStage, type Stage } from '../kit/stage.ts';
import { until } from '../kit/until.ts';

/* Ports of deployments stand where the operator alone writes, so nobody takes those of others by a status. */

let stage: Stage;
let operator: RunningOperator;
const OPERATOR = () => ({
  settings: { gateway: { service: 'gateway', namespace: stage.namespace } },
});

beforeEach(async () => {
  stage = await openStage('kept-ports');
  stage.startKubelet();
});
afterEach(() => stage.stop());

async function deploySleeper(name: string): Promise<DeploymentResource> {
  const { kube, namespace, see } = stage;
  const template = { sourceRevisionConfig: { imageUri: 'agent:1' }, resourceSpec: { minScale: 0 } };
  await kube.create(kinds.deployment, newDeployment(namespace, { metadata: { name }, template }));
  await see.untilReady(name);
  return see.deployment(name);
}

const portOf = async (name: string): Promise<number | undefined> =>
  (await stage.see.deployment(name)).status?.gatewayPort;
const forge = (name: string, gatewayPort: number | undefined) =>
  stage.kube.patchStatus(kinds.deployment, { namespace: stage.namespace, name }, { gatewayPort });
const keyOf = async (name: string): Promise<string> =>
  Buffer.from((await stage.see.secret(`${name}-key`)).data?.['api-key'] ?? '', 'base64').toString(
    'utf8',
  );

describe('a port of the gateway', () => {
  beforeEach(async () => {
    operator = await stage.startOperator(OPERATOR());
  });

  test('stays with its deployment when the status of another one names it', async () => {
    const { kubeconfig, namespace } = stage;
    const closed = await freePort();
    const env = {
      GX_SERVER_HOST: '127.0.0.1',
      GX_SERVER_PORT: '0',
      GX_HEALTH_PORT: '0',
      GX_REPORTS_PORT: '0',
      GX_HOLD_SECONDS: '1',
    };
    const config = readGatewayConfig({
      ...env,
      GX_NAMESPACE: namespace,
      GX_WATCH_NAMESPACES: namespace,
    });
    const kube = await connect({ fieldManager: 'gx-gateway', userAgent: 'gx-gateway', kubeconfig });
    const placeOf = () => ({ host: '127.0.0.1', port: closed });
    stage.endWith(
      await startGateway({
        config,
        kube,
        log: silentLog(),
        signal: new AbortController().signal,
        placeOf,
      }),
    );
    // Of two that claimed a port, the older name went first.
    const [evil, victim] = [await deploySleeper('one'), await deploySleeper('two')].toSorted(
      (a, b) => ((a.metadata.uid ?? '') < (b.metadata.uid ?? '') ? -1 : 1),
    ) as [DeploymentResource, DeploymentResource];
    const port = victim.status?.gatewayPort ?? 0;
    const own = evil.status?.gatewayPort ?? 0;
    expect(new Set([port, own, 0]).size).toBe(3);
    const keys = {
      victim: await keyOf(victim.metadata.name),
      evil: await keyOf(evil.metadata.name),
    };
    const ask = async (key: string, at = port): Promise<number | string> =>
      fetch(`http://127.0.0.1:${at}/threads`, { headers: { 'x-api-key': key } }).then(
        ({ status }) => status,
        () => 'no door',
      );
    // A caller who is let in waits for pods that never answer.
    await until('the door is open', async () => (await ask(keys.victim)) === 503);
    await forge(evil.metadata.name, port);
    await forge(victim.metadata.name, own);
    for (let time = 0; time < 5; time += 1) {
      expect(await ask(keys.evil)).toBe(401);
      expect(await ask(keys.victim)).toBe(503);
    }
    await expect.poll(() => portOf(evil.metadata.name)).toBe(own);
    await expect.poll(() => portOf(victim.metadata.name)).toBe(port);
  });

  test('outlives the operator, whatever statuses say by then', async () => {
    const { metadata, status } = await deploySleeper('chat');
    const other = await deploySleeper('mail');
    await operator.stop();
    await forge('chat', other.status?.gatewayPort);
    await forge('mail', status?.gatewayPort);
    await stage.startOperator(OPERATOR());
    await expect.poll(() => portOf('chat')).toBe(status?.gatewayPort);
    await expect.poll(() => portOf('mail')).toBe(other.status?.gatewayPort);
    expect(
      (await kept()).split('\n').filter((line) => line.startsWith(metadata.uid ?? '')),
    ).toHaveLength(1);
  });

  test('is given up by a deployment that no longer sleeps, and by one that is gone', async () => {
    const { kube, namespace } = stage;
    const [chat, mail] = [await deploySleeper('chat'), await deploySleeper('mail')];
    await kube.patchJson(kinds.deployment, { namespace, name: 'chat' }, [
      { op: 'replace', path: '/spec/template/resourceSpec', value: { minScale: 1 } },
    ]);
    await expect.poll(kept).not.toContain(chat.metadata.uid);
    await kube.delete(kinds.deployment, { namespace, name: 'mail' });
    await until(
      'it is gone',
      async () => (await kube.find(kinds.deployment, { namespace, name: 'mail' })) === undefined,
    );
    const next = await deploySleeper('next');
    expect(await kept()).toContain(next.metadata.uid);
    expect(await kept()).not.toContain(mail.metadata.uid);
  });
});

describe('the key by which a process of the gateway signs what it tells of clients', () => {
  const gateway = async () => {
    const { kubeconfig, namespace } = stage;
    const env = {
      GX_SERVER_HOST: '127.0.0.1',
      GX_SERVER_PORT: '0',
      GX_HEALTH_PORT: '0',
      GX_REPORTS_PORT: '0',
    };
    const config = readGatewayConfig({
      ...env,
      GX_NAMESPACE: namespace,
      GX_WATCH_NAMESPACES: namespace,
    });
    const kube = await connect({ fieldManager: 'gx-gateway', userAgent: 'gx-gateway', kubeconfig });
    const started = await startGateway({
      config,
      kube,
      log: silentLog(),
      signal: new AbortController().signal,
    });
    stage.endWith(started);
    return started;
  };

  test('is told by each of them to agents, until that process is gone, and beside the ports', async () => {
    const gateways = [await gateway(), await gateway()];
    operator = await stage.startOperator({
      ...OPERATOR(),
      gateways: () => gateways.map(({ reportsPort }) => `http://127.0.0.1:${reportsPort}`),
    });
    const chat = await deploySleeper('chat');
    const key = await keyOf('chat');
    const keysBy = async (port: number | undefined): Promise<string[]> => {
      const answer = await fetch(
        `http://127.0.0.1:${port}${buildWorkPath(stage.namespace, 'chat')}`,
        {
          method: 'POST',
          headers: { 'x-api-key': key, 'content-type': 'application/json' },
          body: JSON.stringify({ from: 'one', slots: 0, idle_seconds: 0 }),
        },
      );
      return ((await answer.json()) as { gateway_keys: string[] }).gateway_keys;
    };
    const [first, second] = gateways.map(({ port }) => port);
    await until(
      'both tell two keys',
      async () => (await keysBy(first)).length === 2 && (await keysBy(second)).length === 2,
    );
    expect(new Set(await keysBy(first))).toEqual(new Set(await keysBy(second)));
    gateways.pop();
    await until('one is told', async () => (await keysBy(first)).length === 1);
    const left = await keysBy(first);
    gateways.push(await gateway());
    await until('that of the next is told', async () => (await keysBy(first)).length === 2);
    expect(await keysBy(first)).toEqual(expect.arrayContaining(left));
    expect(await kept()).toContain(chat.metadata.uid);
  });
});

/** Returns the lines of what is kept. */
async function kept(): Promise<string> {
  const { kube, namespace } = stage;
  return (await kube.get(kinds.configMap, { namespace, name: 'gx-ports' })).data?.ports ?? '';
}

test('a Service that is made again gets the node port that it had', async () => {
  const { kube, namespace, see } = stage;
  await stage.startOperator({ settings: { exposeAs: 'NodePort', nodeHost: '127.0.0.1' } });
  await kube.create(kinds.deployment, newDeployment(namespace));
  await see.untilReady('chat');
  const portIn = (service: KubeObject): number | undefined =>
    (service.spec as { ports?: { nodePort?: number }[] }).ports?.[0]?.nodePort;
  const before = await see.service('chat-agent');
  const { uid } = (await see.deployment('chat')).metadata;
  await expect.poll(kept).toContain(`${uid} - ${portIn(before)}`);
  await kube.delete(kinds.service, { namespace, name: 'chat-agent' });
  const after = await until('there is another Service', async () => {
    const found = await kube.find(kinds.service, { namespace, name: 'chat-agent' });
    return found !== undefined && found.metadata.uid !== before.metadata.uid && found;
  });
  expect(portIn(after)).toBe(portIn(before));
});
