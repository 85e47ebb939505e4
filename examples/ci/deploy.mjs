#!/usr/bin/env node
import { apiFromEnvironment, createOrChange, main, untilDeployed } from './api.mjs';
import { DEPLOY_HELP, DEPLOY_OPTIONS, parsed, timesOf, wanted } from './options.mjs';

const HELP = `Creates a deployment of an image, or gives the existing one that image, and waits until the new revision serves.
  node deploy.mjs --name NAME --image IMAGE [--secret NAME]...

${DEPLOY_HELP}`;

await main(async () => {
  const given = parsed(DEPLOY_OPTIONS, HELP);
  if (given === undefined) return;
  const [what, times] = [wanted(given.values), timesOf(given.values)];
  const api = apiFromEnvironment();
  await untilDeployed(api, await createOrChange(api, what, times), times);
});
