import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Pair } from '../../src/operator/database/own/tls/certificate.ts';
import { heardInJavaScript, heardInPython } from '../kit/routes/sdk-clients.ts';
import {
  followBySocket,
  laterBy,
  leftIn,
  post,
  read,
  readLongStream,
  statusesOfLargeBodies,
  stepping,
  WHOLE_LONG_STREAM,
} from '../kit/routes/steps-stream.ts';
import { until } from '../kit/until.ts';
import { openWay, type Way } from '../kit/routes/way.ts';
import type { Controller } from './contour.ts';
import { startEnvoyGateway } from './envoy-gateway.ts';
import { DOMAIN, GATEWAYS, newIssuer, PARENT, renewWildcard } from '../kit/routes/gateway.ts';
import { settingsBy } from './settings.ts';
import { openRouteStage, type RouteStage } from './stage.ts';

/* Envoy Gateway reads the routes that the operator makes. Routes that say nothing have Envoy's time limit of 15 s. */

let stage: RouteStage;
let controller: Controller;
let issuer: Pair;
let way: Way;
let url: string;
beforeAll(async () => {
  issuer = newIssuer();
  stage = await openRouteStage('envoy-gateway');
  controller = await startEnvoyGateway(stage);
  await renewWildcard(stage.kube, GATEWAYS, issuer);
  way = await openWay(controller.entrance, {
    authority: issuer.certificate,
    direct: [new URL(stage.direct).hostname],
  });
  const route = {
    kind: 'HTTPRoute',
    parentRefs: [{ ...PARENT, sectionName: 'https' }],
    host: `{name}-{namespace}.${DOMAIN}`,
  };
  await stage.startOperator({ settings: await settingsBy(route) });
  await stage.deploy('chat');
  url = await stage.untilRouted('chat', 'Accepted');
  await until('the proxy has the route', async () => (await fetch(`${url}/ok`)).ok);
});
afterAll(async () => {
  await way?.close();
  await controller?.stop();
  await stage?.stop();
});

test('a stream of ninety seconds whose graph is silent for forty arrives whole, and a route without time limits is cut', async () => {
  const usual = await stage.copyWithoutLimits('chat', `usual.${DOMAIN}`);
  await until('the proxy has the other route', async () => (await fetch(`${usual}/ok`)).ok);
  const stream = async (at: string) =>
    read(await post({ url: at }, '/runs/stream', stepping(1, 20_000)));
  const [whole, cut, socket] = await Promise.all([
    readLongStream({ url }),
    stream(usual),
    followBySocket({ url }, 20_000),
  ]);
  expect([whole, socket]).toEqual([WHOLE_LONG_STREAM, 'open']);
  expect([leftIn(cut), cut.seconds < 17]).toEqual([[], true]);
});

test('both clients hear whole runs, and go on behind the last event that they have', async () => {
  const heard = { whole: [4, 3, 2, 1, 0], first: [4], rest: [3, 2, 1, 0] };
  expect(await heardInJavaScript({ url })).toEqual(heard);
  expect(
    await heardInPython({ url, entrance: controller.entrance, authority: issuer.certificate }),
  ).toEqual(heard);
});

test('a body of nearly 20 MB arrives, and a larger one gets the answer of the server', async () => {
  expect(await statusesOfLargeBodies({ url })).toEqual([200, 413]);
});

test('the first event comes at most ten milliseconds later than without the route', async () => {
  expect(await laterBy({ url: stage.direct }, { url })).toBeLessThanOrEqual(10);
});
