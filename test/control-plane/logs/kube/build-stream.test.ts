import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../../src/kube/kinds.ts';
import type { Kube } from '../../../../src/kube/kube.ts';
import { packBuildLog } from '../../../../src/operator/revision/build/keep-log.ts';
import type { RevisionResource } from '../../../../src/schema/platform/resources/custom-resources.ts';
import type { Deployment } from '../../../../src/schema/platform/deployment/deployment.ts';
import {
  AGENTS_NAMESPACE,
  buildManagedLabels,
  REVISION_UID,
} from '../../../../src/schema/platform/objects/labels.ts';
import { BUILD_STAGES } from '../../../../src/schema/names.ts';
import { openStage, type Stage } from '../../../kit/stage.ts';
import { until } from '../../../kit/until.ts';
import { creation, startPlane, type Plane } from '../../kit/api-server-plane.ts';

/** What the stages have written, because no kubelet runs them. */
const written: Record<string, string[]> = { clone: [], restore: [], build: [], push: [] };

const withLogs = (kube: Kube): Kube =>
  new Proxy(kube, {
    get: (target, name) => {
      if (name === 'readPodLog')
        return (
          _ref: object,
          { container, sinceTime = '' }: { container: string; sinceTime?: string },
        ) =>
          Promise.resolve(
            (written[container] ?? [])
              .filter((line) => line.slice(0, 19) >= sinceTime.slice(0, 19))
              .join('\n'),
          );
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });

let builds: Stage;
let plane: Plane;
let path: string;
let stored: RevisionResource;
beforeAll(async () => {
  builds = await openStage('stream-builds');
  const settings = { hosting: 'both', buildNamespace: builds.namespace } as const;
  plane = await startPlane('stream-build', settings, { through: withLogs });
  const connection = { name: 'own', kind: 'generic', host: 'https://git.example' };
  const { body: integration } = await plane.call<{ id: string }>('POST', '/v1/integrations/git', {
    key: plane.keys.admin,
    body: connection,
  });
  const given = {
    source: 'git',
    source_config: { integration_id: integration.id, repo_url: 'https://git.example/acme/agent' },
    source_revision_config: { repo_ref: 'main', gx_config_path: 'gx.json' },
  };
  const { body: made } = await plane.call<Deployment>('POST', '/v2/deployments', {
    body: creation('built', given),
  });
  path = `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/logs/stream?type=build`;
  stored = await plane.kube.get(kinds.revision, {
    namespace: plane.namespace,
    name: 'built-00001',
  });
  const labels = {
    ...buildManagedLabels('built', 'build', 'built-00001'),
    [AGENTS_NAMESPACE]: plane.namespace,
  };
  await plane.kube.create(kinds.pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'build',
      namespace: builds.namespace,
      labels: { ...labels, [REVISION_UID]: stored.metadata.uid ?? '' },
    },
    spec: { containers: [{ name: 'push', image: 'i' }] },
  });
  await phase({ phase: 'BUILDING' });
});
afterAll(async () => {
  await plane.stop();
  await builds.stop();
});

const phase = async (status: RevisionResource['status'] & object): Promise<void> => {
  await plane.kube.patchStatus(
    kinds.revision,
    { namespace: plane.namespace, name: 'built-00001' },
    status,
  );
};

/** Ends the build as the operator does: the log is kept, the status says where, and the pod goes. */
async function end(): Promise<void> {
  const packed = packBuildLog(
    BUILD_STAGES.map((stage) => ({ stage, text: (written[stage] ?? []).join('\n') })),
  );
  const owner = {
    apiVersion: stored.apiVersion,
    kind: stored.kind,
    name: stored.metadata.name,
    uid: stored.metadata.uid ?? '',
  };
  await plane.kube.create(kinds.configMap, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name: 'built-00001-build-log',
      namespace: plane.namespace,
      ownerReferences: [owner],
    },
    binaryData: { 'log.gz': packed.toString('base64') },
  });
  await phase({ phase: 'INTERRUPTED', buildLog: 'built-00001-build-log' });
  await plane.kube.delete(kinds.pod, { namespace: builds.namespace, name: 'build' });
  await until(
    'the pod is gone',
    async () =>
      (await plane.kube.find(kinds.pod, { namespace: builds.namespace, name: 'build' })) ===
      undefined,
  );
}

type Heard = { text: string; id: string };

/** Reads the stream until it closes. Returns the messages of its lines, and the name of an event without one. */
async function heardFrom(
  last: string | undefined,
  onEach: (message: string) => Promise<void> | void,
): Promise<Heard[]> {
  const headers = {
    'x-api-key': plane.keys.read,
    ...(last !== undefined && { 'last-event-id': last }),
  };
  const response = await fetch(`${plane.url}${path}`, {
    headers,
    signal: AbortSignal.timeout(90_000),
  });
  const heard: Heard[] = [];
  let text = '';
  for await (const chunk of (response.body as ReadableStream<Uint8Array>).pipeThrough(
    new TextDecoderStream(),
  )) {
    const blocks = (text + chunk).split('\r\n\r\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, event = '', data = '{}', id = ''] =
        /^event: (.*)\r\ndata: (.*?)(?:\r\nid: (.*))?$/.exec(block) ?? [];
      if (event === '') continue;
      const { message = event } = JSON.parse(data) as { message?: string };
      heard.push({ text: message, id });
      await onEach(message);
    }
  }
  return heard;
}

test('the log of a build is followed while it runs, closes when it has ended, and is taken up again from the kept one', async () => {
  written.clone = ['2026-01-01T00:00:01Z cloned'];
  const all = await heardFrom(undefined, async (message) => {
    if (message === '[clone] cloned') written.build = ['2026-01-01T00:00:02Z npm ci'];
    if (message !== '[build] npm ci') return;
    written.build?.push('2026-01-01T00:00:03Z stopped');
    await end();
  });
  const lines = ['[clone] cloned', '[build] npm ci', '[build] stopped'];
  expect(all.map(({ text }) => text)).toEqual([...lines, 'end']);
  const page = await plane.call<{ logs: { message: string }[] }>(
    'GET',
    path.replace('/stream', ''),
  );
  expect(page.body.logs.map(({ message }) => message)).toEqual(lines);
  const again = await heardFrom(all[0]?.id, () => undefined);
  expect(again.map(({ text }) => text)).toEqual(['[build] npm ci', '[build] stopped', 'end']);
});
