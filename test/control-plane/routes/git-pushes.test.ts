import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import { GIT_KINDS, type GitKind } from '../../../src/schema/platform/source/git-integration.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import type { DeploymentDetails } from '../../../src/schema/platform/deployment/deployment-summary.ts';
import { PUSHED_AT, UNMATCHED_PUSH } from '../../../src/schema/platform/objects/labels.ts';
import { AFTER, deleted, HEADERS, PAYLOADS } from '../../git/payloads.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

const SECRET = 'a secret of the webhook';
const HOSTS: Record<GitKind, string> = {
  github: 'https://github.com',
  gitlab: 'https://gitlab.com',
  gitea: 'https://gitea.example',
  generic: 'https://git.example',
};
let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('pushes', { hosting: 'both', gitNamespace: 'default' });
});
afterAll(() => plane.stop());

const signed = (kind: GitKind, body: string, secret: string): Record<string, string> => {
  const hmac = createHmac('sha256', secret).update(body).digest('hex');
  if (kind === 'gitlab') return { 'x-gitlab-token': secret };
  if (kind === 'gitea') return { 'x-gitea-signature': hmac };
  return { [kind === 'github' ? 'x-hub-signature-256' : 'x-gx-signature-256']: `sha256=${hmac}` };
};

describe.each(GIT_KINDS)('a push event of %s', (kind) => {
  let id: string;
  const name = `on-${kind}`;
  beforeAll(async () => {
    const body = { name: kind, kind, host: HOSTS[kind], webhook_secret: SECRET };
    id = (
      await plane.call<{ id: string }>('POST', '/v1/integrations/git', {
        key: plane.keys.admin,
        body,
      })
    ).body.id;
    const made = await plane.call('POST', '/v2/deployments', {
      body: creation(name, {
        source: 'git',
        source_config: {
          integration_id: id,
          repo_url: `${HOSTS[kind]}/acme/agent.git`,
          build_on_push: true,
        },
        source_revision_config: { repo_ref: 'main', gx_config_path: 'gx.json' },
      }),
    });
    if (made.status !== 201) throw new Error(JSON.stringify(made.body));
  });
  const deliver = async (
    more: object = {},
    {
      secret = SECRET,
      to = id,
      headers = {},
    }: { secret?: string; to?: string; headers?: Record<string, string> } = {},
  ) => {
    const body = JSON.stringify(PAYLOADS[kind](more as Record<string, unknown>));
    const sent = {
      'content-type': 'application/json',
      ...HEADERS[kind],
      ...signed(kind, body, secret),
      ...headers,
    };
    const response = await fetch(`${plane.url}/v1/integrations/git/${to}/push`, {
      method: 'POST',
      body,
      headers: sent,
    });
    return {
      status: response.status,
      body: (await response.json()) as { accepted?: boolean; deployments?: number; detail: string },
    };
  };
  const stored = () => plane.kube.get(kinds.deployment, { namespace: plane.namespace, name });
  const noted = async () => (await stored()).metadata.annotations?.[PUSHED_AT];

  test('wakes the deployment that follows the branch, and changes nothing of its spec', async () => {
    const before = await stored();
    expect(await deliver()).toEqual({
      status: 202,
      body: { accepted: true, deployments: 1, detail: expect.any(String) },
    });
    const after = await stored();
    expect(await noted()).toMatch(new RegExp(`^${AFTER} `));
    expect([after.spec, after.metadata.generation]).toEqual([
      before.spec,
      before.metadata.generation,
    ]);
    const audited = plane
      .logged()
      .split('\n')
      .filter((line) => line.includes('"audit":true') && line.includes('"pushGitEvent"'));
    expect(JSON.parse(audited.at(-1)!)).toMatchObject({
      action: 'pushGitEvent',
      id,
      outcome: 'done',
      status: 202,
    });
  });

  test('is shown with the deployment, and so is where the next one goes', async () => {
    const { id: deployment } = (
      await plane.call<{ resources: Deployment[] }>('GET', `/v2/deployments?name_contains=${name}`)
    ).body.resources[0]!;
    await plane.kube.patchStatus(
      kinds.deployment,
      { namespace: plane.namespace, name },
      { followedRef: 'main', followedCommit: AFTER },
    );
    const branch = {
      ref: 'main',
      commit: AFTER,
      push_path: `/v1/integrations/git/${id}/push`,
      pushed: { commit: AFTER, at: (await noted())!.split(' ')[1] },
      unmatched_push: null,
    };
    await expect
      .poll(
        async () =>
          (await plane.call<DeploymentDetails>('GET', `/v2/deployments/${deployment}/state`)).body
            .branch,
      )
      .toEqual(branch);
  });

  test.each([
    ['another branch', { ref: 'refs/heads/other' }],
    ['a tag', { ref: 'refs/tags/main' }],
    ['a deletion', deleted],
  ])('to %s wakes nobody, and says why', async (_, more) => {
    const before = await noted();
    expect(await deliver(more)).toMatchObject({
      status: 200,
      body: { accepted: false, deployments: 0, detail: expect.stringMatching(/\w/) },
    });
    expect(await noted()).toBe(before);
  });

  const called = (path: string, repositoryId?: number) =>
    kind === 'gitlab'
      ? { project: { path_with_namespace: path, id: repositoryId } }
      : { repository: { full_name: path, id: repositoryId } };

  test('of another repository wakes nobody, and is shown with the connection', async () => {
    const { status, body } = await deliver(called('acme/other', 9));
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { accepted: false, detail: expect.stringContaining('is built from acme/other') },
    });
    const connections = await plane.call<{ id: string; unmatched_push: object }[]>(
      'GET',
      '/v1/integrations/git',
      {
        key: plane.keys.admin,
      },
    );
    const unmatched = connections.body.find((one) => one.id === id)?.unmatched_push;
    expect(unmatched).toMatchObject({ repository: 'acme/other', branch: 'main' });
    // Each deployment of the connection shows it, and other replicas read it from the resource.
    const { id: deployment } = (
      await plane.call<{ resources: Deployment[] }>('GET', `/v2/deployments?name_contains=${name}`)
    ).body.resources[0]!;
    const state = await plane.call<DeploymentDetails>('GET', `/v2/deployments/${deployment}/state`);
    expect(state.body.branch?.unmatched_push).toEqual(unmatched);
    const resources = await plane.kube.listAll(kinds.gitIntegration, {
      namespace: plane.namespace,
    });
    const annotation = resources.find(({ metadata }) => metadata.uid === id)?.metadata
      .annotations?.[UNMATCHED_PUSH];
    expect(JSON.parse(annotation ?? '{}')).toMatchObject({ repository: expect.any(String) });
  });

  test.each(kind === 'generic' ? [] : [kind])(
    'of a repository that was renamed or moved is followed by its id (%s)',
    async () => {
      const known = { github: 186853002, gitlab: 15, gitea: 140, generic: 0 }[kind];
      const before = await noted();
      await expect
        .poll(() => deliver(called('other-org/agent-renamed', known)))
        .toMatchObject({
          status: 202,
          body: {
            deployments: 1,
            detail: expect.stringContaining('is now called other-org/agent-renamed'),
          },
        });
      expect(await noted()).not.toBe(before);
      // Another repository that has the former name by now is the one that its address leads to.
      expect(await deliver(called('acme/agent', 7))).toMatchObject({ status: 202 });
      await expect
        .poll(() => deliver(called('other-org/agent-renamed', known)))
        .toMatchObject({ status: 200 });
    },
  );

  test.each(kind === 'gitlab' ? [] : [kind])(
    'comes in the default form of GitHub, too (%s)',
    async () => {
      const json = JSON.stringify(PAYLOADS[kind]());
      const form = new URLSearchParams({ payload: json }).toString();
      const headers = {
        ...HEADERS[kind],
        ...signed(kind, kind === 'gitea' ? json : form, SECRET),
        'content-type': 'application/x-www-form-urlencoded',
      };
      const response = await fetch(`${plane.url}/v1/integrations/git/${id}/push`, {
        method: 'POST',
        body: form,
        headers,
      });
      expect([response.status, await response.json()]).toMatchObject([
        202,
        { accepted: true, deployments: 1 },
      ]);
    },
  );

  test('without the right secret says the same as one to nobody', async () => {
    const before = await noted();
    const [wrong, unknown] = [
      await deliver({}, { secret: 'not it' }),
      await deliver({}, { to: randomUUID() }),
    ];
    expect(wrong.status).toBe(401);
    expect(unknown).toEqual(wrong);
    expect(await noted()).toBe(before);
  });
});

test('an integration without a webhook secret takes no event', async () => {
  const { body } = await plane.call<{ id: string }>('POST', '/v1/integrations/git', {
    key: plane.keys.admin,
    body: { name: 'quiet', kind: 'github' },
  });
  const sent = JSON.stringify(PAYLOADS.github());
  for (const secret of ['', 'undefined', 'there is no such integration']) {
    const headers = { ...HEADERS.github, ...signed('github', sent, secret) };
    const response = await fetch(`${plane.url}/v1/integrations/git/${body.id}/push`, {
      method: 'POST',
      body: sent,
      headers,
    });
    expect(response.status).toBe(401);
  }
});

test('an event that is too large is refused', async () => {
  const { body } = await plane.call<{ id: string }>('POST', '/v1/integrations/git', {
    key: plane.keys.admin,
    body: { name: 'large', kind: 'github', webhook_secret: SECRET },
  });
  const response = await fetch(`${plane.url}/v1/integrations/git/${body.id}/push`, {
    method: 'POST',
    body: 'x'.repeat(5 * 1024 * 1024 + 1),
  });
  expect(response.status).toBe(413);
});
