import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { kinds } from '../../../src/kube/kinds.ts';
import type { Deployment } from '../../../src/schema/platform/deployment/deployment.ts';
import { RELEASE, ROLLOUT } from '../../../src/schema/platform/objects/labels.ts';
import { creation, startPlane, type Plane } from '../kit/api-server-plane.ts';

/* How replaced revisions keep their work, by REST. */

let plane: Plane;
beforeAll(async () => {
  plane = await startPlane('rollouts', { asksPrometheus: true });
});
afterAll(() => plane.stop());

type Answer = Deployment & { detail: unknown };
const create = (rollout: object) => {
  const body = creation(`d-${randomUUID().slice(0, 8)}`, { source_config: { rollout } });
  return plane.call<Answer>('POST', '/v2/deployments', { body });
};
const patch = (id: string, rollout: object) =>
  plane.call<Answer>('PATCH', `/v2/deployments/${id}`, { body: { source_config: { rollout } } });
const specOf = async ({ name }: Deployment) =>
  (await plane.kube.get(kinds.deployment, { namespace: plane.namespace, name })).spec;

test('what is kept is stored where the operator reads it, and a change makes no revision', async () => {
  const { status, body: made } = await create({ pin: 'Thread', pin_seconds: 60 });
  expect([status, made.detail]).toEqual([201, undefined]);
  expect(made.source_config.rollout).toEqual({
    pin: 'Thread',
    pin_seconds: 60,
    max_draining: null,
    steps: null,
    by: null,
    checks: null,
    gate: null,
    check_seconds: null,
    on_abort: null,
  });
  expect(made.rollout).toBeNull();
  const spec = await specOf(made);
  expect(spec.rollout).toEqual({ pin: 'Thread', pinSeconds: 60 });
  expect(spec.sourceConfig).toEqual({ listener: 'default' });
  const { body: changed } = await patch(made.id, { pin: 'None' });
  expect([changed.latest_revision_id, changed.source_config.rollout]).toEqual([
    made.latest_revision_id,
    {
      pin: 'None',
      pin_seconds: null,
      max_draining: null,
      steps: null,
      by: null,
      checks: null,
      gate: null,
      check_seconds: null,
      on_abort: null,
    },
  ]);
  expect((await specOf(made)).rollout).toEqual({ pin: 'None' });
});

test.each([
  [{ pin: 'run' }, /pin/],
  [{ pin_seconds: 1 }, /pin_seconds/],
  [{ max_draining: 11 }, /max_draining/],
  [{ keep: true }, /keep/],
  [{ by: 'moon' }, /by/],
  [{ checks: [{ figure: 'mood', worse_by: 5 }] }, /figure/],
  [{ checks: [{ figure: 'lost', worse_by: 0 }] }, /worse_by/],
  [{ checks: [{ figure: 'lost', worseBy: 5 }] }, /worse/],
  [{ checks: [{ figure: 'lost', worse_by: 5, least: 0 }] }, /least/],
  [{ check_seconds: 0 }, /check_seconds/],
  [{ gate: { input: {} } }, /assistant/],
  [{ gate: { assistant: 'echo', input: 'hello' } }, /input/],
  [{ gate: { assistant: 'echo', input: {}, seconds: 0 } }, /seconds/],
  [{ steps: [{ share: 0, seconds: 1 }] }, /share/],
  [{ steps: [{ share: 101, seconds: 1 }] }, /share/],
])('%j is refused with the name of its field', async (rollout, field) => {
  const { status, body } = await create(rollout);
  expect(status).toBe(422);
  expect(JSON.stringify(body.detail)).toMatch(field);
});

test('a replaced revision with work is shown, and lets it go when asked; others have none to let go', async () => {
  const { body: made } = await create({});
  const ref = { namespace: plane.namespace, name: made.name };
  const first = `${made.name}-00001`;
  const release = () =>
    plane.call<Answer>(
      'POST',
      `/v2/deployments/${made.id}/revisions/${made.latest_revision_id}/release`,
    );
  const refused = await release();
  expect(refused.status).toBe(400);
  expect(refused.body.detail).toMatch(/revision: keeps no work/);
  const at = '2026-11-26T12:00:00Z';
  const draining = [{ revision: first, since: at, runs: 2, threads: 3 }];
  await plane.kube.patchStatus(kinds.deployment, ref, {
    rollout: {
      madeAt: at,
      current: `${made.name}-00002`,
      living: [first, `${made.name}-00002`],
      draining,
    },
  });
  await expect
    .poll(async () => (await plane.call<Answer>('GET', `/v2/deployments/${made.id}`)).body.rollout)
    .toEqual({
      candidate: null,
      aborted: null,
      draining: [{ revision_id: made.latest_revision_id, since: at, runs: 2, threads: 3 }],
    });
  expect((await release()).status).toBe(200);
  const { metadata } = await plane.kube.get(kinds.revision, {
    namespace: plane.namespace,
    name: first,
  });
  expect(metadata.annotations?.[RELEASE]).toMatch(/^2\d{3}-/);
  expect((await release()).status).toBe(200);
});

const QUERY = 'sum(cost{revision="{revision}"})';
const RISING = [
  { share: 10, seconds: 60 },
  { share: 50, pause: true },
];

test('steps of a rollout are stored as they are asked', async () => {
  const { body: made } = await create({ steps: RISING, by: 'user' });
  expect(made.source_config.rollout).toMatchObject({ steps: RISING, by: 'user' });
  expect((await specOf(made)).rollout).toEqual({ steps: RISING, by: 'user' });
  const { body: changed } = await patch(made.id, {
    steps: RISING,
    checks: [{ figure: 'p95', worse_by: 50 }],
    check_seconds: 30,
  });
  expect(changed.source_config.rollout?.checks).toEqual([{ figure: 'p95', worse_by: 50 }]);
  expect((await specOf(made)).rollout).toEqual({
    steps: RISING,
    checks: [{ figure: 'p95', worseBy: 50 }],
    checkSeconds: 30,
  });
  const gate = { assistant: 'echo', input: { messages: [], nothing: null } };
  expect((await patch(made.id, { steps: RISING, gate })).body.source_config.rollout?.gate).toEqual(
    gate,
  );
  expect((await specOf(made)).rollout?.gate).toEqual({
    assistant: 'echo',
    input: '{"messages":[],"nothing":null}',
  });
});

test('checks by figures and queries are stored as they are asked', async () => {
  const checks = [
    { figure: 'tokens', worse_by: 1 },
    { query: QUERY, worse_by: 30, failures: 3 },
  ];
  const { body: made } = await create({ steps: RISING, checks });
  expect(made.source_config.rollout?.checks).toEqual(checks);
  expect((await specOf(made)).rollout?.checks).toEqual([
    { figure: 'tokens', worseBy: 1 },
    { query: QUERY, worseBy: 30, failures: 3 },
  ]);
});

test("a query is refused where nobody answers it, and one that kubectl has stored stands in no other change's way", async () => {
  const without = await startPlane('no-prometheus');
  const asked = (method: string, path: string, rollout: object) => {
    const config = { source_config: { rollout } };
    return without.call<Answer>(method, path, {
      body: method === 'POST' ? creation('queries', config) : config,
    });
  };
  const { body: made } = await asked('POST', '/v2/deployments', { steps: RISING });
  const value = { checks: [{ query: QUERY, worseBy: 30 }] };
  const ref = { namespace: without.namespace, name: made.name };
  await without.kube.patchJson(kinds.deployment, ref, [
    { op: 'replace', path: '/spec/rollout', value },
  ]);
  const other = { checks: [{ query: `${QUERY} * 2`, worse_by: 30 }] };
  for (const { status, body } of [
    await asked('POST', '/v2/deployments', other),
    await asked('PATCH', `/v2/deployments/${made.id}`, other),
  ])
    expect([status, body.detail]).toEqual([
      400,
      expect.stringMatching(/rollout\.checks: query .*settings\.prometheus\.url/),
    ]);
  const { body: whole } = await without.call<Answer>('GET', `/v2/deployments/${made.id}`);
  expect(whole.source_config.rollout?.checks).toEqual([{ query: QUERY, worse_by: 30 }]);
  const { status } = await without.call('PATCH', `/v2/deployments/${made.id}`, {
    body: { source_config: whole.source_config },
  });
  await without.stop();
  expect(status).toBe(200);
});

test.each([
  ['shares that fall', { steps: RISING.toReversed() }, /rollout\.steps: shares must rise/],
  ['shares that stay', { steps: [RISING[0], RISING[0]] }, /rollout\.steps: shares must rise/],
  ['steps without an end', { steps: [{ share: 10 }] }, /rollout\.steps: each has either/],
  [
    'steps with two ends',
    { steps: [{ share: 10, seconds: 1, pause: true }] },
    /rollout\.steps: each has either/,
  ],
  [
    'a comparison that is too fine',
    { checks: [{ figure: 'p95', worse_by: 19 }] },
    /rollout\.checks: worse(_b|B)y of p95 and wait must be at least 20/,
  ],
  [
    'one of waits, too',
    { checks: [{ figure: 'wait', worse_by: 19 }] },
    /of p95 and wait must be at least 20/,
  ],
  [
    'a check of nothing',
    { checks: [{ worse_by: 20 }] },
    /rollout\.checks: each has either figure or query/,
  ],
  [
    'a check of two things',
    { checks: [{ figure: 'lost', query: QUERY, worse_by: 20 }] },
    /rollout\.checks: each has either/,
  ],
  [
    'a query about no revision',
    { checks: [{ query: 'up', worse_by: 20 }] },
    /rollout\.checks: query must contain \{revision\}/,
  ],
  [
    'runs of a query',
    { checks: [{ query: QUERY, worse_by: 20, least: 5 }] },
    /rollout\.checks: least is not for a query/,
  ],
  [
    'an input that is too long',
    { gate: { assistant: 'echo', input: { text: 'x'.repeat(16_384) } } },
    /gate\.input/,
  ],
  ['steps without pins', { steps: RISING, pin: 'None' }, /rollout\.steps: not with pin None/],
])(
  '%s are refused by REST and by the API server, and change nothing',
  async (_, rollout, reason) => {
    const { body: made } = await create({ steps: [] });
    const { status, body } = await patch(made.id, rollout);
    expect([status, body.detail]).toEqual([400, expect.stringMatching(reason)]);
    const ref = { namespace: plane.namespace, name: made.name };
    const value: unknown = JSON.parse(JSON.stringify(rollout).replaceAll('worse_by', 'worseBy'));
    const byKubectl = plane.kube.patchJson(kinds.deployment, ref, [
      { op: 'add', path: '/spec/rollout', value },
    ]);
    await expect(byKubectl).rejects.toThrow(reason);
    expect((await specOf(made)).rollout).toEqual({ steps: [] });
  },
);

test('a revision that is tried out is shown and moved; what can not be done is refused with its field', async () => {
  const { body: made } = await create({ steps: RISING });
  const ref = { namespace: plane.namespace, name: made.name };
  const name = `${made.name}-00001`;
  const move = (rollout: object, more: object = {}) =>
    plane.call<Answer>('PATCH', `/v2/deployments/${made.id}`, { body: { rollout, ...more } });
  const details = async (...asked: object[]) => {
    const answers = [];
    for (const each of asked) answers.push(await move(each));
    return answers.map(({ status, body }) => [status, body.detail]);
  };
  expect(await details({ promote: true })).toEqual([
    [400, 'rollout.promote: no rollout is under way'],
  ]);
  const at = '2026-11-26T12:00:00Z';
  const plan = { madeAt: at, current: `${made.name}-00000`, living: [name], draining: [] };
  const candidate = {
    revision: name,
    step: 1,
    share: 10,
    by: 'thread',
    since: at,
    verdict: 'It waits.',
  };
  await plane.kube.patchStatus(kinds.deployment, ref, { rollout: { ...plan, candidate } });
  await expect
    .poll(
      async () =>
        (await plane.call<Answer>('GET', `/v2/deployments/${made.id}`)).body.rollout?.candidate,
    )
    .toEqual({
      revision_id: made.latest_revision_id,
      step: 1,
      share: 10,
      by: 'thread',
      since: at,
      gate: null,
      verdict: 'It waits.',
    });
  expect(
    await details({}, { share: 20, promote: true }, { share: 10 }, { promote: false }),
  ).toEqual([
    [400, expect.stringMatching(/^rollout: needs exactly one/)],
    [400, expect.stringMatching(/^rollout: needs exactly one/)],
    [400, 'rollout.share: must be above 10, which it is now'],
    [400, expect.stringMatching(/^rollout: needs exactly one/)],
  ]);
  expect((await move({ share: 101 })).status).toBe(422);
  expect(
    (await move({ abort: true }, { source_revision_config: { image_uri: 'other:1' } })).body.detail,
  ).toMatch(/^rollout: not together/);
  const annotated = async () =>
    (await plane.kube.get(kinds.revision, { namespace: plane.namespace, name })).metadata
      .annotations?.[ROLLOUT];
  expect(await annotated()).toBeUndefined();
  expect((await move({ share: 25 })).status).toBe(200);
  expect(await annotated()).toBe('share=25');
  expect((await move({ abort: true })).status).toBe(200);
  expect(await annotated()).toBe('abort');
  expect((await move({ promote: true })).body.detail).toBe(
    'rollout: someone has already requested abort',
  );
  const aborted = { revision: name, since: at, message: 'Someone aborted it.' };
  await plane.kube.patchStatus(kinds.deployment, ref, {
    rollout: { ...plan, candidate: null, aborted },
  });
  await expect
    .poll(async () => (await move({ promote: true })).body.detail)
    .toBe(`rollout.promote: the rollout of revision ${name} was aborted`);
});
