import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Pair } from '../../src/operator/database/own/tls/certificate.ts';
import type { RunningOperator } from '../kit/operator.ts';
import { underRenewal } from '../kit/routes/renewal.ts';
import { heardInJavaScript, heardInPython } from '../kit/routes/sdk-clients.ts';
import {
  followBySocket,
  laterBy,
  leftByTwoReaders,
  readLongStream,
  statusesOfLargeBodies,
  WHOLE_LONG_STREAM,
} from '../kit/routes/steps-stream.ts';
import { until } from '../kit/until.ts';
import { openWay, type Way } from '../kit/routes/way.ts';
import { startContour, type Controller } from './contour.ts';
import {
  DOMAIN,
  GATEWAYS,
  newIssuer,
  PARENT,
  renewWildcard,
  WILDCARD,
} from '../kit/routes/gateway.ts';
import { settingsBy } from './settings.ts';
import { openRouteStage, type RouteStage } from './stage.ts';

/* Contour reads the routes that the operator makes, and Envoy leads clients by them to an agent server. */

let stage: RouteStage;
let contour: Controller;
let issuer: Pair;
let way: Way;
beforeAll(async () => {
  issuer = newIssuer();
  stage = await openRouteStage('contour');
  contour = await startContour(stage);
  for (const namespace of [GATEWAYS, stage.namespace])
    await renewWildcard(stage.kube, namespace, issuer);
  way = await openWay(contour.entrance, {
    authority: issuer.certificate,
    direct: [new URL(stage.direct).hostname],
  });
});
afterAll(async () => {
  await way?.close();
  await contour.stop();
  await stage?.stop();
});

const host = `{name}-{namespace}.${DOMAIN}`;
const KINDS = {
  HTTPRoute: {
    reason: 'Accepted',
    namespace: () => GATEWAYS,
    route: { parentRefs: [{ ...PARENT, sectionName: 'https' }] },
  },
  Ingress: {
    reason: 'HasAddress',
    namespace: () => stage.namespace,
    route: {
      className: 'contour',
      tls: { enabled: true, secretName: WILDCARD },
      former: ['HTTPRoute'],
    },
  },
};

describe.each(['HTTPRoute', 'Ingress'] as const)('by an %s', (kind) => {
  const { reason, route, namespace } = KINDS[kind];
  const name = kind.toLowerCase();
  let operator: RunningOperator;
  let url: string;
  beforeAll(async () => {
    operator = await stage.startOperator({ settings: await settingsBy({ kind, host, ...route }) });
    await stage.deploy(name);
    url = await stage.untilRouted(name, reason);
    await until('the proxy has the route', async () => (await fetch(`${url}/ok`)).ok);
  });
  afterAll(() => operator.stop());

  test('the deployment is reached at the address that its status tells, and at no other host', async () => {
    expect(url).toBe(`https://${name}-${stage.namespace}.${DOMAIN}`);
    const other = `https://other.${DOMAIN}`;
    expect(
      await fetch(`${other}/ok`).then(
        ({ status }) => status,
        () => 'refused',
      ),
    ).not.toBe(200);
  });

  test('both clients hear whole runs, and go on behind the last event that they have', async () => {
    const heard = { whole: [4, 3, 2, 1, 0], first: [4], rest: [3, 2, 1, 0] };
    expect(await heardInJavaScript({ url })).toEqual(heard);
    expect(
      await heardInPython({ url, entrance: contour.entrance, authority: issuer.certificate }),
    ).toEqual(heard);
    expect(await leftByTwoReaders({ url })).toEqual([4, 3, 2, 1, 0]);
  });

  // Envoy ends answers after 15 s, unless the route says otherwise.
  test('a stream of ninety seconds whose graph is silent for forty arrives whole, and a WebSocket stays open', async () => {
    expect(await Promise.all([readLongStream({ url }), followBySocket({ url }, 20_000)])).toEqual([
      WHOLE_LONG_STREAM,
      'open',
    ]);
  });

  test('a body of nearly 20 MB arrives, and a larger one gets the answer of the server', async () => {
    expect(await statusesOfLargeBodies({ url })).toEqual([200, 413]);
  });

  test('a certificate that is replaced under load is shown to new connections, and no request fails', async () => {
    const renew = () => renewWildcard(stage.kube, namespace(), issuer);
    const found = await underRenewal({
      url,
      entrance: contour.entrance,
      authority: issuer.certificate,
      renew,
    });
    expect(found).toMatchObject({ failures: [], left: [4, 3, 2, 1, 0], broke: false });
    expect(found.rounds).toBeGreaterThan(100);
  });

  test('the first event comes at most ten milliseconds later than without the route', async () => {
    const later = await laterBy({ url: stage.direct }, { url });
    expect(later).toBeLessThanOrEqual(10);
  });
});

test('an HTTPRoute takes its path from requests, and the agent still tells its whole address', async () => {
  const { route } = KINDS.HTTPRoute;
  const operator = await stage.startOperator({
    settings: await settingsBy({ kind: 'HTTPRoute', host, ...route, former: ['Ingress'] }),
  });
  await stage.deploy('below', { path: '/v1' });
  const url = await stage.untilRouted('below', 'Accepted');
  expect(url).toBe(`https://below-${stage.namespace}.${DOMAIN}/v1`);
  await until('the proxy has the route', async () => (await fetch(`${url}/ok`)).ok);
  expect((await fetch(`${new URL(url).origin}/ok`)).status).toBe(404);
  const card = await (await fetch(`${url}/.well-known/agent-card.json?assistant_id=steps`)).text();
  expect(card).toContain(`"${url}/a2a/`);
  expect(await leftByTwoReaders({ url })).toEqual([4, 3, 2, 1, 0]);
  await operator.stop();
});
