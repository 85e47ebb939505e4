#!/usr/bin/env node
import process from 'node:process';
import { apiFromEnvironment, createOrChange, findByName, main, request, say, Told, untilDeployed, untilGone, urlOf } from './api.mjs';
import { DEPLOY_HELP, DEPLOY_OPTIONS, parsed, required, timesOf, wanted } from './options.mjs';

const HELP = `A deployment of its own for a pull request: made or brought up to date, tried, and removed with all its data.
  node preview.mjs up   --name NAME --pr NUMBER --image IMAGE [--secret NAME]...
  node preview.mjs run  --name NAME --pr NUMBER --assistant GRAPH --input TEXT
  node preview.mjs down --name NAME --pr NUMBER

  --pr NUMBER         the deployment's name is NAME-pr-NUMBER
  --assistant GRAPH   the graph that is asked by run
  --input TEXT        what it is told; its last message is printed
${DEPLOY_HELP}
AGENT_URL replaces the deployment's own URL where that is not reached from here.`;

/** Longest name of a deployment. */
const LONGEST = 63;

const OPTIONS = { ...DEPLOY_OPTIONS, pr: { type: 'string' }, assistant: { type: 'string' }, input: { type: 'string' } };

/** A name that is too long loses its middle, so that the number stays. */
function nameOf({ name, pr }) {
  if (!/^\d+$/.test(pr)) throw new Told(`--pr: ${pr} is not the number of a pull request.`);
  const suffix = `-pr-${pr}`;
  return name.slice(0, LONGEST - suffix.length).replace(/-+$/, '') + suffix;
}

async function up(api, values) {
  const [what, times] = [{ ...wanted(values), name: nameOf(values) }, timesOf(values)];
  await untilDeployed(api, await createOrChange(api, what, times), times);
}

/** One run without a thread, on the deployment's own address. */
async function run(api, values) {
  required(values, 'assistant', 'input');
  const name = nameOf(values);
  const deployment = await findByName(api, name);
  if (deployment === undefined) throw new Told(`There is no deployment ${name}.`);
  const url = process.env.AGENT_URL ?? urlOf(deployment);
  if (!url) throw new Told(`${name} tells no URL; set AGENT_URL.`);
  const input = { messages: [{ role: 'human', content: values.input }] };
  const body = JSON.stringify({ assistant_id: values.assistant, input });
  const signal = AbortSignal.timeout(timesOf(values).timeout * 1000);
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${url}/runs/wait`, { method: 'POST', headers, body, signal }).catch((error) => {
    throw new Told(`${url} does not answer: ${error.cause?.message ?? error.message}`);
  });
  const text = await response.text();
  const state = response.ok ? JSON.parse(text) : undefined;
  if (state === undefined || state?.__error__) throw new Told(`The run failed (${response.status}): ${text.trim().slice(0, 2000)}`);
  say(`${values.assistant}: ${JSON.stringify(state.messages?.at(-1)?.content ?? state)}`);
}

/** Gone already is as good as gone now: the step may be repeated. */
async function down(api, values) {
  const name = nameOf(values);
  const deployment = await findByName(api, name);
  if (deployment === undefined) return say(`There is no deployment ${name}.`);
  await request(api, 'DELETE', `/v2/deployments/${deployment.id}?delete_tracing_project=true&delete_data=true`, { missing: true });
  await untilGone(api, deployment, timesOf(values));
  say(`${name} is gone.`);
}

const COMMANDS = { up, run, down };

await main(async () => {
  const given = parsed(OPTIONS, HELP);
  if (given === undefined) return;
  const work = COMMANDS[given.positionals[0]];
  if (work === undefined) throw new Told(`Say up, run or down.\n\n${HELP}`);
  required(given.values, 'name', 'pr');
  await work(apiFromEnvironment(), given.values);
});
